"""The tables that papers publish, and how ours compare with them."""
