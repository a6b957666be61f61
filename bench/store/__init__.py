"""The store: what is kept on disk, and under what name."""
