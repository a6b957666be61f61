"""Task: the base of every task. A task says what its rows are; splits, statuses, encoding and batches are done here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from torch import Tensor

from bench.base.keys import key_of
from bench.base.lightning import LightningDataModule
from bench.base.machine import cache_root
from bench.base.network import is_commit
from bench.base.options import check_constructor
from bench.errors import DataError
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Manifest, Split, as_published, plain, refuse_repeated_ids
from bench.tasks.core.mapped_examples import MOST_IN_MEMORY, MappedExamples, held
from bench.tasks.core.progress import OnRows, counted, no_progress
from bench.tasks.encode.batches import Epoch, EvaluationEpoch, MicroBatches, Order, chosen
from bench.tasks.encode.codec import Codec, Encoded, byte_count
from bench.tasks.encode.stream import Stream, blocks, windows
from bench.tasks.encode.token_store import FORMAT, Array, TokenStore
from bench.tasks.encode.tokenizers import train_bpe, word_tokenizer
from bench.tasks.fetch.hub_copies import HUB, origin_of
from bench.tasks.fetch.sources import Source

if TYPE_CHECKING:
    from bench.tasks.files.user_data import UserData

Row = TypeVar("Row")


@dataclass(frozen=True, kw_only=True)
class TaskInfo:
    """What a reader wants to know of a task before running it.

    Args:
        source: link to the publisher.
        licence: of the data, as stated by its publisher.
        sizes: official rows of each split.
        evaluations: of `likelihood`, `probe`, `spectrum`, `generation`.
        metrics: metric families that score it.
        fields: extra fields its rows have, which some methods need.
        language: ISO 639-1 code.
        folders: other names that its folder may have below a data folder.
        columns: of its leaderboard, in this order, for a user's task; a built-in one has them in its entry.
        primary: the column that rows are sorted by, likewise.
        open_ended: the loss is on the whole text, and generation continues a prompt; such tasks have no source.
    """

    source: str
    licence: str
    sizes: Mapping[str, int]
    evaluations: tuple[str, ...]
    metrics: tuple[str, ...]
    fields: frozenset[str] = frozenset()
    language: str = "en"
    open_ended: bool = False
    folders: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    primary: str = ""

    @property
    def all_fields(self) -> frozenset[str]:
        """The task's own fields, and an exemplar for every row that has a source."""
        return self.fields if self.open_ended else self.fields | {"exemplar"}


def no_exemplars(split: str) -> Mapping[str, str] | None:
    """Return None: rows have no exemplars."""
    return None


@dataclass(frozen=True)
class LoaderConfig:
    """Which batches a task gives to a trainer, as `Task.setup_run` takes it.

    Args:
        codec: of the objective's backbone.
        batch: rows of one optimiser step, over all ranks and micro-batches.
        seed: of the order of training rows.
        exemplars: returns the exemplar of each row of a split by id, for methods that read exemplars.
        evaluation_batch: rows of a batch that is evaluated.
        evaluation_rows: rows that are evaluated of each split, chosen by id; None for all.
    """

    codec: Codec
    batch: int = 32
    seed: int = 0
    exemplars: Callable[[str], Mapping[str, str] | None] = no_exemplars
    evaluation_batch: int = 32
    evaluation_rows: int | None = None


ROWS = 1_024  # encoded at a time
DOCUMENTS = 64  # of running text; one may be as long as a thousand rows
UNLIMITED = Codec(None, "encoder-decoder", 10**6, 10**6)


class Task(LightningDataModule, ABC):
    """A text-generation task.

    Subclasses fill `read` (publisher's files) and `sample` (built-in rows), and may override `source_text`
    (truncation by rule), `ends`, `tokenizer` and `reference_embeddings`. Options are keyword-only constructor
    arguments, so `--set task.<name>=...` finds them. Their annotations say what they may be (`bench.base.options`), and
    a constructor starts only with options that they allow.

    Raises:
        UsageError: for an option that there is not, or a value it cannot have.
    """

    name: str
    version: ClassVar[int] = 1
    info: ClassVar[TaskInfo]
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]]
    ends: ClassVar[bool] = True
    may_be_empty: ClassVar[bool] = False  # a split that is chosen by a rule may have no row of a small corpus
    places: ClassVar[frozenset[str]] = frozenset()  # options that locate the data; keys have the rows, and not these
    markers: tuple[str, ...] = ()
    user_data: UserData | None = None  # where a user's own rows are, by the options of the task
    sources_repeat: bool = False  # whether tests take the rows of one source as one example
    title: str = ""  # the name of a user's own data, for tables
    stream: Stream | None = None  # rows are cut from running text by tokens; examples are its documents
    training_blocks: bool = False  # training rows are blocks of `max_target` tokens of the joined training texts
    prompt_tokens: int = 0  # a prompt is so many tokens of an open-ended row, in place of `prompt_and_rest`
    given: Mapping[str, Any]  # options as they were given

    def __init_subclass__(cls, **named: Any) -> None:
        """Check options before a constructor's own first line."""
        super().__init_subclass__(**named)
        check_constructor(cls, "task")

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        """Refuse options that contradict each other, all given by name; a plan asks too."""

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Remember the options, which decide what rows become."""
        made = super().__new__(cls)
        made.given = options
        return made

    def __init__(self) -> None:
        super().__init__()
        self.source = Source(None, "built-in sample")
        self.limit: int | None = None
        self._splits: dict[str, Split] = {}
        self._manifests: dict[str, Manifest] = {}
        self._evaluated: dict[tuple[str, int], Sequence[Example]] = {}
        self.on_rows: OnRows = no_progress
        self._exemplars: dict[tuple[str, bool], Array] = {}
        self._target_counts: dict[tuple[str, int], Array] = {}
        self._loader: LoaderConfig | None = None
        self._loader_rows: dict[str, TokenStore] = {}

    # What a task fills in ---------------------------------------------------------------------------------------

    @abstractmethod
    def read(self, folder: Path, split: str) -> Split:
        """Read one split from the publisher's files; raise DataError naming file and row for a malformed one."""

    @abstractmethod
    def sample(self, split: str) -> Sequence[Example]:
        """Return the built-in rows of a split, made by this project."""

    def unpinned(self) -> dict[str, str]:
        """Return repository, revision and commit of rows of the hub whose revision may be another commit tomorrow.

        Empty for a user's files, built-in rows, and rows that are pinned to a commit.
        """
        copy = self.user_data.data_set if self.user_data else HUB.get(self.name)
        if copy is None or self.source.folder is None or is_commit(copy.revision):
            return {}
        origin = origin_of(self.source.folder)
        if origin.get("repository") != copy.repository:
            return {}
        return {"repository": copy.repository, "revision": copy.revision, "commit": origin["commit"]}

    def source_text(self, example: Example, codec: Codec) -> tuple[str, int]:
        """Return the text the model reads and how much was dropped by rule to fit `codec.max_source`."""
        return example.source, 0

    def plain_source(self, example: Example) -> str:
        """Return the text a model would read if any length did."""
        return self.source_text(example, UNLIMITED)[0]

    def tokenizer(self, vocabulary: int) -> Any:
        """Return the tokenizer of a from-scratch backbone: a BPE of the training text."""
        return train_bpe(self.training_texts(), vocabulary, self.markers)

    def word_tokenizer(self, vocabulary: int) -> Any:
        """Return a tokenizer of whole words, the most frequent ones of the training text."""
        return word_tokenizer(self.training_texts(), vocabulary)

    def words_of(self, text: str) -> int:
        """Return how many words a text has by the task's own count; perplexity per word divides by it."""
        return len(text.split())

    def prompt_and_rest(self, example: Example) -> tuple[str, str]:
        """Split an open-ended row into what generation is given and the true continuation."""
        raise NotImplementedError(f"{self.name} is not open-ended")

    def reference_embeddings(self, tokenizer: Any, width: int, seed: int) -> Tensor | None:
        """Return fixed token embeddings with a known geometry, [V, width], where a task has them."""
        return None

    # Done here --------------------------------------------------------------------------------------------------

    def load(self, source: Source, limit: int | None = None, *, on_rows: OnRows = no_progress) -> None:
        """Set where rows come from; a split is read when it is first needed.

        Args:
            source: a folder, or the built-in sample.
            limit: keeps the first rows of each split, for debugging only.
            on_rows: called with the progress of work on many rows.
        """
        self.source, self.limit = self.user_data.source(source) if self.user_data else source, limit
        self.on_rows = on_rows

    def split(self, name: str) -> Split:
        """Return a split, which is read once."""
        if name not in self._splits:
            if self.source.folder is None:
                split = Split(name, self.sample(name), "sample", "built-in sample")
            else:
                split = as_published(self.name, self.read(self.source.folder, name))
                if not (split.examples or split.skipped or self.may_be_empty):
                    raise DataError(f"{self.name}: expected rows of the {name} split in {split.origin}, found none")
                if not isinstance(split.examples, MappedExamples):  # their readers number rows, or have seen each id
                    refuse_repeated_ids(self.name, split)
            split = replace(split, examples=held(split.examples[: self.limit]))
            self._splits[name] = split
        return self._splits[name]

    def counted(self, rows: Iterable[Row], split: str = "") -> Iterator[Row]:
        """Yield rows as they are read, and report every thousand of them."""
        return counted(rows, "rows read", self.info.sizes.get(split, 0), self.on_rows)

    def status_of(self, split: str, rows: int) -> str:
        """Return `official` when a split has as many rows as published, else `subset`."""
        return "official" if rows == self.info.sizes.get(split) else "subset"

    def evaluation_examples(self, split: str, n: int | None) -> Sequence[Example]:
        """Return n rows of a split, the same ones for every run; all of them for None."""
        if n is None:
            return self.split(split).examples
        if (split, n) not in self._evaluated:
            examples = {example.id: example for example in self.split(split).examples}
            self._evaluated[split, n] = [examples[name] for name in chosen(list(examples), n)]
        return self._evaluated[split, n]

    def probe_examples(self, examples: Sequence[Example]) -> Sequence[Example]:
        """Return the rows whose prompts are probed, one for each distinct prompt."""
        first_of = {example.source: example for example in reversed(examples)}
        return list(first_of.values())[::-1]

    def manifest(self, split: str) -> Manifest:
        """Count and hash a split, once."""
        if split not in self._manifests:
            rows = self.split(split)
            examples = counted(rows.examples, "rows hashed", len(rows.examples), self.on_rows)
            self._manifests[split] = rows.manifest(examples)
        return self._manifests[split]

    def readable(self, split: str) -> dict[str, tuple[str, str]]:
        """Return source and target of every row by id, as text for people; both words where two fit a prompt."""
        shown = {}
        for example in self.split(split).examples:
            target = ", ".join(example.fields["words"]) if "words" in example.fields else example.target
            shown[example.id] = (self.plain_source(example), target)
        return shown

    def training_texts(self) -> Iterator[str]:
        """Yield source and target of every training row; a tokenizer learns from them."""
        examples = self.split("train").examples
        for example in counted(examples, "rows for a tokenizer", len(examples), self.on_rows):
            if self.stream is not None:
                yield example.target
            else:
                yield self.plain_source(example)
                yield " " + example.target

    @cached_property
    def target_tokens(self) -> float:
        """About how many tokens a training target has on average: a quarter of its bytes."""
        examples = self.split("train").examples
        return sum(byte_count(example.target) for example in examples) / 4 / max(1, len(examples))

    def exemplars(self, split: str, equal_targets: bool = True, *, swap: bool = False) -> Mapping[str, str]:
        """Return the exemplar of every row of a split by id: the training target of the nearest training source.

        Source: Peng et al. 2019 section 3.2. See `bench.tasks.exemplars.retrieve` for what is excluded.

        Args:
            split: of the rows.
            equal_targets: whether a training row's exemplar may have the row's own target.
            swap: give every row another row's exemplar, as a control.
        """
        from bench.tasks.exemplars.retrieve import retrieve, swapped

        train, rows = self.split("train").examples, self.split(split).examples
        if (split, equal_targets) not in self._exemplars:
            self._exemplars[split, equal_targets] = retrieve(
                [self.plain_source(row) for row in train],
                [row.target for row in train],
                None if split == "train" else [self.plain_source(row) for row in rows],
                equal_targets=equal_targets or split != "train",
                cache=cache_root() / "exemplars",
                progress=partial(self.on_rows, "exemplars"),
            )
        nearest = self._exemplars[split, equal_targets]
        if swap:
            nearest = swapped(nearest, [row.id for row in rows])
        return {row.id: train[at].target for row, at in zip(rows, nearest.tolist(), strict=True)}

    def exemplar_leak(self, split: str, equal_targets: bool = True) -> str | None:
        """Return a warning when exemplars are the gold target far more often in training than in a split."""
        from bench.tasks.exemplars.retrieve import gold_share, leak

        shares, train = [], [row.target for row in self.split("train").examples]
        for name in ("train", split):
            self.exemplars(name, equal_targets)
            targets = [row.target for row in self.split(name).examples]
            shares.append(gold_share(self._exemplars[name, equal_targets], train, targets))
        return leak(*shares)

    def encode(
        self,
        examples: Sequence[Example],
        codec: Codec,
        *,
        prompts: bool = False,
        exemplars: Mapping[str, str] | None = None,
    ) -> list[Encoded]:
        """Turn rows into token ids; sources and targets are cut by rule, and what was cut is counted.

        Args:
            examples: rows.
            codec: of the backbone.
            prompts: open-ended rows become prompt and true continuation, in place of nothing and the whole text.
            exemplars: text by row id, for methods that read exemplars.
        """
        if prompts and self.prompt_tokens:
            return [self._cut(row, codec) for row in self.encode(examples, replace(codec, max_target=10**6))]
        if prompts and self.info.open_ended:
            parts = map(self.prompt_and_rest, examples)
            prompted = zip(examples, parts, strict=True)
            examples = [replace(row, source=prompt, target=rest) for row, (prompt, rest) in prompted]
        texts = [self.source_text(example, codec) for example in examples]
        sources, dropped = [text for text, _ in texts], [n_dropped for _, n_dropped in texts]
        space = ""
        if self.info.open_ended and not self.training_blocks:  # a text goes on from one before it, as in the text that
            space = " "  # the tokenizer is trained on; joined training texts have no space between them
        source_ids = codec.ids([space + text if text else "" for text in sources])
        has_sources = prompts or not self.info.open_ended  # by the task, so that no row depends on the others
        if codec.architecture == "decoder-only" and has_sources:
            space = " "
        target_ids = codec.ids([space + example.target for example in examples])
        exemplar_ids: list[list[int] | None] = [None] * len(examples)
        if exemplars is not None:
            exemplar_ids = [*codec.ids([exemplars[example.id] for example in examples])]
        return [
            codec.encode(
                example.id,
                source_ids[at],
                target_ids[at],
                ends=self.ends,
                truncated=dropped[at],
                exemplar=exemplar_ids[at],
                n_words=self.words_of(example.target),
                n_bytes=byte_count(example.target),
            )
            for at, example in enumerate(examples)
        ]

    def _cut(self, row: Encoded, codec: Codec) -> Encoded:
        """Move the first tokens of an open-ended row from what is learned to what is read."""
        at, most = self.prompt_tokens, self.prompt_tokens + codec.max_target
        return replace(
            row,
            source=(*row.source, *row.target[:at]),
            target=row.target[at:most],
            truncated=row.truncated + max(0, len(row.target) - most),
        )

    def encoded(
        self, split: str, codec: Codec, *, prompts: bool = False, exemplars: Mapping[str, str] | None = None
    ) -> TokenStore:
        """Return every row of a split as a model sees it, tokenised once for all processes and runs.

        Args:
            split: its name.
            codec: of the backbone.
            prompts: open-ended rows become prompt and true continuation, in place of nothing and the whole text.
            exemplars: text by row id, for methods that read exemplars.
        """
        if self.stream is not None or (self.training_blocks and split == "train"):
            documents = self._stored(split, codec, partial(self._documents, split, codec), ["documents"], DOCUMENTS)
            if prompts and self.stream is not None:
                if not (rows := windows(documents, split, codec, self.stream)):
                    raise DataError(
                        f"{self.name}, {split}: expected more than {self.stream.prefix} tokens in each of task.columns="
                        f"{self.stream.columns}, found {len(documents.tokens):,} in all; set fewer columns, "
                        "or take more text"
                    )
                return rows
            return blocks(documents, split, codec)

        def make(start: int, stop: int) -> list[Encoded]:
            rows = self.split(split).examples[start:stop]
            return self.encode(rows, codec, prompts=prompts, exemplars=exemplars)

        return self._stored(split, codec, make, [prompts, sorted(exemplars.items()) if exemplars else None])

    def _documents(self, split: str, codec: Codec, start: int, stop: int) -> list[Encoded]:
        """Return documents with their text as it is: no token is added between them."""
        examples = self.split(split).examples[start:stop]
        ids = codec.ids([example.target for example in examples])
        documents = []
        for example, tokens in zip(examples, ids, strict=True):
            n_words, n_bytes = self.words_of(example.target), byte_count(example.target)
            documents.append(Encoded(example.id, (), tuple(tokens), n_words=n_words, n_bytes=n_bytes))
        return documents

    def _stored(
        self,
        split: str,
        codec: Codec,
        make: Callable[[int, int], Sequence[Encoded]],
        content: list[Any],
        chunk: int = 0,
    ) -> TokenStore:
        """Make rows in memory, or in the cache where they are many.

        Args:
            split: its name.
            codec: of the backbone.
            make: makes rows start to stop.
            content: what else decides the rows; a part of the cache's key.
            chunk: rows made at a time; 0 for all that stay in memory, and a thousand of others.
        """
        examples = self.split(split).examples
        n = len(examples)
        in_memory = not isinstance(examples, MappedExamples)
        if in_memory and sum(len(row.source) + len(row.target) for row in examples) <= MOST_IN_MEMORY:
            rows: list[Encoded] = []
            for start in range(0, n, chunk or max(1, n)):
                rows += make(start, min(start + (chunk or n), n))
                self.on_rows("rows encoded", len(rows), n)
            return TokenStore.of(rows)
        manifest = self.manifest(split)
        key = key_of([FORMAT, self.name, self.version, self.given, manifest.sha256, codec.identity, content])
        folder = cache_root() / "bins" / f"{self.name}-{split}-{key}"
        return TokenStore.stored(folder, n, make, len(codec.tokenizer), chunk or ROWS, self.on_rows)

    def target_counts(self, codec: Codec, vocabulary: int) -> Array:
        """Count how often each token is a target of the training rows, [vocabulary]; once for each codec."""
        key = codec.identity, vocabulary
        if key not in self._target_counts:
            self._target_counts[key] = self.encoded("train", codec).target_counts(vocabulary)
            self._target_counts[key].setflags(write=False)
        return self._target_counts[key]

    def cluster_of(self, name: str) -> str:
        """Return what a row shares with others, by its id: rows of one table are not independent of each other.

        Significance is tested over these: swapping or resampling single rows would find differences that are none.
        """
        return name

    def clusters(self, split: str, names: Sequence[str]) -> list[str]:
        """Return what each row shares with others: `cluster_of` its id, or of the first row with its source."""
        first_of: dict[str, str] = {}
        rows = self.split(split).examples if self.sources_repeat else ()
        first = {row.id: first_of.setdefault(row.source, row.id) for row in rows}
        return [self.cluster_of(first.get(name, name)) for name in names]

    def gold(
        self, examples: Sequence[Example], wanted: Sequence[str] = ("target", "references")
    ) -> dict[str, dict[str, Any]]:
        """Return what metrics compare with, by row id; rows cut from a stream carry it themselves.

        Args:
            examples: rows.
            wanted: of `target`, `references`, `source` (as a model would read it) and the names of the rows' fields.
        """

        def value(example: Example, name: str) -> Any:
            if name == "source":
                return self.plain_source(example)
            return plain(getattr(example, name) if name in ("target", "references") else example.fields.get(name))

        return {example.id: {name: value(example, name) for name in wanted} for example in examples}

    # The loaders of a trainer ------------------------------------------------------------------------------------

    def setup_run(self, loader: LoaderConfig | None) -> None:
        """Set which batches a trainer gets from now on; None lets go of the rows."""
        super().__init__()  # again: the task may have been made before Lightning was imported
        self._loader = loader
        self._loader_rows = {}

    @property
    def loader(self) -> LoaderConfig:
        """Which batches the trainer gets: as `setup_run` has set, or the defaults for the trainer's objective.

        Raises:
            RuntimeError: when there is no trainer either.
        """
        if self._loader is None:
            if self.trainer is None:
                raise RuntimeError(
                    "call task.setup_run(LoaderConfig(codec)) before asking for batches without a trainer"
                )
            objective: Any = self.trainer.lightning_module
            codec = Codec(objective.backbone.tokenizer, objective.backbone.architecture, 256, 64)
            read = no_exemplars
            if "exemplar" in objective.fields:
                read = partial(self.exemplars, equal_targets=getattr(objective, "equal_targets", True))
            self._loader = LoaderConfig(codec, exemplars=read)
        return self._loader

    def loader_rows(self, split: str) -> TokenStore:
        """Return the rows of a split as the loaders batch them, encoded once."""
        if split not in self._loader_rows:
            self._loader_rows[split] = self.encoded(split, self.loader.codec, exemplars=self.loader.exemplars(split))
        return self._loader_rows[split]

    def rank_and_world(self) -> tuple[int, int]:
        """Return this process and how many there are; 0 and 1 without a trainer."""
        if self.trainer is None:
            return 0, 1
        return self.trainer.global_rank, self.trainer.world_size

    def train_dataloader(self) -> Epoch:
        """Return the micro-batches of this rank; item i is a pure function of seed and i.

        An epoch of the trainer has as many optimiser steps as fill the rows once, rounded. Epochs join without a gap.
        """
        loader, rows, trainer = self.loader, self.loader_rows("train"), self.trainer
        accumulate = 1 if trainer is None else trainer.accumulate_grad_batches
        rank, world = self.rank_and_world()
        lengths = None if self.info.open_ended else rows.lengths
        order = Order(len(rows), loader.batch, loader.seed, lengths)
        batches = MicroBatches(rows, order, loader.codec.picked, rank=rank, world=world, accumulate=accumulate)
        steps = max(1, round(len(rows) / loader.batch))
        return Epoch(batches, steps, lambda: 0 if self.trainer is None else int(self.trainer.global_step))

    def val_dataloader(self) -> EvaluationEpoch:
        """Return the batches of the validation split, whole ones for each rank."""
        return self._epoch(self.loader_rows("valid"), self.loader.codec.train_batch)

    def test_dataloader(self) -> EvaluationEpoch:
        """Return the batches of the test split, whole ones for each rank."""
        return self._epoch(self.loader_rows("test"), self.loader.codec.train_batch)

    def predict_dataloader(self) -> EvaluationEpoch:
        """Return the prompts of the test split with their ids, for `Trainer.predict`."""
        loader = self.loader
        rows = self.encoded("test", loader.codec, prompts=True, exemplars=loader.exemplars("test"))
        return self._epoch(rows, self._prompts)

    def _epoch(self, rows: TokenStore, collate: Callable[[Sequence[Encoded]], dict[str, Any]]) -> EvaluationEpoch:
        """Return the batches of the rows that are evaluated."""
        wanted = set(chosen([row.id for row in rows], self.loader.evaluation_rows))
        rank, world = self.rank_and_world()
        evaluated = [row for row in rows if row.id in wanted]
        return EvaluationEpoch(evaluated, self.loader.evaluation_batch, collate, rank=rank, world=world)

    def _prompts(self, rows: Sequence[Encoded]) -> dict[str, Any]:
        """Collate what generation starts from, with the rows' ids."""
        return {**self.loader.codec.prompt_batch(rows), "ids": [row.id for row in rows]}
