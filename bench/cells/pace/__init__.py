"""Pace: how far cells are, and when they may end."""
