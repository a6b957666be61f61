"""Built-in samples, one generator per task, so that every task runs on a bare machine."""
