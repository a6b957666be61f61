"""The store: files of runs on disk, under names made of hashes."""
