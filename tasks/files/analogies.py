"""Word analogies: reading questions-words.txt, and splitting its lists.

The task Ambiguous Template (HistAlign, section 5.1 and appendix A.1) is made from four sections of the Google analogy
set. The pairs of a list are shuffled and the first half are training pairs; an analogy with both of its pairs in that
half is training data, with one validation data, with none test data. Three variants:

* `paper`: five lists, each split on its own: `family`, three lists of places, and `three_locations`, the three lists
  together. So every analogy of places is there twice and split twice, and "no overlap" (A.1) holds only inside a list:
  with seed 42, 1,506 of 5,148 distinct test diagonals (29 %) are train diagonals too, with 12,048 of 41,184 distinct
  test prompts; 22 % to 38 % for seeds 0 to 4.
* `clean`: only `family` and `three_locations`, and every prompt is kept once: in train, else in test, else in valid.
  182,000 of 253,344 rows remain with seed 42, and no prompt of valid or test is in train.
* `folder`: the lists of `paper` as split in `split_0.5/` of the data folder, whatever is there.

The authors shuffled without a seed, so their own split is lost. Whatever the seed, `paper` has 493,248 rows in all (the
paper rounds to 122k + 250k + 122k); how they fall into train, valid and test of a list depends on the shuffle.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench.errors import DataError, MissingError, UsageError
from bench.tasks.core.example import Example
from bench.tasks.files.ambiguous_template import Analogy, Numbered, expand, kind_of, read_templates, usable
from bench.tasks.files.lines import line_feeds

__all__ = ["CATEGORIES", "SPLITS", "parse", "read", "read_lists", "split_list", "word_pairs"]

SPLITS = ("train", "valid", "test")
PLACES = ("capital-common-countries", "capital-world", "city-in-state")
CATEGORIES = {
    "paper": ("family", *PLACES, "three_locations"),
    "clean": ("family", "three_locations"),
    "folder": ("family", *PLACES, "three_locations"),
}
ORIGIN = "the Google analogy set of word2vec (questions-words.txt)"

SplitList = Mapping[str, Sequence[Numbered]]  # split -> analogies with their place in the list


def read(folder: Path, split: str, variant: str = "paper", seed: int = 42) -> list[Example]:
    """Read one split of Ambiguous Template from `questions-words.txt` and `templates.json`.

    Args:
        folder: holds both files, and `split_0.5/` for the variant `folder`.
        split: `train`, `valid` or `test`.
        variant: `paper`, `clean` or `folder`; the head of this module says what they are.
        seed: decides which pairs are training pairs; without effect on `folder`.

    Raises:
        MissingError: a file is not there.
        DataError: a file is not what it should be; names the line.
        UsageError: an unknown variant or split.
    """
    if variant not in CATEGORIES or split not in SPLITS:
        known = f"variants {', '.join(CATEGORIES)} and splits {', '.join(SPLITS)}"
        raise UsageError(f"no split {split!r} of a variant {variant!r} of ambiguous_template; there are {known}")
    templates = read_templates(folder / "templates.json")
    lists: dict[str, SplitList] = {}
    for category, analogies in read_lists(folder, variant).items():
        if variant == "folder":
            lists[category] = _split_of_folder(folder / "split_0.5", category, analogies)
        else:
            lists[category] = split_list(analogies, category, seed)
    if variant == "clean":
        return _distinct_rows(lists, split, templates)
    return _rows(lists, split, templates)


def read_lists(folder: Path, variant: str = "paper") -> dict[str, list[Analogy]]:
    """Return the analogies of every list that a variant uses, in file order."""
    path = folder / "questions-words.txt"
    sections = parse(path)
    absent = [name for name in ("family", *PLACES) if not sections.get(name)]
    if absent:
        raise DataError(f"{path} has no analogies under {', '.join(absent)}; get the whole file: {ORIGIN}")
    sections["three_locations"] = [analogy for name in PLACES for analogy in sections[name]]
    return {category: sections[category] for category in CATEGORIES[variant]}


def parse(path: Path) -> dict[str, list[Analogy]]:
    """Read the sections of an analogy file: a line `: name`, then four words a line.

    Blank lines and the copyright line (`//`) of the original release are skipped; a byte order mark and line ends of
    another system do no harm.

    Raises:
        MissingError: there is no such file.
        DataError: a line is malformed; names file and line.
    """
    sections: dict[str, list[Analogy]] = {}
    current: list[Analogy] | None = None
    for number, line in _lines(path):
        if line.startswith(":"):
            name = line[1:].strip()
            if not name or name in sections:
                raise DataError(f"{path}:{number}: expected the name of a new section, found {line!r}")
            current = sections[name] = []
        elif not line.startswith("//"):
            if current is None:
                raise DataError(f"{path}:{number}: expected a section head ': name' before any words, found {line!r}")
            current.append(_analogy(line, path, number))
    return sections


def word_pairs(analogies: Iterable[Analogy]) -> list[tuple[str, str]]:
    """Return the pairs of words that analogies are made of, each once, sorted.

    >>> word_pairs([("b", "B", "a", "A"), ("a", "A", "c", "C")])
    [('a', 'A'), ('b', 'B'), ('c', 'C')]
    """
    pairs: set[tuple[str, str]] = set()
    for a, b, c, d in analogies:
        pairs |= {(a, b), (c, d)}
    return sorted(pairs)


def split_list(analogies: Sequence[Analogy], category: str, seed: int) -> dict[str, list[Numbered]]:
    """Split a list by its pairs: both in the training half -> train, one -> valid, none -> test.

    The pairs are sorted before the shuffle, so the split is a function of the list's content, its name and the seed.

    >>> analogies = [("a", "A", "b", "B"), ("a", "A", "c", "C"), ("b", "B", "d", "D"), ("c", "C", "d", "D")]
    >>> {split: [index for index, _ in part] for split, part in split_list(analogies, "letters", seed=1).items()}
    {'train': [2], 'valid': [0, 3], 'test': [1]}
    """
    pairs = word_pairs(analogies)
    random.Random(f"{seed}/{category}").shuffle(pairs)
    known = set(pairs[: int(len(pairs) * 0.5)])
    parts: dict[str, list[Numbered]] = {split: [] for split in SPLITS}
    for index, (a, b, c, d) in enumerate(analogies):
        split = ("test", "valid", "train")[((a, b) in known) + ((c, d) in known)]
        parts[split].append((index, (a, b, c, d)))
    return parts


def _rows(
    lists: Mapping[str, SplitList],
    split: str,
    templates: Mapping[str, Sequence[str]],
    seen: set[frozenset[str]] | None = None,
) -> list[Example]:
    """Expand a split of every list; `seen` are diagonals that are used up, as for `expand`."""
    rows: list[Example] = []
    for category, split_analogies in lists.items():
        rows += expand(category, split_analogies[split], templates, seen)
    return rows


def _distinct_rows(lists: Mapping[str, SplitList], split: str, templates: Mapping[str, Sequence[str]]) -> list[Example]:
    """Expand a split of every list without the diagonals of the splits before it.

    A diagonal stays where it comes first: what a model was trained on must not be tested, and test rows must not choose
    the checkpoint.
    """
    seen: set[frozenset[str]] = set()
    for name in ("train", "test", "valid"):
        if name == split:
            break
        for analogies in lists.values():
            for _, analogy in analogies[name]:
                usable(analogy, seen)
    return _rows(lists, split, templates, seen)


def _split_of_folder(folder: Path, category: str, analogies: Sequence[Analogy]) -> dict[str, list[Numbered]]:
    kind = kind_of(category)
    places: dict[Analogy, list[int]] = {}
    for index in reversed(range(len(analogies))):
        places.setdefault(analogies[index], []).append(index)
    parts: dict[str, list[Numbered]] = {}
    for split, name in zip(SPLITS, ("train", "one_overlap", "no_overlap"), strict=True):
        path = folder / f"{kind}_{category}_{name}"
        parts[split] = []
        for number, line in _lines(path):
            words = _analogy(line, path, number)
            if not places.get(words):
                listed = f"an analogy of {category} as often as in questions-words.txt"
                raise DataError(f"{path}:{number}: expected {listed}, found {line!r}")
            parts[split].append((places[words].pop(), words))
    return parts


def _analogy(line: str, path: Path, number: int) -> Analogy:
    words = line.split()
    if len(words) != 4:
        raise DataError(f"{path}:{number}: expected four words, found {len(words)}: {line!r}")
    return words[0], words[1], words[2], words[3]


def _lines(path: Path) -> list[tuple[int, str]]:
    try:
        content = line_feeds(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except OSError as error:
        where = f"the lists are {ORIGIN}, split_0.5/ holds a split of them"
        raise MissingError(f"{path} cannot be read ({error.strerror}); {where}") from None
    lines = []
    for number, raw in enumerate(content.split(b"\n"), start=1):
        if b"\0" in raw:
            raise DataError(f"{path}:{number}: expected text, found a NUL byte; the file is binary, UTF-16 or damaged")
        try:
            line = raw.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            problem = f"expected UTF-8, found {error.reason} at byte {error.start}"
            raise DataError(f"{path}:{number}: {problem}; convert the file") from None
        if line:
            lines.append((number, line))
    return lines
