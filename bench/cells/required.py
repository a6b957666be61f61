"""Required evaluations of a run, and the keys of their predictions. Nothing is imported that trains or generates."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from bench.base.keys import key_of
from bench.cells.forgetting import FORGETTING, general_text
from bench.config.config import CellConfig
from bench.config.resolve import EvaluationVariant, Method
from bench.decodings.core.decoding import Decoding
from bench.decodings.samplers import TopK
from bench.errors import UsageError
from bench.models.backbones import is_pretrained
from bench.models.backbones.hub import architecture
from bench.tasks.core.example import Example
from bench.tasks.core.task import Task
from bench.tasks.encode.batches import chosen

VERSION = 3
"""In the key of all predictions; raise it when the predictions of the same model would differ."""

LADDER = (1, 2, 3, 5, 10, 20, 30, 50, 70, 100, 200, 300, 500, 1000)
"""The k of top-k sampling that a matched control tries."""


@dataclass(frozen=True)
class Evaluation:
    """One evaluation of one trained run.

    Args:
        kind: `likelihood`, `probe`, `spectrum`, `generation` or `forgetting`.
        ids: the rows, a declared subset or a whole split.
        decoding: for generation only.
        of_rows: hash of the ids of the subset or split this belongs to (a probe takes one row a prompt of them).
        exemplars: `own` or, for a control, `swapped`: another row's; empty for methods that read none.
        shown_as: the method its numbers stand under, where that is a control of the trained one.
        references: whether generated rows carry the true continuation's tokens too, as open-ended tasks want.
        cut: where rows are cut from running text, which the tokenizer decides, how many of them; 0 for all. `ids` is
            empty then, and known once the model is.
        full: what `full` of a probe is for a method of the user's own, `head` or `cache`; empty for built-in methods,
            whose older probes are read as today's (`bench.store.former`).
        other_text: hash of the rows where they are not of the task; empty for rows of the task.
        sampling_seed: what texts are drawn with, where that is another seed than the training's.
    """

    kind: str
    split: str
    ids: tuple[str, ...]
    batch_size: int
    max_new_tokens: int = 0
    decoding: Decoding | None = None
    seed: int = 0
    precision: str = "32-true"
    of_rows: str = ""
    exemplars: str = ""
    shown_as: str = ""
    references: bool = False
    cut: int | None = None
    full: str = ""
    other_text: str = ""
    sampling_seed: int | None = None


def rows_key_of(trained_key: str, task: Task, what: Evaluation) -> str:
    """Return the hash of everything that decides the rows of an evaluation."""
    content = evaluation_content(what)
    content |= {"trained": trained_key, "version": VERSION, "split_sha256": task.manifest(what.split).sha256}
    return key_of(content)


def evaluation_content(what: Evaluation) -> dict[str, Any]:
    """Return an evaluation as content for a key and a rows file; the ids enter by their hash."""
    content = asdict(replace(what, ids=()))  # `asdict` would copy every id
    content["ids"] = {"n": len(what.ids), "sha256": key_of(list(what.ids))}
    for name, default in (("cut", None), ("sampling_seed", None), ("full", ""), ("other_text", "")):
        if content[name] == default:  # stored results have no such name in their keys
            del content[name]
    if what.decoding is not None:
        content["decoding"] = {"name": what.decoding.text, **what.decoding.as_dict()}
    return content


def required_evaluations(config: CellConfig, method: Method, task: Task) -> Sequence[Evaluation]:
    """Return the evaluations of a run: likelihood, probe and spectrum once, generation once per decoding and seed.

    A control that reads the run of another method requires only what it would see differently.
    """
    evaluation, variant = config.evaluation, method.evaluation_variant
    if task.stream is None:
        cut = None
        examples = task.evaluation_examples(evaluation.split, evaluation.rows)
        of_rows = key_of([example.id for example in examples])
    else:  # rows are cut from running text, and known once the tokenizer is
        cut, examples = evaluation.rows or 0, []
        of_rows = key_of(["cut", cut])
    shared = Evaluation(
        kind="",
        split=evaluation.split,
        ids=(),
        batch_size=evaluation.batch_size,
        seed=config.seed,
        precision=config.trainer.precision,
        of_rows=of_rows,
        exemplars=variant.exemplars if method.reads_exemplars else "",
        shown_as=method.name if method.only_reads else "",
        cut=cut,
    )
    evaluations = []
    for kind in kinds_of(method, task):
        what = replace(shared, kind=kind, ids=ids_of(kind, config, task, examples))
        if kind == "probe" and "source_sha256" in method.code:
            what = replace(what, full="cache" if getattr(method.kind, "reads_cache", False) else "head")
        if kind != "generation":
            evaluations.append(what)
            continue
        what = replace(what, references=task.info.open_ended)
        for decoding in decodings_of(config, variant):
            longest = decoding.max_new_tokens or config.trainer.max_target
            texts = replace(what, decoding=decoding, max_new_tokens=longest)
            seeds = evaluation.seeds_of_texts(config.seed) if decoding.samples else [config.seed]
            evaluations += [replace(texts, sampling_seed=None if seed == config.seed else seed) for seed in seeds]
    if can_forget(config) and any(what.kind == "likelihood" for what in evaluations) and (rows := general_text()):
        ids, digest = tuple(row.id for row in rows), key_of([[row.id, row.target] for row in rows])
        evaluations.append(replace(shared, kind=FORGETTING, ids=ids, cut=None, exemplars="", other_text=digest))
    return evaluations


def can_forget(config: CellConfig) -> bool:
    """Return whether a run starts from a pretrained language model, whose knowledge of general text it may lose."""
    if "backbone" in config.plugins or not is_pretrained(config.backbone):
        return False
    return architecture(config.backbone, str(config.backbone_options.get("path", ""))) == "decoder-only"


def ids_of(kind: str, config: CellConfig, task: Task, examples: Sequence[Example]) -> tuple[str, ...]:
    """Return the rows of a kind of evaluation: one for each prompt of a probe, a declared number of a spectrum."""
    if kind in ("probe", "spectrum"):
        examples = task.probe_examples(examples)
    ids = [example.id for example in examples]
    if kind == "spectrum":
        ids = chosen(ids, config.evaluation.spectrum_rows)
    return tuple(ids)


def kinds_of(method: Method, task: Task) -> Sequence[str]:
    """Return the kinds of evaluation a method has: a baseline and another decoding of a run only write."""
    if method.is_baseline or method.evaluation_variant.distribution or method.evaluation_variant.matched:
        return [kind for kind in task.info.evaluations if kind == "generation"]
    return task.info.evaluations


def decodings_of(config: CellConfig, variant: EvaluationVariant) -> Sequence[Decoding]:
    """Return the decodings of a run as a control reads it; those that cannot be read so are left out."""
    if variant.matched:
        longest = config.decodings[0].max_new_tokens
        return [TopK(k=k, max_new_tokens=longest) for k in LADDER]
    if not variant.distribution:
        return config.decodings
    decodings = []
    for decoding in config.decodings:
        with suppress(UsageError):
            decodings.append(replace(decoding, distribution=variant.distribution))  # type: ignore[arg-type]
    return decodings
