"""Plug-ins of a user, one of each kind, as files that tests write and load; and the run that uses all of them."""

import json
import sys
from pathlib import Path

from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments
from tests.conftest import call

TASK = '''
"""Towns: name the town of a land."""

from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.task import Task, TaskInfo


class Towns(Task):
    """A sentence with its last word missing."""

    name = "towns"
    info = TaskInfo(
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
    score = score_of_sums("shouts", mean(1), counts, "shouts|version:1", unit="count", higher_is_better=True)
    return [score]


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

    def token_loss(self, log_probs, tokens, targets):
        nll = -log_probs.gather(1, targets[:, None]).squeeze(1)
        return (1 - torch.exp(-nll)) ** 2 * nll
'''

DECODING = '''
"""Top-a: draw among tokens that are likely enough beside the largest."""

from dataclasses import dataclass
from typing import Annotated

from bench.base.options import Range
from bench.decodings.core.sampler import Sampler


@dataclass(frozen=True, kw_only=True)
class TopA(Sampler):
    """Keep tokens with at least a times the square of the largest probability."""

    name = "top_a"
    main_option = "a"
    a: Annotated[float, Range(above=0, most=1)]

    def kept(self, scores):
        probs = scores.softmax(1)
        return probs >= self.a * probs.amax(1, keepdim=True) ** 2
'''

FILES = {"towns": TASK, "shouts": METRIC, "tiny": BACKBONE, "soft": METHOD, "top_a": DECODING}


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


BUILT_IN = "pairs"
RUN = ("run", "--task", f"towns.py:Towns,{BUILT_IN}", "--method", "mle,soft.py:Soft", "--backbone", "tiny.py:tiny",
       "--metrics", "shouts.py:shouts", "--decode", "greedy,top_a.py:TopA=0.2",
       "--preset", "small", "--seeds", "0,1", "--quiet", "--set", "trainer.steps=2",
       "tiny:backbone.width=8", "towns:trainer.batch_size=4", f"{BUILT_IN}:trainer.batch_size=2",
       "soft:trainer.lr=0.01", "evaluation.rows=4", "trainer.max_target=8")  # fmt: skip


def arguments(**change):
    given = {"tasks": ("towns.py:Towns",), "methods": ("soft.py:Soft",), "backbone": "tiny.py:tiny", "preset": "small"}
    return RunArguments(**{**given, **change})


def board(*arguments):
    ended = call("report", "--json", *arguments)
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


def key(**change):
    (cell,) = make_plan(arguments(**change)).cells
    return cell.key
