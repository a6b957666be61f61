"""What goes into the page for its scripts: how much of a board, and in which form."""
