"""Metrics of diversity and repetition."""
