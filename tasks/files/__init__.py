"""Readers of publishers' and users' files."""
