"""Cells: planned, trained, evaluated and scored."""
