"""Figures: what papers draw or try apart from their tables, as data (`*.toml`), and our numbers for it."""
