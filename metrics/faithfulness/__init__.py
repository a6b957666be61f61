"""Metrics of faithfulness to a source."""
