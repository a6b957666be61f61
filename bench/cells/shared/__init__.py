"""A cell that several processes share, and one whose micro-batches have to be smaller than was asked for."""
