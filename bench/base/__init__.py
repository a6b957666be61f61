"""What every folder may use: tables of entries, keys, files written whole, seeds, and whether there is a network."""
