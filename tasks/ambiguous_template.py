"""Ambiguous Template: two words fit equally well; can the model name both? (Chang and McCallum 2022)

Source: HistAlign section 5.1 and A.1; word pairs of the Google analogy set. One instance, from the analogy
`Athens Greece Baghdad Iraq`, whose diagonals are (Athens, Iraq) and (Greece, Baghdad):

    prompt "I went to Athens and Iraq before, and I love one of the places more, which is", target "Iraq"

The loss is on the target word only. The published recipe leaks: its five lists are split independently although two of
them hold the same words, so that 1,506 of 5,148 test diagonals (29 %) are training diagonals too. `split=clean` does
not.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, Literal

from torch import Tensor

from bench.base.seeds import seed_of
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.recipes import MID
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.encode.words import analogy_embeddings, word_tokenizer
from bench.tasks.files.ambiguous_template import (
    Numbered,
    expand,
    read,
    read_lists,
    read_templates,
    split_list,
    word_pairs,
)
from bench.tasks.samples import sample_lines

SAMPLE_SEED = 42
SAMPLE_ANALOGIES = 187  # of each split: 5,984 rows


class AmbiguousTemplate(Task):
    """Two-word prompts.

    Args:
        split: `paper` splits five lists independently, as published, with its leak; `clean` splits the three location
            lists as one, and drops repeated rows.
        split_seed: shuffles word pairs before they are halved; the authors' own order is not known.
    """

    name: str = "ambiguous_template"
    ends: ClassVar[bool] = False
    info: ClassVar[TaskInfo] = TaskInfo(
        summary="two words fit equally well; can the model name both?",
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
        status = "subset"
        if self.variant == "paper":
            status = "official"
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
