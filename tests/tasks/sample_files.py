"""What the files of the built-in samples hold besides rows."""

from __future__ import annotations

from bench.tasks.samples import sample_lines


def forms(name: str) -> list[str]:
    return [line for line in sample_lines(name) if isinstance(line, str)]


def words(name: str) -> dict[str, list[str]]:
    """Words of each list."""
    lines = [line for line in sample_lines(name) if isinstance(line, dict)]
    return {line["list"]: line["words"].split("|") for line in lines if line.get("words")}
