"""Where data comes from: folders, the cache, the hub."""
