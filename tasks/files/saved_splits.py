"""Saved splits: which folder of a saved data set is which split."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench.errors import UsageError
from bench.tasks.files.published import NAMES
from bench.tasks.files.saved import choices, is_split

__all__ = ["split_folders"]


def split_folders(folder: Path, named: Mapping[str, str]) -> dict[str, tuple[Path, ...]]:
    """Return the folder of each split; a split that is not in it takes its share of `train`.

    Args:
        folder: a saved data set; one without splits is all training rows.
        named: our split -> what the data set calls it; empty for the usual names.

    Raises:
        UsageError: there is no split of a name, none to train on, or two that may be meant; lists what there is.
    """
    if is_split(folder):
        there = {"train": folder}
    else:
        there = {part.name: part for part in sorted(folder.iterdir()) if is_split(part)}
    folders: dict[str, tuple[Path, ...]] = {}
    for split, names in NAMES.items():
        asked = named.get(split, "")
        if asked and asked not in there:
            raise UsageError(f"task.{split}_split: {folder} has no split '{asked}'; {choices(asked, list(there))}")
        usual = [name for name in names if name in there]
        if not asked and len(usual) > 1:
            raise UsageError(
                f"{folder} has the splits {' and '.join(usual)}; say with task.{split}_split which to take"
            )
        if asked or usual:
            folders[split] = (there[asked or usual[0]],)
    if "train" not in folders:
        raise UsageError(f"{folder} has no split 'train'; set task.train_split; {choices('train', list(there))}")
    return folders
