"""Sizes: bytes for people."""

UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def bytes_text(size: int) -> str:
    """Return bytes for people.

    >>> bytes_text(999), bytes_text(1_500_000)
    ('999 B', '1.5 MB')
    """
    for unit, name in UNITS:
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} B"
