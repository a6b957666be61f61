"""Version: of this package, as records say it."""

__version__ = "0.4.0"
