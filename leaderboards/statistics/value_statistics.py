"""When a difference counts as significant."""

ALPHA = 0.05
"""A difference with a p-value at most this large is significant."""
