"""`python -m bench`."""

import sys

from bench.cli import program

if __name__ == "__main__":
    sys.exit(program())
