"""What is to be seen on a machine with a GPU: `python -m tools.gpu`."""
