"""`bench perf`: what each method's head and step cost, as ratios, with differences in value beside them."""

from __future__ import annotations

import argparse
import json
from typing import Any

from bench.base.entries import split_names
from bench.cli_options import json_option, positive

NUMBERS = {"batch": 4, "positions": 256, "width": 512, "vocabulary": 30000, "repeats": 5, "threads": 1}
"""Sizes and counts that can be chosen, with their defaults."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench perf`."""
    parser.add_argument("--method", action="append", metavar="NAMES", help="default: all")
    for name, default in NUMBERS.items():
        parser.add_argument(f"--{name}", type=positive, default=default, metavar="N", help=f"default {default}")
    parser.add_argument("--layers", type=positive, default=0, metavar="N", help="whole steps of this depth too")
    parser.add_argument("--memory", action="store_true", help="peak memory of each form too, in fresh processes")
    json_option(parser)


def run(given: argparse.Namespace) -> int:
    """Measure and print; return the exit code."""
    import torch

    from bench.config.resolve import method_names
    from bench.perf.heads import Size
    from bench.perf.measure import device, has_head, measure_head, measure_step

    torch.set_num_threads(given.threads)
    size = Size(given.batch, given.positions, given.width, given.vocabulary)
    names = [name for name in method_names(split_names(given.method) or ["all"], controls=False) if has_head(name)]
    head = measure_head(names, size, given.repeats, given.memory)
    step = []
    if given.layers:
        step = measure_step(names, size, given.layers, given.repeats)
    content = {
        "size": vars(size),
        "threads": torch.get_num_threads(),
        "device": device().type,
        "head": head,
        "layers": given.layers,
        "step": step,
    }
    if given.json:
        print(json.dumps(content, indent=1))
    else:
        print(text_of(content))
    return 0


def text_of(content: dict[str, Any]) -> str:
    """Return the measurements as lines."""
    size = content["size"]
    lines = [
        f"head: {size['batch']} x {size['positions']} positions, width {size['width']}, vocabulary "
        f"{size['vocabulary']:,}; {content['threads']} thread(s), {content['device']}, shortest of several turns",
        f"{'':36}{'ms':>8}{'x mle':>8}{'MB':>8}{'d loss':>10}{'d grad':>10}",
    ]
    for row in content["head"]:
        memory = ""
        if row["peak_mb"] is not None:
            memory = f"{row['peak_mb']:.0f}"
        differences = f"{row['loss_difference']:10.0e}{row['gradient_difference']:10.0e}"
        lines.append(f"{times_of(row)}{memory:>8}{differences}")
    lines.append(
        "x mle: time over that of 'mle fused'; MB: peak above the gradients, alone in a fresh process; "
        "d: relative difference to the method's plain form"
    )
    if content["step"]:
        lines.append(f"step: the same with {content['layers']} GPT-2 layers and AdamW")
        lines += [times_of(row) for row in content["step"]]
    return "\n".join(lines)


def times_of(row: dict[str, Any]) -> str:
    """Return what was measured, its milliseconds and its time over that of plain cross-entropy."""
    return f"{row['what']:36}{row['seconds'] * 1000:8.0f}{row['of_mle']:8.2f}"
