"""Compare training objectives for text generation: every objective, every task, one metric layer."""

__version__ = "0.2.0"
__all__ = ["__version__"]
