"""Search: which settings of each method are tried, and how one is picked."""
