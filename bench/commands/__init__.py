"""What each command of `bench` does; imported only when it is used."""
