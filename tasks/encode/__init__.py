"""From examples to batches of token ids."""
