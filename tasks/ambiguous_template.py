"""Ambiguous Template: two words fit equally well; can the model name both? (Chang and McCallum 2022)

Source: HistAlign section 5.1 and A.1; word pairs of the Google analogy set. One instance, from the analogy
`Athens Greece Baghdad Iraq`, whose diagonals are (Athens, Iraq) and (Greece, Baghdad):

    prompt "I went to Athens and Iraq before, and I love one of the places more, which is", target "Iraq"

A template takes one diagonal of an analogy. The words of the other are what a softmax over narrow states proposes by
mistake: the output embeddings of all four are nearly a parallelogram. The loss is on the target word only.

The pairs of a list of analogies are shuffled and the first half are training pairs; an analogy with both of its pairs
in that half is training data, with one validation data, with none test data. Two variants:

* `paper`: five lists, each split on its own: `family`, three lists of places, and `three_locations`, the three lists
  together. So every analogy of places is there twice and split twice, and "no overlap" (A.1) holds only inside a list:
  with seed 42, 1,506 of 5,148 distinct test diagonals (29 %) are train diagonals too, with 12,048 of 41,184 distinct
  test prompts; 22 % to 38 % for seeds 0 to 4.
* `clean`: only `family` and `three_locations`, and every prompt is kept once: in train, else in test, else in valid.
  182,000 of 253,344 rows remain with seed 42, and no prompt of valid or test is in train.

The authors' split cannot be reproduced, since it was shuffled without a seed. Whatever the seed, `paper` has 493,248
rows in all (the paper rounds to 122k + 250k + 122k); the shuffle decides how a list falls into train, valid and test.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from torch import Tensor

from bench.base.seeds import seed_of
from bench.errors import DataError
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.recipes import MID
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.encode.tokenizers import analogy_embeddings, word_tokenizer
from bench.tasks.files.expected_files import needed
from bench.tasks.files.lines import lines, read_json
from bench.tasks.samples import sample_lines

SAMPLE_SEED = 42
SAMPLE_ANALOGIES = 187  # of each split: 5,984 rows

Analogy = tuple[str, str, str, str]
Numbered = tuple[int, Analogy]  # place in its list, words

KINDS = ("people", "location")
PRONOUNS = frozenset({"he", "she", "her", "his"})  # "the he and the queen" is no phrase: the recipe leaves them out
SPLITS = ("train", "valid", "test")
PLACES = ("capital-common-countries", "capital-world", "city-in-state")
CATEGORIES = {"paper": ("family", *PLACES, "three_locations"), "clean": ("family", "three_locations")}
ORIGIN = "the Google analogy set of word2vec (questions-words.txt)"


class AmbiguousTemplate(Task):
    """Two-word prompts.

    Args:
        split: `paper` splits five lists independently, as published; a pair can then be in both training and test data.
            `clean` splits the three location lists as one, and drops repeated rows.
        split_seed: shuffles word pairs before they are halved; the authors' own order is not known.
    """

    name: str = "ambiguous_template"
    ends: ClassVar[bool] = False
    info: ClassVar[TaskInfo] = TaskInfo(
        source="https://github.com/meetdavidwan/histalign (recipe), word2vec questions-words.txt (word pairs)",
        licence="Apache-2.0 (word pairs)",
        sizes={},
        evaluations=("likelihood", "probe", "spectrum"),
        metrics=("cache_accuracy", "matrix_rank", "perplexity", "cache_hits"),
        fields=frozenset({"words"}),
    )
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "small": {
            "backbone": "small-causal",
            "backbone.embeddings": "reference",
            "backbone.context": 64,
            "trainer.steps": 300,
            "trainer.batch_size": 64,
            "trainer.lr": 1e-3,
            "trainer.warmup": 0.1,
            "trainer.max_source": 40,
            "trainer.max_target": 8,
            "evaluation.rows": 2000,
            "evaluation.batch_size": 250,
        },
        "mid": {  # frozen embeddings as in HistAlign A.1; its rate, 1e-5, moves TRIME too little
            **MID,
            "task.split": "clean",
            "backbone.freeze_embeddings": "true",
            "trainer.steps": 150,
            "trainer.lr": 5e-5,
            "trainer.warmup": 0.0,
            "trainer.max_source": 64,
            "trainer.max_target": 16,
            "evaluation.rows": 2000,
            "evaluation.spectrum_rows": 250,
        },
        "paper": {  # HistAlign Table 8, A.1
            "backbone": "gpt2",
            "methods": "mle,trime,histalign",
            "backbone.freeze_embeddings": "true",
            "trainer.epochs": 5,
            "trainer.validate": 1,
            "trainer.select": "nll",
            "trainer.batch_size": 256,
            "trainer.lr": 1e-5,
            "trainer.warmup": 0.0,
            "trainer.max_source": 64,
            "trainer.max_target": 16,
            "trainer.precision": "bf16-mixed",
            "evaluation.batch_size": 250,
        },
    }

    def __init__(self, *, split: Literal["paper", "clean"] = "paper", split_seed: int = 42) -> None:
        super().__init__()
        self.variant, self.split_seed = split, split_seed

    def cluster_of(self, name: str) -> str:
        """Return the analogy, whose words all its prompts ask for."""
        return "/".join(name.split("/")[:2])

    def read(self, folder: Path, split: str) -> Split:
        """Expand analogies into rows; the count does not depend on the seed, which half a pair is in does."""
        examples = read(folder, split, self.variant, self.split_seed)
        status = "official" if self.variant == "paper" else "subset"
        if self.templates() == sample_templates():  # the published word pairs in sentences of this project
            status = "proxy"
        return Split(split, examples, status, str(folder))

    def sample(self, split: str) -> Sequence[Example]:
        """Pairs and templates of this project's own making, split cleanly."""
        return list(sample(split))

    def tokenizer(self, vocabulary: int) -> Any:
        """Return a word-level tokenizer: the words are known beforehand, as in a pretrained vocabulary."""
        texts = []
        for pairs in self.pairs().values():
            texts += [" ".join(pair) for pair in pairs]
        for sentences in self.templates().values():
            texts += [sentence.replace("{}", " ") for sentence in sentences]
        return word_tokenizer(texts)

    def templates(self) -> Mapping[str, Sequence[str]]:
        """Return the sentences of each kind, with `{}` for the words."""
        if self.source.folder is None:
            return sample_templates()
        return read_templates(self.source.folder / "templates.json")

    def pairs(self) -> dict[str, list[tuple[str, str]]]:
        """Return the word pairs of each list, of all splits."""
        if self.source.folder is None:
            return sample_pairs()
        lists = read_lists(self.source.folder, self.variant)
        return {name: word_pairs(analogies) for name, analogies in lists.items()}

    def reference_embeddings(self, tokenizer: Any, width: int, seed: int) -> Tensor | None:
        """Return embeddings in which an analogy is nearly a parallelogram: what makes a softmax fail here."""
        return analogy_embeddings(tokenizer, self.pairs(), width, seed=seed_of(seed, "embeddings") % 2**31)


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
        variant: `paper` or `clean`, as the docstring of this module explains.
        seed: decides which pairs are training pairs.

    Raises:
        MissingError: a file is not there.
        DataError: a file is not what it should be; names the line.
    """
    templates = read_templates(folder / "templates.json")
    lists = {name: split_list(analogies, name, seed) for name, analogies in read_lists(folder, variant).items()}

    def rows(name: str, seen: set[frozenset[str]] | None) -> list[Example]:
        return [row for category, parts in lists.items() for row in expand(category, parts[name], templates, seen)]

    if variant != "clean":
        return rows(split, None)
    # A diagonal stays where it comes first: what a model was trained on must not be tested, and test rows must not
    # choose the checkpoint.
    seen: set[frozenset[str]] = set()
    order = ("train", "test", "valid")
    return [rows(name, seen) for name in order[: order.index(split) + 1]][-1]


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
    kind = "people" if category in ("family", "people") else "location"
    sentences = [template.split("{}") for template in templates[kind]]
    for index, analogy in analogies:
        diagonals = usable(analogy, seen)
        for number, pieces in enumerate(sentences):
            for place, words, outside in diagonals:
                fields = {"category": category, "analogy": analogy, "words": words, "other": outside}
                yield from _rows(f"{category}/{index}/{number}/{place}", pieces, fields)


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
    return templates


def usable(analogy: Analogy, seen: set[frozenset[str]] | None) -> list[Diagonal]:
    """Return the diagonals of an analogy that rows are made of; they are added to `seen`, as for `expand`."""
    a, b, c, d = analogy
    found = []
    for diagonal in (Diagonal(0, (a, d), (b, c)), Diagonal(1, (b, c), (a, d))):
        key = frozenset(diagonal.words)
        if PRONOUNS.isdisjoint(key) and key not in (seen or ()):
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


def sample_templates() -> dict[str, list[str]]:
    """Return the sentences of the built-in sample, of each kind."""
    return _listed("kind", "template")


def sample_pairs() -> dict[str, list[tuple[str, str]]]:
    """Return the word pairs of the built-in sample, of each category; no word is in two of them."""
    pairs: dict[str, list[tuple[str, str]]] = {}
    for category, listed in _listed("category", "pair").items():
        pairs[category] = [(first, second) for first, second in listed]
    return pairs


@cache
def sample(split: str) -> tuple[Example, ...]:
    """Return the built-in rows of a split; no prompt is in two splits.

    Two pairs make one analogy; the other way round it would give the same prompts. Lists are split by pairs, as in the
    recipe, and a fixed choice of each split's analogies is kept.

    >>> row = sample("train")[0]
    >>> row.target in row.source, sorted(row.references) == sorted(row.fields["words"])
    (True, True)
    """
    listed: list[tuple[str, Numbered]] = []
    for category, pairs in sample_pairs().items():
        analogies = [(*first, *second) for first, second in combinations(pairs, 2)]
        listed += [(category, analogy) for analogy in split_list(analogies, category, SAMPLE_SEED)[split]]
    kept = random.Random(f"{SAMPLE_SEED}/{split}").sample(listed, SAMPLE_ANALOGIES)
    rows: list[Example] = []
    templates = sample_templates()
    for category, analogy in sorted(kept):
        rows += expand(category, [analogy], templates)
    return tuple(rows)


def _listed(group: str, value: str) -> dict[str, list[Any]]:
    """Gather a value of the sample's lines, by group, in the order of the file."""
    values: dict[str, list[Any]] = {}
    for line in sample_lines("ambiguous_template"):
        if group in line:
            values.setdefault(line[group], []).append(line[value])
    return values
