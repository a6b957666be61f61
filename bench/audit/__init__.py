"""Audit: whether the cells of a store are what they say, as far as a store can show it."""
