"""Ambiguous Template: prompts that name two words and may go on with either, from the Google analogy set.

HistAlign, section 5.1 and appendix A.1, after Chang and McCallum (2022). From an analogy (a, b, c, d), such as Athens
Greece Baghdad Iraq, a template takes one diagonal, (a, d) or (b, c). The words of the other diagonal are what a softmax
over narrow states proposes by mistake: the output embeddings of all four are nearly a parallelogram.

The pairs of a list of analogies are shuffled and the first half are training pairs; an analogy with both of its pairs
in that half is training data, with one validation data, with none test data. Two variants:

* `paper`: five lists, each split on its own: `family`, three lists of places, and `three_locations`, the three lists
  together. So every analogy of places is there twice and split twice, and "no overlap" (A.1) holds only inside a list:
  with seed 42, 1,506 of 5,148 distinct test diagonals (29 %) are train diagonals too, with 12,048 of 41,184 distinct
  test prompts; 22 % to 38 % for seeds 0 to 4.
* `clean`: only `family` and `three_locations`, and every prompt is kept once: in train, else in test, else in valid.
  182,000 of 253,344 rows remain with seed 42, and no prompt of valid or test is in train.

The authors shuffled without a seed, so their own split is lost. Whatever the seed, `paper` has 493,248 rows in all (the
paper rounds to 122k + 250k + 122k); how they fall into train, valid and test of a list depends on the shuffle.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.errors import DataError
from bench.tasks.core.example import Example
from bench.tasks.files.expected_files import needed
from bench.tasks.files.lines import lines, read_json

__all__ = ["CATEGORIES", "Numbered", "expand", "read", "read_lists", "read_templates", "split_list", "word_pairs"]

Analogy = tuple[str, str, str, str]
Numbered = tuple[int, Analogy]  # place in its list, words
SplitList = Mapping[str, Sequence[Numbered]]  # split -> analogies with their place in the list

KINDS = ("people", "location")
PRONOUNS = frozenset({"he", "she", "her", "his"})  # "the he and the queen" is no phrase: the recipe leaves them out
SPLITS = ("train", "valid", "test")
PLACES = ("capital-common-countries", "capital-world", "city-in-state")
CATEGORIES = {"paper": ("family", *PLACES, "three_locations"), "clean": ("family", "three_locations")}
ORIGIN = "the Google analogy set of word2vec (questions-words.txt)"


class Diagonal(NamedTuple):
    """Two words of an analogy for the slots of a template, and the two that stay outside."""

    place: int  # 0 is (a, d), 1 is (b, c)
    words: tuple[str, str]
    outside: tuple[str, str]


def read(folder: Path, split: str, variant: str = "paper", seed: int = 42) -> list[Example]:
    """Read one split from `questions-words.txt` and `templates.json`.

    Args:
        folder: holds both files.
        split: `train`, `valid` or `test`.
        variant: `paper` or `clean`, as the head of this module explains.
        seed: decides which pairs are training pairs.

    Raises:
        MissingError: a file is not there.
        DataError: a file is not what it should be; names the line.
    """
    templates = read_templates(folder / "templates.json")
    lists = {name: split_list(analogies, name, seed) for name, analogies in read_lists(folder, variant).items()}
    seen: set[frozenset[str]] | None = None
    if variant == "clean":
        seen = _used_before(lists, split)
    rows: list[Example] = []
    for category, analogies in lists.items():
        rows += expand(category, analogies[split], templates, seen)
    return rows


def _used_before(lists: Mapping[str, SplitList], split: str) -> set[frozenset[str]]:
    """Return the diagonals of the splits that go before a split.

    A diagonal stays where it comes first: what a model was trained on must not be tested, and test rows must not choose
    the checkpoint.
    """
    order = ("train", "test", "valid")
    seen: set[frozenset[str]] = set()
    for name in order[: order.index(split)]:
        for analogies in lists.values():
            for _, analogy in analogies[name]:
                usable(analogy, seen)
    return seen


def read_lists(folder: Path, variant: str = "paper") -> dict[str, list[Analogy]]:
    """Return the analogies of every list that a variant uses, in file order.

    The file has a line `: name` for each list, then four words a line. Blank lines and the copyright line (`//`) of the
    original release are skipped.

    Raises:
        MissingError: there is no such file.
        DataError: a line is malformed, or a list is not there.
    """
    path = needed(folder, ["questions-words.txt"], f"the lists are {ORIGIN}")
    sections: dict[str, list[Analogy]] = {}
    current: list[Analogy] | None = None
    for number, line in lines(path):
        line = line.strip()
        words = line.split()
        if line.startswith(":"):
            name = line[1:].strip()
            if not name or name in sections:
                raise DataError(f"{path}, line {number}: expected the name of a new list, found {line!r:.80}")
            current = sections[name] = []
        elif words and not line.startswith("//"):
            if current is None or len(words) != 4:
                raise DataError(
                    f"{path}, line {number}: expected ': name' and below it four words a line, found {line!r:.80}"
                )
            current.append((words[0], words[1], words[2], words[3]))
    absent = [name for name in ("family", *PLACES) if not sections.get(name)]
    if absent:
        raise DataError(f"{path} has no analogies under {', '.join(absent)}; get the whole file: {ORIGIN}")
    sections["three_locations"] = [analogy for name in PLACES for analogy in sections[name]]
    return {category: sections[category] for category in CATEGORIES[variant]}


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


def expand(
    category: str,
    analogies: Iterable[Numbered],
    templates: Mapping[str, Sequence[str]],
    seen: set[frozenset[str]] | None = None,
) -> Iterator[Example]:
    """Yield the rows of numbered analogies: 32 each with four templates, none for a diagonal with a pronoun.

    The recipe's order: template, diagonal, then (x, y) asking for x and for y, then (y, x) asking for x and for y. Two
    rows in turn share a prompt, which `fields["prompt_id"]` names. Ids do not look at the text: a text that another
    analogy repeats has another id, and counts again, as in the authors' evaluation.

    Args:
        category: name of the list; begins every id and decides between `people` and `location`.
        analogies: place in the list and words; the place makes ids independent of the split.
        templates: by kind, sentences with two `{}` that end just before the target.
        seen: diagonals that are used up. When given, one that is in it is left out and a new one joins it, so that no
            prompt comes twice.

    >>> sentences = {"people": ["the {} and the {} see the"]}
    >>> for row in expand("family", [(0, ("king", "queen", "man", "woman"))], sentences):
    ...     print(row.id, "|", row.source, "|", row.target)
    family/0/0/0xyx | the king and the woman see the | king
    family/0/0/0xyy | the king and the woman see the | woman
    family/0/0/0yxx | the woman and the king see the | king
    family/0/0/0yxy | the woman and the king see the | woman
    family/0/0/1xyx | the queen and the man see the | queen
    family/0/0/1xyy | the queen and the man see the | man
    family/0/0/1yxx | the man and the queen see the | queen
    family/0/0/1yxy | the man and the queen see the | man
    """
    sentences = [template.split("{}") for template in templates[kind_of(category)]]
    for index, analogy in analogies:
        diagonals = usable(analogy, seen)
        for number, pieces in enumerate(sentences):
            for place, words, outside in diagonals:
                fields = {"category": category, "analogy": analogy, "words": words, "other": outside}
                yield from _rows(f"{category}/{index}/{number}/{place}", pieces, fields)


def kind_of(category: str) -> str:
    """Return which templates fit the words of a list: those for `people` or those for a `location`."""
    if category in ("family", "people"):
        return "people"
    return "location"


def read_templates(path: Path) -> dict[str, list[str]]:
    """Read `templates.json`: `{"people": [...], "location": [...]}`, each sentence with two `{}`.

    Raises:
        MissingError: there is no such file.
        DataError: it is not JSON of that form.
    """
    needed(
        path.parent, [path.name], "it has the sentences of HistAlign's recipe, four for people and four for location"
    )
    loaded = read_json(path)
    templates: dict[str, Any] = {kind: loaded.get(kind) if isinstance(loaded, dict) else None for kind in KINDS}
    for kind, sentences in templates.items():
        are_texts = isinstance(sentences, list) and sentences and all(isinstance(text, str) for text in sentences)
        if not are_texts or any(text.count("{}") != 2 or text != text.strip() for text in sentences):
            raise DataError(
                f"{path}: expected a list of sentences under '{kind}', each with two {{}} and no space at either end, "
                f"found {sentences!r:.200}"
            )
        if len(set(sentences)) != len(sentences):
            raise DataError(f"{path}: a sentence under '{kind}' is there twice; each must differ")
    return templates


def usable(analogy: Analogy, seen: set[frozenset[str]] | None) -> list[Diagonal]:
    """Return the diagonals of an analogy that rows are made of; what they are adds to `seen`, as for `expand`."""
    a, b, c, d = analogy
    found = []
    for diagonal in (Diagonal(0, (a, d), (b, c)), Diagonal(1, (b, c), (a, d))):
        key = frozenset(diagonal.words)
        if not PRONOUNS.isdisjoint(key) or (seen is not None and key in seen):
            continue
        found.append(diagonal)
        if seen is not None:
            seen.add(key)
    return found


def _rows(stem: str, pieces: Sequence[str], common: Mapping[str, Any]) -> Iterator[Example]:
    before, between, after = pieces
    x, y = words = common["words"]
    for order, first, second in (("xy", x, y), ("yx", y, x)):
        source = f"{before}{first}{between}{second}{after}"
        prompt = stem + order
        fields = {**common, "prompt_id": prompt}
        yield Example(prompt + "x", source, x, words, fields)
        yield Example(prompt + "y", source, y, words, fields)
