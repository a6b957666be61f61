"""What `bench new` writes: two text files a kind, the code and its test, in which `$name` and the like are replaced."""
