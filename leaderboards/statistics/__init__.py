"""Statistics over sums: intervals, tests, agreement and trade-offs."""
