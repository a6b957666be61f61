"""Sections of the page around its tables, as markup that needs no scripts."""
