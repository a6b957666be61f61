"""`bench perf`: what each method's head and step cost, as ratios, with differences in value beside them."""

from __future__ import annotations

import argparse
import json
from typing import Any

from bench.base.entries import split_names
from bench.cli_options import json_option, positive
from bench.errors import UsageError

NUMBERS = {"batch": 4, "positions": 256, "width": 512, "vocabulary": 30000, "repeats": 5, "threads": 1}
"""Sizes and counts that can be chosen, with their defaults."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench perf`."""
    parser.add_argument("--method", action="append", metavar="NAMES", help="default: all")
    for name, default in NUMBERS.items():
        parser.add_argument(f"--{name}", type=positive, default=default, metavar="N", help=f"default {default}")
    parser.add_argument("--layers", type=positive, default=0, metavar="N", help="whole steps of this depth too")
    parser.add_argument("--samples", type=positive, default=0, metavar="N", help="so many texts too, with --layers")
    parser.add_argument("--tokens", type=positive, default=256, metavar="N", help="of each such text; default 256")
    parser.add_argument("--decode", default="nucleus=0.95", metavar="NAME", help="of such texts; default nucleus=0.95")
    parser.add_argument("--memory", action="store_true", help="peak memory of each form too, in fresh processes")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda where there is one")
    parser.add_argument("--precision", choices=["32-true", "bf16-mixed"], default="32-true", help="of steps and texts")
    json_option(parser)


def run(given: argparse.Namespace) -> int:
    """Measure and print; return the exit code."""
    import torch

    from bench.config.resolve import method_names
    from bench.perf.heads import Size
    from bench.perf.measure import device, has_head, measure_head, measure_step
    from bench.perf.samples import measure_samples
    from bench.perf.steps import Place

    if given.samples and not given.layers:
        raise UsageError("--samples needs a body to write them: say --layers too, e.g. --layers 12")
    torch.set_num_threads(given.threads)
    size = Size(given.batch, given.positions, given.width, given.vocabulary)
    names = [name for name in method_names(split_names(given.method) or ["all"], controls=False) if has_head(name)]
    place = Place(device(given.device), given.precision)
    content: dict[str, Any] = {
        "size": vars(size),
        "threads": torch.get_num_threads(),
        "device": place.device.type,
        "precision": place.precision,
        "layers": given.layers,
        "head": measure_head(names, size, given.repeats, given.memory, place.device),
        "step": [],
        "samples": [],
    }
    if given.layers:
        content["step"] = measure_step(names, size, given.layers, given.repeats, place)
    if given.samples:
        content["samples"] = measure_samples(
            names, size, given.layers, place, samples=given.samples, tokens=given.tokens, decoding=given.decode
        )
    if given.json:
        print(json.dumps(content, indent=1))
    else:
        print(text_of(content))
    return 0


def text_of(content: dict[str, Any]) -> str:
    """Return the measurements as lines."""
    from bench.leaderboards.render.text.aligned import aligned

    size = content["size"]
    lines = [
        f"head: {size['batch']} x {size['positions']} positions, width {size['width']}, vocabulary "
        f"{size['vocabulary']:,}; {content['threads']} thread(s), {content['device']}, shortest of several turns",
        *aligned(("", "ms", "x mle", "MB", "d loss", "d grad"), map(head_cells, content["head"])),
        "x mle: time over that of 'mle fused'; MB: peak above the gradients, alone in a fresh process; "
        "d: relative difference to the method's plain form",
    ]
    if content["step"]:
        headings = ("", "ms", "x mle", "tokens/s", "TFLOP/s", "MB", "kernels", "waits")
        lines.append(f"step: the same with {content['layers']} GPT-2 layers and AdamW, {content['precision']}")
        lines += aligned(headings, map(step_cells, content["step"]))
    if content["samples"]:
        first = content["samples"][0]
        lines.append(
            f"texts: {first['samples']:,} of {first['tokens']} tokens, {first['decoding']}, "
            f"{size['batch']} at once, {content['precision']}"
        )
        lines += aligned(("", "s", "x mle", "tokens/s"), map(sample_cells, content["samples"]))
    return "\n".join(lines)


def head_cells(row: dict[str, Any]) -> list[str]:
    """Return the cells of a head."""
    differences = [f"{row['loss_difference']:.0e}", f"{row['gradient_difference']:.0e}"]
    return [*times_of(row), number(row["peak_mb"]), *differences]


def step_cells(row: dict[str, Any]) -> list[str]:
    """Return the cells of a whole step."""
    speed = [f"{row['tokens_per_second']:,.0f}", f"{row['flops_per_second'] / 1e12:.2f}"]
    return [*times_of(row), *speed, number(row["peak_mb"]), number(row["kernels"]), number(row["waits"])]


def sample_cells(row: dict[str, Any]) -> list[str]:
    """Return the cells of texts."""
    return [row["what"], f"{row['seconds']:.1f}", f"{row['of_mle']:.2f}", f"{row['tokens_per_second']:,.0f}"]


def number(value: float | None) -> str:
    """Return a whole number, or nothing where none was measured."""
    if value is None:
        return ""
    return f"{value:,.0f}"


def times_of(row: dict[str, Any]) -> list[str]:
    """Return what was measured, its milliseconds and its time over that of plain cross-entropy."""
    return [row["what"], milliseconds(row["seconds"]), f"{row['of_mle']:.2f}"]


def milliseconds(seconds: float) -> str:
    """Return a time in milliseconds, to two digits where it is below ten.

    >>> milliseconds(0.00034), milliseconds(0.0061), milliseconds(0.25)
    ('0.34', '6.1', '250')
    """
    thousand = seconds * 1000
    if thousand < 10:
        return f"{thousand:.2g}"
    return f"{thousand:.0f}"
