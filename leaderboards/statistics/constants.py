"""From how many seeds on there is an interval, of which level, and when a difference counts as significant."""

ALPHA = 0.05
"""A difference with a p-value at most this large is significant."""
LEVEL = 0.95
"""Of intervals: the probability that they cover what they are of."""
MIN_SEEDS = 3
"""Fewer seeds give no interval and no p-value, and a row of fewer is not ranked."""
TIE = 0.01
"""Nats per target token: settings that differ by less than this tie, since another seed changes as much."""
ROUNDS = 10_000
"""Random swaps of a test over items: no p is below 1 / (rounds + 1)."""
SLACK = 1e-11
"""Sums in another order differ by less than this share of the values; differences so near to each other are equal."""
