"""Leaderboards as terminal text, Markdown, LaTeX, CSV, JSON and HTML."""
