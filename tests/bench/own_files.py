"""Files of a user's own, written where a test may load them: one of everything that can be brought."""

from __future__ import annotations

import sys
from pathlib import Path

TASK = '''
"""Towns: name the town of a land."""

from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.task import Task, TaskInfo


class Towns(Task):
    """A sentence with its last word missing."""

    name = "towns"
    info = TaskInfo(
        summary="name the town of a land",
        source="",
        licence="our own",
        sizes={},
        evaluations=("likelihood", "generation"),
        metrics=("perplexity", "overlap"),
        columns=("ppl/token", "chrf"),
        primary="ppl/token",
    )
    recipes = {"small": {"backbone": "small-causal", "backbone.vocabulary": 300, "trainer.steps": 2}}

    def __init__(self, *, lands: int = 7):
        super().__init__()
        self.lands = lands

    def read(self, folder, split):
        lines = (folder / f"{split}.txt").read_text().splitlines()
        return Split(split, [row(f"{split}/{n}", *line.split(",")) for n, line in enumerate(lines)], "own", str(folder))

    def sample(self, split):
        return [row(f"{split}/{n}", f"{split} land {n % self.lands}", f"town {n % 7}!") for n in range(16)]


def row(name, land, town):
    return Example(name, f"the town of {land} is", town, references=(town,))
'''

METRIC = '''
"""Shouts: exclamation marks a text."""

from bench import Metric
from bench.metrics.score import ordered, score_of_sums
from bench.metrics.sums import mean


def shouts_scores(rows, gold):
    counts = [(row["text"].count("!"), 1) for row in ordered(rows, gold)]
    return [score_of_sums("shouts", mean(1), counts, "shouts|version:1", unit="count", higher_is_better=True)]


shouts = Metric(f"{__name__}:shouts_scores", "exclamation marks a text", columns=("+shouts",), kind="generation")
'''

BACKBONE = '''
"""Tiny: a GPT-2 of one layer."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from bench.models.backbones.causal import Causal


def tiny(name, texts, seed, *, width: int = 16):
    tokenizer = texts.tokenizer(300)
    torch.manual_seed(seed)
    special = {part: getattr(tokenizer, part) for part in ("bos_token_id", "eos_token_id", "pad_token_id")}
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=512, n_embd=width, n_layer=1, n_head=2, **special)
    return Causal(GPT2LMHeadModel(config), tokenizer)
'''

METHOD = '''
"""Soft: a token the model already knows counts less."""

import torch

from bench.models.core.objective import Objective


class Soft(Objective):
    """(1 - p)^2 * -log p of the target."""

    name = "soft"
    paper = "Lin et al. 2017"

    def token_loss(self, log_probs, rows, targets):
        nll = -log_probs.gather(1, targets[:, None]).squeeze(1)
        return (1 - torch.exp(-nll)) ** 2 * nll
'''

FORMAT = '''
"""Titles: what was measured on what, a line a table."""


def titles(leaderboards):
    return "".join(f"{table.title}\\n" for table in leaderboards.tables)
'''

DECODING = '''
"""Top-a: draw among tokens that are likely enough beside the largest."""

from dataclasses import dataclass

from bench.decodings.core.sampler import Sampler
from bench.decodings.core.settings import number


@dataclass(frozen=True, kw_only=True)
class TopA(Sampler):
    """Keep tokens with at least a times the square of the largest probability."""

    name = "top_a"
    a: float = number(above=0, most=1, value=True)

    def kept(self, scores):
        probs = scores.softmax(1)
        return probs >= self.a * probs.amax(1, keepdim=True) ** 2
'''

FILES = {"towns": TASK, "shouts": METRIC, "tiny": BACKBONE, "soft": METHOD, "titles": FORMAT, "top_a": DECODING}


def write_all(folder: Path) -> None:
    """Write every file."""
    for name, text in FILES.items():
        write(folder, name, text)


def write(folder: Path, name: str, text: str) -> None:
    """Write a file; the module that was imported of it is forgotten."""
    (folder / f"{name}.py").write_text(text.lstrip("\n"))
    forget(name)


def forget(*names: str) -> None:
    """Forget modules, as another process would not know them."""
    for name in names or FILES:
        sys.modules.pop(name, None)
