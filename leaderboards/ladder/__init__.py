"""The ladder: methods on one family of models at growing size, and what a small size says of a larger one."""
