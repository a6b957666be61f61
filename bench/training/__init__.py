"""Training: an objective through a Lightning Trainer, with its curve, its validation and its state."""
