"""The Python surface: run, load, filter, and look at leaderboards from a script or a notebook."""
