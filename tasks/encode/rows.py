"""Encoded rows: a split as a model sees it, tokenised once for all processes and runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Protocol

from bench.base.keys import key_of
from bench.errors import StoreError
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Manifest, Split
from bench.tasks.core.mapped_examples import MOST_IN_MEMORY, size_of
from bench.tasks.core.progress import OnRows
from bench.tasks.encode.codec import Codec, Encoded, byte_count
from bench.tasks.encode.stream import Stream, blocks, windows
from bench.tasks.encode.token_store import FORMAT, TokenStore, Wanted
from bench.tasks.fetch.sources import cache_folder

__all__ = ["rows_of"]


ROWS = 1_024  # made at a time
DOCUMENTS = 64  # of running text; one may be as long as a thousand rows


class EncodableTask(Protocol):
    """What is needed of a task to encode its splits; `bench.tasks.core.task.Task` has all of it."""

    name: str
    version: ClassVar[int]
    given: Mapping[str, Any]
    stream: Stream | None
    training_blocks: bool
    on_rows: OnRows

    def split(self, name: str, /) -> Split:
        """Return the rows of a split."""

    def manifest(self, split: str, /) -> Manifest:
        """Return what the rows of a split are."""

    def words_of(self, text: str, /) -> int:
        """Return how many words a text has."""

    def encode(
        self,
        examples: Sequence[Example],
        codec: Codec,
        *,
        prompts: bool = False,
        exemplars: Mapping[str, str] | None = None,
    ) -> list[Encoded]:
        """Turn rows into token ids."""


def rows_of(
    task: EncodableTask,
    split: str,
    codec: Codec,
    *,
    prompts: bool = False,
    exemplars: Mapping[str, str] | None = None,
) -> TokenStore:
    """Return every row of a split.

    Args:
        task: with its data.
        split: its name.
        codec: of the backbone.
        prompts: open-ended rows become prompt and true continuation, in place of nothing and the whole text.
        exemplars: text by row id, for methods that read exemplars.
    """
    if task.stream is not None or (task.training_blocks and split == "train"):
        documents = _stored(task, split, codec, partial(_documents, task, split, codec), ["documents"], DOCUMENTS)
        if prompts and task.stream is not None:
            return windows(documents, split, codec, task.stream)
        return blocks(documents, split, codec)
    make = partial(_encoded, task, split, codec, prompts, exemplars)
    read = sorted(exemplars.items()) if exemplars else None
    return _stored(task, split, codec, make, [prompts, read])


def _encoded(
    task: EncodableTask,
    split: str,
    codec: Codec,
    prompts: bool,
    exemplars: Mapping[str, str] | None,
    start: int,
    stop: int,
) -> list[Encoded]:
    return task.encode(task.split(split).examples[start:stop], codec, prompts=prompts, exemplars=exemplars)


def _documents(task: EncodableTask, split: str, codec: Codec, start: int, stop: int) -> list[Encoded]:
    """Return documents with their text as it is: no token is added between them."""
    examples = task.split(split).examples[start:stop]
    ids = codec.ids([example.target for example in examples])
    documents = []
    for example, tokens in zip(examples, ids, strict=True):
        n_words, n_bytes = task.words_of(example.target), byte_count(example.target)
        documents.append(Encoded(example.id, (), tuple(tokens), n_words=n_words, n_bytes=n_bytes))
    return documents


def _made(make: Callable[[int, int], Sequence[Encoded]], n: int, chunk: int, on_rows: OnRows) -> Iterator[Encoded]:
    """Yield n rows, made some at a time."""
    for start in range(0, n, chunk):
        yield from make(start, min(start + chunk, n))
        on_rows("rows encoded", min(start + chunk, n), n)


def _stored(
    task: EncodableTask,
    split: str,
    codec: Codec,
    make: Callable[[int, int], Sequence[Encoded]],
    content: list[Any],
    chunk: int = 0,
) -> TokenStore:
    """Make rows in memory, or in the cache where they are many.

    Args:
        task: with its data.
        split: its name.
        codec: of the backbone.
        make: makes rows start to stop.
        content: what else decides the rows; a part of the cache's key.
        chunk: rows made at a time; 0 for all that stay in memory, and a thousand of others.
    """
    examples = task.split(split).examples
    if size_of(examples) <= MOST_IN_MEMORY:
        return TokenStore.of(_made(make, len(examples), chunk or max(1, len(examples)), task.on_rows))
    manifest = task.manifest(split)
    key = key_of([FORMAT, task.name, task.version, task.given, manifest.sha256, codec.identity, content])
    folder = cache_folder() / "bins" / f"{task.name}-{split}-{key}"
    try:
        wanted = Wanted(len(examples), make, len(codec.tokenizer))
        return TokenStore.stored(folder, wanted, chunk or ROWS, task.on_rows)
    except OSError as error:
        raise StoreError(
            f"cannot keep tokens in '{folder}' ({error.strerror or error}); free space there or choose another folder "
            f"with BENCH_CACHE"
        ) from error
