"""From what a person typed to the full configuration of a cell."""
