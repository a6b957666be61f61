"""User files: which of a user's files, or folders of a saved data set, are which split, by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.errors import DataError, MissingError, UsageError
from bench.tasks.files.published import NAMES
from bench.tasks.files.saved import choices, is_split

__all__ = ["TEXTS", "expanded", "files_of", "named", "split_folders"]

SPLIT_NAMES = {"train": "train", "valid": "valid|validation|val|dev", "test": "test"}
"""How a file name of a folder says which split it is, e.g. `kjv.train.txt.gz`."""

TEXTS = (".txt", ".jsonl")
"""Forms of running text; each may end with .gz too."""


def files_of(path: Path, valid: str = "", test: str = "", forms: Sequence[str] = TEXTS) -> dict[str, tuple[Path, ...]]:
    """Return the files of each split; a split that is not in it takes its share of `train`.

    Args:
        path: a file, a folder with one file for `train` (and for the other splits), or a folder of files that together
            are one text.
        valid: a file or a folder of files for the validation split.
        test: the same for the test split.
        forms: endings of the files of a folder, each maybe followed by .gz; a file named by itself may end as it will.

    Raises:
        MissingError: something is not there.
        DataError: a folder has two files for one split.
    """
    files: dict[str, tuple[Path, ...]] = {"train": (path,)}
    if _is_folder(path, forms):
        files = _by_split(path, forms)
    for split, named in (("valid", valid), ("test", test)):
        if named:
            place = expanded(named)
            files[split] = (place,)
            if _is_folder(place, forms):
                files[split] = tuple(_files_in(place, forms))
    return files


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


def named(files: Sequence[Path]) -> str:
    """Name the files of a split for people."""
    if len(files) == 1:
        return str(files[0])
    return f"{len(files)} files of {files[0].parent}"


def expanded(path: str) -> Path:
    """Return a typed path with `~` replaced by the home folder."""
    try:
        return Path(path).expanduser()
    except RuntimeError as problem:
        raise MissingError(f"{path:.200}: {problem}") from None


def _is_folder(path: Path, forms: Sequence[str]) -> bool:
    """Return whether a path is a folder; what is neither folder nor file is an error."""
    try:
        if path.is_dir():
            return True
        there = path.is_file()
    except OSError as problem:  # e.g. a name that is too long
        raise MissingError(f"{str(path)!r:.200} cannot be opened: {problem.strerror}") from None
    if not there:
        raise MissingError(f"{path} is not there: expected a file, or a folder with {_names(forms)}")
    return False


def _by_split(folder: Path, forms: Sequence[str]) -> dict[str, tuple[Path, ...]]:
    """Return the files of a folder by what their names say, or all as training text where no name says anything."""
    named: dict[str, tuple[Path, ...]] = {}
    files = _files_in(folder, forms)
    for split, names in SPLIT_NAMES.items():
        pattern = re.compile(rf"(?:.*[^a-z])?(?:{names})(?:[^a-z].*)?", re.IGNORECASE)
        mine = [file for file in files if pattern.fullmatch(_ending(forms).sub("", file.name))]
        if len(mine) > 1:
            listed = ", ".join(file.name for file in mine[:4])
            raise DataError(
                f"{folder}: expected one file for {split}, found {len(mine)}: {listed}; keep one of them, or name "
                "files with task.path, task.valid_path and task.test_path"
            )
        if mine:
            named[split] = (mine[0],)
    if named and "train" not in named:
        raise MissingError(f"{folder}: has a file for {' and '.join(named)}, but none named like 'train{forms[0]}'")
    return named or {"train": tuple(files)}


def _files_in(folder: Path, forms: Sequence[str]) -> list[Path]:
    try:
        files = sorted(file for file in folder.iterdir() if file.is_file())
    except OSError as problem:
        raise MissingError(f"{folder}: cannot be listed: {problem.strerror}") from None
    ending = _ending(forms)
    files = [file for file in files if not file.name.startswith(".") and ending.search(file.name, 1)]
    if not files:
        raise MissingError(f"{folder}: expected {_names(forms)}, found none")
    return files


def _ending(forms: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(map(re.escape, forms))})(?:\.gz)?$", re.IGNORECASE)


def _names(forms: Sequence[str]) -> str:
    """Name the forms for a message.

    >>> _names([".csv", ".tsv"])
    'files named *.csv or *.tsv, or those with .gz'
    """
    return f"files named {' or '.join(f'*{form}' for form in forms)}, or those with .gz"
