"""What every backbone must keep to: the library's distribution, padding, a cache, tokens, and MLE's contract on it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import nn

from bench.base.entries import Loaded
from bench.generation.row_cache import new_cache
from bench.models.backbones.backbone import Backbone
from bench.models.backbones.exactness import TOLERANCE
from bench.models.backbones.forward_check import DRAWS, cached_difference, forward_differences
from bench.models.core.objective import Objective
from bench.testing.checks import Check, OnResult, module_file, run_check
from bench.testing.contract import check_objective
from bench.testing.method_of import method_of
from bench.testing.report import Failed, NotApplicable, Report, Result
from bench.testing.subject import Subject as MethodSubject

__all__ = ["CHECKS", "check_backbone_entry"]

ARCHITECTURES = ("decoder-only", "encoder-decoder")


@dataclass
class Subject:
    """A backbone, made small where it has options for it, over the built-in sample."""

    loaded: Loaded
    sets: tuple[str, ...] = ()

    def objective(self, seed: int = 0) -> Objective:
        """Make MLE over it, in float32, with the weights it starts from."""
        return MethodSubject(method_of("mle"), self.loaded.asked, seed, self.sets).objective(torch.float32, fresh=True)

    @cached_property
    def backbone(self) -> Backbone:
        """The backbone of one seed."""
        return self.objective().backbone


def named(subject: Subject) -> str:
    """The factory takes what it is given, and says which architecture it makes."""
    entry = subject.loaded.value
    if entry.architecture and entry.architecture not in ARCHITECTURES:
        raise Failed(
            f"an architecture among {', '.join(ARCHITECTURES)}", f"'{entry.architecture}'", "correct its entry"
        )
    parameters = inspect.signature(entry.load()).parameters.values()
    positional = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    if positional != ["name", "texts", "seed"]:
        came = f"({', '.join(positional)})"
        raise Failed("(name, texts, seed, *, options)", came, "make every option keyword-only, for --set")
    if subject.backbone.architecture not in ARCHITECTURES:
        came = f"'{subject.backbone.architecture}'"
        raise Failed(f"an architecture among {', '.join(ARCHITECTURES)}", came, "derive from Causal or EncoderDecoder")
    size = sum(weight.numel() for weight in subject.backbone.parameters())
    return f"{subject.backbone.architecture}, {size:,} parameters"


def follows_its_seed(subject: Subject) -> str:
    """One seed gives one start, another seed another one."""
    first, again = weights(subject.objective()), weights(subject.objective())
    if not torch.equal(first, again):
        raise Failed("the same weights of the same seed", "others", "call torch.manual_seed(seed) before the model")
    if subject.loaded.value.hub:
        raise NotApplicable("its weights are given")
    if torch.equal(first, weights(subject.objective(seed=1))):
        raise Failed("other weights of another seed", "the same", "use the seed")
    return f"{len(first):,} weights"


def weights(objective: Objective) -> torch.Tensor:
    """Return all weights of a backbone as one row."""
    return torch.cat([weight.detach().flatten() for weight in objective.backbone.parameters()])


def has_tokens(subject: Subject) -> str:
    """The tokenizer fits the head, knows padding and end, and keeps the task's markers whole."""
    backbone, tokenizer = subject.backbone, subject.backbone.tokenizer
    rows = backbone.vocabulary_size
    if len(tokenizer) > rows:
        raise Failed(f"at most {rows} tokens, the rows of the head", str(len(tokenizer)), "resize the embeddings")
    for name in ("pad_token_id", "eos_token_id"):
        if getattr(tokenizer, name) is None:
            raise Failed(f"a {name}", "none", "set it on the tokenizer")
    markers = MethodSubject(method_of("mle"), subject.loaded.asked, 0, subject.sets).cell.task.markers
    for marker in markers:
        if len(tokenizer(marker, add_special_tokens=False)["input_ids"]) != 1:
            raise Failed(f"one token for the marker '{marker}'", "several", "add texts.markers as special tokens")
    return f"{len(tokenizer)} tokens, {len(markers)} markers"


def is_the_librarys(subject: Subject) -> str:
    """Its head over its states has the distribution of the model's own forward, padded or not."""
    if type(subject.backbone.model).forward is nn.Module.forward:
        raise NotApplicable("its model has no forward of its own to compare with")
    worst = min((forward_differences(subject.backbone, draw) for draw in DRAWS), key=lambda each: max(each.values()))
    place = max(worst, key=lambda name: worst[name])
    if worst[place] > TOLERANCE:
        raise Failed(
            f"the log-probabilities of the model's own forward to {TOLERANCE:.0e} nats",
            f"{worst[place]:.2g} in {place}",
            "states should end where the model's own head begins; see bench.models.backbones.logits",
        )
    return f"{worst[place]:.1e} nats"


def keeps_a_cache(subject: Subject) -> str:
    """Reading token by token with a cache gives what reading the whole text gives."""
    difference = min(cached_difference(subject.backbone, new_cache, draw) for draw in DRAWS)
    if difference > TOLERANCE:
        raise Failed(f"the same log-probabilities to {TOLERANCE:.0e} nats", f"{difference:.2g}", "see `extend`")
    return f"{difference:.1e} nats"


CHECKS = (
    Check("names", "is made by a factory that says its architecture", named),
    Check("seed", "its seed decides its weights", follows_its_seed),
    Check("tokens", "its tokenizer fits its head and the task", has_tokens),
    Check("forward", "has the distribution of the library's own forward", is_the_librarys),
    Check("extend", "with a cache it reads the same", keeps_a_cache),
)


def check_backbone_entry(
    loaded: Loaded, sets: tuple[str, ...] = (), quick: bool = False, on_result: OnResult = lambda result: None
) -> Report:
    """Check a backbone alone, and then MLE's contract on it.

    Args:
        loaded: what its name stands for.
        sets: options as typed after --set, e.g. `backbone.width=32`.
        quick: leave out what starts other processes.
        on_result: told each result as soon as it is there.
    """
    subject, results = Subject(loaded, sets), list[Result]()
    file = module_file(loaded.value.load())
    with torch.random.fork_rng(devices=[]):
        for check in CHECKS:
            result = run_check(check, subject, "", file)
            results.append(result)
            on_result(result)
            if results[0].state == "failed":
                return Report(loaded.name, tuple(results))
    report = check_objective("mle", backbones=[loaded.asked], quick=quick, sets=sets, on_result=on_result)
    return Report(loaded.name, (*results, *report.results))
