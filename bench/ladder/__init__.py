"""Ladder: the same methods on one family of models at growing size, as ordinary cells."""
