"""Version: of this package, as records say it."""

__all__ = ["__version__"]

__version__ = "0.4.0"
