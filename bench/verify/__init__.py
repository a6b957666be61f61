"""Verification of a store: values from sums and predictions, keys from records, and leaks of test rows."""
