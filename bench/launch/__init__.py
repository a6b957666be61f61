"""Launch: where and when the runs of a plan are executed. None of it changes a result."""
