"""Pure tensor functions: the mathematics of the objectives, to be read with paper in hand."""
