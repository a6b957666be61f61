"""Metrics of overlap with references."""
