"""Texts of other systems: read from their files, and stored as runs."""
