"""Rows: a split as a model sees it, tokenised once for all processes and runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bench.base.keys import key_of
from bench.tasks.encode.codec import Codec, Encoded, byte_count
from bench.tasks.encode.stream import blocks, windows
from bench.tasks.encode.token_store import FORMAT, Bins, Rows, Wanted
from bench.tasks.fetch.sources import cache_folder

if TYPE_CHECKING:
    from bench.tasks.core.task import Task

__all__ = ["MOST_IN_MEMORY", "rows_of"]

MOST_IN_MEMORY = 1 << 24
"""Characters of a split whose tokens need no file."""


def rows_of(
    task: Task, split: str, codec: Codec, *, prompts: bool = False, exemplars: Mapping[str, str] | None = None
) -> Rows:
    """Return every row of a split.

    Args:
        task: with its data.
        split: its name.
        codec: of the backbone.
        prompts: open-ended rows become prompt and true continuation, in place of nothing and the whole text.
        exemplars: text by row id, for methods that read exemplars.
    """
    if task.stream is not None:
        documents = _kept(task, split, codec, partial(_documents, task, split, codec), ["documents"])
        return windows(documents, split, codec, task.stream) if prompts else blocks(documents, split, codec)
    make = partial(_encoded, task, split, codec, prompts, exemplars)
    return _kept(task, split, codec, make, [prompts, sorted(exemplars.items()) if exemplars else None])


def _encoded(
    task: Task, split: str, codec: Codec, prompts: bool, exemplars: Mapping[str, str] | None, start: int, stop: int
) -> list[Encoded]:
    return task.encode(task.split(split).examples[start:stop], codec, prompts=prompts, exemplars=exemplars)


def _documents(task: Task, split: str, codec: Codec, start: int, stop: int) -> list[Encoded]:
    """Documents with their text as it is: no token is added between them."""
    examples = task.split(split).examples[start:stop]
    texts = [example.target for example in examples]
    return [Encoded(e.id, (), tuple(ids), n_words=task.words_of(text), n_bytes=byte_count(text))
            for e, text, ids in zip(examples, texts, codec.ids(texts), strict=True)]  # fmt: skip


def _kept(
    task: Task, split: str, codec: Codec, make: Callable[[int, int], Sequence[Encoded]], content: list[Any]
) -> Bins:
    """Make rows in memory, or in the cache where they are many."""
    examples = task.split(split).examples
    if sum(len(e.source) + len(e.target) for e in examples) <= MOST_IN_MEMORY:
        return Bins.of(make(0, len(examples)))
    manifest = task.manifest(split)
    key = key_of([FORMAT, task.name, task.version, task.given, manifest.sha256, codec.identity, content])
    return Bins.stored(
        cache_folder() / "bins" / f"{task.name}-{split}-{key}", Wanted(len(examples), make, len(codec.tokenizer))
    )
