"""Exemplar probes: trained cells write for fixed sources under given exemplars, shown beside what the paper prints."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bench.config.arguments import RunArguments, whole_numbers
from bench.errors import BenchError, UsageError, did_you_mean
from bench.figures import listed_as, planned_cell
from bench.reproduced import asks_before, confirm_to_do, only_planned

if TYPE_CHECKING:
    from bench.leaderboards.figures.exemplar_probe import ExemplarProbe

__all__ = ["is_probe", "probe_list", "reproduce_probes"]


def is_probe(name: str) -> bool:
    """Return whether a name on the command line is of a probe."""
    from bench.leaderboards.figures.exemplar_probe import probes

    return name.lower() in probes()


def probe_list() -> list[dict[str, Any]]:
    """Return every probe and what it needs, as `bench reproduce` lists tables."""
    from bench.leaderboards.figures.exemplar_probe import probes

    listed = []
    for probe in probes().values():
        cells = sum(len(source.exemplars) for source in probe.sources)
        listed.append(listed_as(probe, cells, [probe.task], list(probe.methods)))
    return listed


def reproduce_probes(names: Sequence[str], given: argparse.Namespace) -> int:
    """Print probes with what our cells write; return the exit code.

    Args:
        names: their addresses.
        given: what was typed after `bench reproduce`.

    Raises:
        UsageError: there is no such probe.
    """
    from bench.leaderboards.figures.exemplar_probe import probes
    from bench.leaderboards.render.exemplar_probe import probe_content, probe_markdown, probe_text

    code = 0
    shown: list[Any] = []
    chosen: list[ExemplarProbe] = []
    for name in map(str.lower, names):
        if name not in probes():
            raise UsageError(f"no probe of exemplars '{name}'{did_you_mean(name, probes())}")
        chosen.append(probes()[name])
    if asks_before(given):
        confirm_to_do(set[str]().union(*(to_do_of(probe, only_planned(given)) for probe in chosen)), given)
    for probe in chosen:
        texts, reasons, failed = written_by_cells(probe, given)
        code = max(code, failed)
        if given.json:
            shown.append(probe_content(probe, texts, reasons))
        elif given.markdown:
            shown.append(probe_markdown(probe, texts, reasons))
        else:
            shown.append(probe_text(probe, texts, reasons))
    if given.dry_run:
        return code
    if given.json:
        sys.stdout.write(json.dumps({"probes": shown}, indent=1, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("\n".join(shown))
    return code


def to_do_of(probe: ExemplarProbe, given: argparse.Namespace) -> set[str]:
    """Return the keys of the cells of a probe that are to be made; what cannot be planned is told later."""
    to_do = set[str]()
    for method in probe.methods:
        for seed in whole_numbers(given.seeds.split(",")):
            with suppress(BenchError):
                to_do |= planned_cell(arguments_for(probe, method, seed, given), given, probe.address).to_do
    return to_do


def written_by_cells(
    probe: ExemplarProbe, given: argparse.Namespace
) -> tuple[dict[str, list[list[str]]], dict[str, str], int]:
    """Return what the cell of each method and seed writes, why others write nothing, and the exit code."""
    texts: dict[str, list[list[str]]] = {}
    reasons: dict[str, str] = {}
    code = 0
    for method in probe.methods:
        for seed in whole_numbers(given.seeds.split(",")):
            writer = f"{method}, seed {seed}"
            try:
                planned = planned_cell(arguments_for(probe, method, seed, given), given, probe.address)
                code = max(code, planned.code)
                if planned.failed or planned.cell.folder.trained() is None:
                    reasons[writer] = planned.failed or "not run"
                elif not given.dry_run:
                    texts[writer] = written(planned.cell, probe)
            except BenchError as error:
                reasons[writer] = str(error)
    return texts, reasons, code


def arguments_for(probe: ExemplarProbe, method: str, seed: int, given: argparse.Namespace) -> RunArguments:
    """Return what `bench run` would be asked for."""
    backbone = None
    if given.preset == "paper":
        backbone = probe.backbone
    return RunArguments(
        tasks=(probe.task,),
        methods=(method,),
        seeds=(seed,),
        backbone=backbone,
        preset=given.preset,
        sets=tuple(text for texts in given.sets for text in texts),
        decode=probe.decoding,
        limit=given.limit,
        data_dir=given.data_dir,
        results=given.results,
    )


def written(cell: Any, probe: ExemplarProbe) -> list[list[str]]:
    """Return what a trained cell writes: for each source a text for each exemplar.

    Raises:
        MissingError: its checkpoint is not there.
        StoreError: its checkpoint is damaged.
    """
    from bench.config.decoding import parse
    from bench.own_source import loaded_model, texts

    objective, codec = loaded_model(cell)
    (decoding,) = parse(probe.decoding)
    by_source = []
    for source in probe.sources:
        exemplars = [in_form(probe.task, text) for text in source.exemplars]
        by_source.append(texts(objective, codec, cell, in_form(probe.task, source.text), exemplars, decoding))
    return by_source


def in_form(task: str, text: str) -> str:
    """Return a text as the rows of a task are written."""
    from bench.tasks.files.gigaword_form import gigaword_form

    if task == "gigaword":
        return gigaword_form(text)
    return text
