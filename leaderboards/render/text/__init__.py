"""Tables and reports as text for a terminal of any width."""
