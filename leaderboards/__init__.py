"""Leaderboards: tables, published numbers and renderers, all pure functions of the stored files."""
