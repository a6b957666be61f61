"""Verification of a store: values from sufficient statistics, keys from records, and leaks of test rows."""
