"""User data: which files, or folders of a saved data set, have a split, and which rows are held out for a split."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from bench.errors import BenchError, DataError, MissingError, UsageError, did_you_mean
from bench.tasks.core.pieces import pieces
from bench.tasks.fetch.data_sets import DataSet, is_split
from bench.tasks.fetch.sources import Source, expanded
from bench.tasks.files.published import NAMES

Row = TypeVar("Row")

NEED_HUB = ("config", "revision", "train_split", "valid_split", "test_split")
LOCATIONS = frozenset({"path", "valid_path", "test_path", "title", "hub", *NEED_HUB})
"""Options of a task that say where the rows are."""
RANGES = {"test": (0.00, 0.05), "valid": (0.05, 0.10)}
"""Where the hash of a held-out row lies between 0 and 1."""


def check_user_data(options: Mapping[str, Any]) -> None:
    """Refuse options of a task that do not fit together.

    Args:
        options: all options of the task; those of `LOCATIONS` are looked at.

    Raises:
        UsageError: naming them.
    """
    if (options["valid_path"] or options["test_path"]) and not options["path"]:
        raise UsageError("task.valid_path and task.test_path need task.path, the file to train on")
    if options.get("hub") and options["path"]:
        raise UsageError("task.hub and task.path are two places of the rows; give one of them")
    needing = [f"task.{name}" for name in NEED_HUB if options.get(name)]
    if needing and not options["hub"]:
        raise UsageError(f"{' and '.join(needing)} needs task.hub, the data set")


@dataclass(frozen=True)
class UserData:
    """Where a user's rows are.

    Args:
        forms: endings of the files of a folder, each maybe followed by .gz; a file named by itself may end as it will.
        path: a file; or a folder with one file for `train` (and for the other splits), or of files that together are
            one text. Empty: the task's folder.
        valid_path: a file or a folder of files for the validation split.
        test_path: the same for the test split.
        data_set: a data set of the hub, or a folder that `save_to_disk` wrote, in place of `path`.
        splits: our split -> the data set's name for it; empty for the usual names.
    """

    forms: Sequence[str]
    path: str = ""
    valid_path: str = ""
    test_path: str = ""
    data_set: DataSet | None = None
    splits: Mapping[str, str] | None = None

    def source(self, source: Source) -> Source:
        """Return where rows come from; what the user has named goes before the task's folder."""
        if self.data_set is not None:
            return self.data_set.source(source)
        if self.path:
            place = expanded(self.path)
            source = Source(place, f"task.path: {place}")
        unread = self.unread(source.folder) if source.folder else []
        names = ", ".join([*unread[:4], *([f"{len(unread) - 4} more"] if len(unread) > 4 else [])])
        return replace(source, why=f"{source.why}; not read: {names}") if unread else source

    def unread(self, folder: Path) -> list[str]:
        """Return the names of a folder's files, of forms that the task reads, that are of no split."""
        try:
            read = {file.resolve() for files in self.files(folder).values() for file in files}
            listed = _files_in(folder, self.forms) if folder.is_dir() else []
        except BenchError:  # which the reader of the rows raises again
            return []
        return [file.name for file in listed if file.resolve() not in read]

    def files(self, folder: Path) -> dict[str, tuple[Path, ...]]:
        """Return the files of each split; a split that is not in it takes its share of `train`.

        Raises:
            MissingError: something is not there.
            DataError: a folder has two files for one split, or one whose name stands for two splits.
            UsageError: a data set has no split of a name, none to train on, or two that may be meant.
        """
        if self.data_set is not None:
            return _split_folders(folder, self.splits or {})
        files: dict[str, tuple[Path, ...]] = {"train": (folder,)}
        if _is_folder(folder, self.forms):
            files = _by_split(folder, self.forms)
        for split, named in (("valid", self.valid_path), ("test", self.test_path)):
            if named:
                place = expanded(named)
                files[split] = tuple(_files_in(place, self.forms)) if _is_folder(place, self.forms) else (place,)
        return files


def split_rows(
    files: Mapping[str, Sequence[Path]],
    split: str,
    read: Callable[[Sequence[Path]], Iterable[Row]],
    place_of: Callable[[Row], float | None],
    remedy: str = "",
) -> tuple[Iterable[Row], str]:
    """Return the rows of a split; one that has no file is held out from the training rows.

    Args:
        files: of each split that has any, `train` among them.
        split: `train`, `valid` or `test`.
        read: reads the rows of files.
        place_of: the place of a row, by which it is held out (`held_out`).
        remedy: what to do where there are too few rows to hold any out.

    Returns:
        The rows, and the files for people.

    Raises:
        DataError: there are too few rows to hold out.
    """
    mine = files.get(split, files["train"])
    rows = read(mine)
    origin = str(mine[0]) if len(mine) == 1 else f"{len(mine)} files of {mine[0].parent}"
    missing = [name for name in ("valid", "test") if name not in files]
    if missing and (split == "train" or split in missing):
        every = list(rows)
        split_of = held_out(map(place_of, every), missing, origin, remedy)
        rows = [row for number, row in enumerate(every) if split_of.get(number, "train") == split]
        origin += f"; {' and '.join(missing)} held out"
    return rows, origin


def held_out(
    places: Iterable[float | None], splits: Sequence[str], where: object = "the rows", remedy: str = ""
) -> Mapping[int, str]:
    """Choose rows for splits that have no file of their own: 5 % for each, the rest is for training.

    A row's place decides where it goes, so that rows of one place go together, and a row stays where it is when others
    come or go. A split that no row falls to takes one place of the largest split, so that a handful is enough.

    Args:
        places: of each row, from `place`; None for one that is for training in any case.
        splits: of `valid` and `test`, those to choose for.
        where: the rows are, for messages.
        remedy: what to do about too few rows, for messages.

    Returns:
        The split of each row that is held out, by its number from 0.

    Raises:
        DataError: there are too few different places for the splits and training.
    """
    numbers: dict[float, list[int]] = {}
    for number, at in enumerate(places):
        if at is not None:
            numbers.setdefault(at, []).append(number)
    if len(numbers) <= len(splits):
        raise DataError(
            f"{where}: expected at least {len(splits) + 1} different rows, to hold out one for "
            f"{' and one for '.join(splits)}; found {len(numbers)}{remedy}"
        )
    split_of = {
        at: next((split for split in splits if RANGES[split][0] <= at < RANGES[split][1]), "train") for at in numbers
    }
    for split in (*splits, "train"):
        if split not in split_of.values():
            largest = Counter(split_of.values()).most_common(1)[0][0]
            split_of[min(at for at in split_of if split_of[at] == largest)] = split
    return {number: split for at, split in split_of.items() if split != "train" for number in numbers[at]}


def place(text: str) -> float:
    """Return the place of a text between 0 and 1; white space does not count.

    >>> 0 <= place("to be") == place(" to\\nbe ") < 1
    True
    """
    digest = hashlib.sha256()
    for piece in pieces(text, 4096):
        digest.update(piece.encode() + b" ")
    return int.from_bytes(digest.digest()[:6], "big") / 2**48


def _split_folders(folder: Path, named: Mapping[str, str]) -> dict[str, tuple[Path, ...]]:
    """Return the folder of each split of a saved data set; one without splits is all training rows."""
    if is_split(folder):
        there = {"train": folder}
    else:
        there = {part.name: part for part in sorted(folder.iterdir()) if is_split(part)}
    folders: dict[str, tuple[Path, ...]] = {}
    for split, names in NAMES.items():
        wanted = named.get(split, "")
        if wanted and wanted not in there:
            raise UsageError(f"task.{split}_split: {folder} has no split '{wanted}'{did_you_mean(wanted, there)}")
        usual = [name for name in names if name in there]
        if not wanted and len(usual) > 1:
            raise UsageError(f"{folder} has the splits {' and '.join(usual)}; choose one with task.{split}_split")
        if wanted or usual:
            folders[split] = (there[wanted or usual[0]],)
    if "train" not in folders:
        raise UsageError(f"{folder} has no split 'train'; set task.train_split to one of {', '.join(there)}")
    return folders


def _is_folder(path: Path, forms: Sequence[str]) -> bool:
    """Return whether a path is a folder; one that is neither folder nor file is an error."""
    try:
        is_there = path.is_dir() or path.is_file()
    except OSError as error:  # such as a name that is too long
        raise MissingError(f"{path} cannot be opened: {error.strerror}") from None
    if not is_there:
        raise MissingError(f"{path} is not there: expected a file, or a folder with {_names(forms)}")
    return path.is_dir()


def _by_split(folder: Path, forms: Sequence[str]) -> dict[str, tuple[Path, ...]]:
    """Return the files of a folder by what their names say, or all as training text where no name says anything."""
    files = _files_in(folder, forms)
    named = {}
    for split, names in NAMES.items():  # also `training` and `testing`
        pattern = re.compile(rf"(?:.*[^a-z])?(?:{'|'.join(names)})(?:ing)?(?:[^a-z].*)?", re.IGNORECASE)
        if mine := [file for file in files if pattern.fullmatch(_ending(forms).sub("", file.name))]:
            named[split] = mine
    places = "name files with task.path, task.valid_path and task.test_path"
    for split, mine in named.items():
        if len(mine) > 1:
            listed = ", ".join(file.name for file in mine[:4])
            raise DataError(
                f"{folder}: expected one file for {split}, found {len(mine)}: {listed}; keep one of them, or {places}"
            )
        if both := [other for other in named if other != split and mine[0] in named[other]]:  # it would leak
            found = f"{mine[0].name} for {split} and {both[0]}"
            raise DataError(f"{folder}: expected a file for each split, found {found}; rename it, or {places}")
    if named and "train" not in named:
        raise MissingError(f"{folder}: has a file for {' and '.join(named)}, but none named like 'train{forms[0]}'")
    return {split: (mine[0],) for split, mine in named.items()} or {"train": tuple(files)}


def _files_in(folder: Path, forms: Sequence[str]) -> list[Path]:
    ending = _ending(forms)
    try:
        named = [file for file in folder.iterdir() if not file.name.startswith(".") and ending.search(file.name, 1)]
    except OSError as error:
        raise MissingError(f"{folder} cannot be opened: {error.strerror}") from None
    files = sorted(file for file in named if file.is_file())
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
