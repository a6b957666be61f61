"""Let stored models write for a source that the user has typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.base.seeds import seed_of
from bench.board.samples import Held
from bench.config.decoding import parse
from bench.errors import BenchError
from bench.generation.generation import generate
from bench.integrations.folder import trained_objective
from bench.leaderboards.samples import Sample

__all__ = ["sample_of"]


def sample_of(source: str, side: Mapping[str, Held], decoding: str) -> tuple[list[Sample], list[str]]:
    """Return what each method writes for a source, and why a method writes nothing.

    Args:
        source: the text to write for, or to continue.
        side: the stored outputs whose models write, by method, from `side_by_side`.
        decoding: how to decode; as the stored outputs where it is empty.
    """
    written, notes = {}, []
    for method, held in side.items():
        if "model" not in held.record:
            notes.append(f"{method} writes nothing: it has no model")
            continue
        try:
            objective, codec = trained_objective(held.cell)
            (ids,) = codec.ids([source])
            batch: Any = codec.prompt_batch([codec.encode("0", ids, [], ends=False)])
            how = parse(decoding or held.of["decoding"]["name"])[0]
            seeds = [seed_of(held.record["config"]["seed"], "write")]
            (tokens,) = generate(objective, batch, how, held.record["config"]["trainer"]["max_target"], seeds)
            written[method] = str(codec.tokenizer.decode(tokens, skip_special_tokens=True)).strip()
        except BenchError as error:
            notes.append(f"{method} writes nothing: {error}")
    if not written:
        return [], notes
    return [Sample("your source", source, "", written)], notes
