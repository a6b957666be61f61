"""What every task shares: its base class, examples, manifests and recipes."""
