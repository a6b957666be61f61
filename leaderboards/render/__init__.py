"""Leaderboards as terminal text, Markdown, LaTeX, CSV, JSON and HTML."""

FORMATS = ("terminal", "markdown", "csv", "latex", "json")
"""`formats.render` has their functions."""
PAGE = "html"
"""The page, which is no function of leaderboards alone: it shows what models wrote, and is always a file."""
