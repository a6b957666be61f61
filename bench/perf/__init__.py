"""Time and memory of heads and steps."""
