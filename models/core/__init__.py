"""What every objective shares: base class, states, head and slices."""
