"""Exemplars: the nearest training row of each row, found once and kept."""
