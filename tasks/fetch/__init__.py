"""Where data comes from: hub, archives, folders."""
