"""Leaderboards as terminal text, Markdown, LaTeX, CSV, JSON and HTML."""

FORMATS = {"terminal": ".txt", "markdown": ".md", "csv": ".csv", "latex": ".tex", "json": ".json"}
"""The ending of the file of each format; `formats.render` has the functions."""
PAGE = "html"
"""The page, which is no function of leaderboards alone: it shows what models wrote, and is always a file."""

__all__ = ["FORMATS", "PAGE"]
