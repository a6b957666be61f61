"""What every folder may use: registries, options, keys, files written whole, seeds, and whether there is a network."""
