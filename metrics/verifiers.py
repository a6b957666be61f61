"""Verifiers: public classifiers of (evidence, claim), loaded from this machine only and never with an untrained head.

A checkpoint is a folder, or the id of a hub repository that is in the cache; nothing is downloaded. `from_pretrained`
gives a head that the checkpoint lacks random weights and goes on, so what was missing is looked at here, and such a
checkpoint is refused. The label that counts is found by its name in the checkpoint's own table.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from bench.metrics.score import Score

__all__ = [
    "NoVerifier",
    "Verifier",
    "batches",
    "find",
    "label_of",
    "load",
    "logits_of",
    "named",
    "plain_text",
    "scored",
    "share_of",
    "verdicts",
]

Encoded = Mapping[str, Sequence[Any]]

TOKENS = 16_384  # per batch, padding counted
GENERIC = {"LABEL_0": 0, "LABEL_1": 1}


class NoVerifier(Exception):
    """A verifier cannot be used; the message says what is needed, for the table."""


@dataclass(frozen=True)
class Verifier:
    """A loaded classifier, in float32, ready to score.

    Args:
        model: a `transformers` model for sequence classification.
        tokenizer: its tokenizer.
        label: the class that means "true of the evidence".
        provenance: `checkpoint`, `revision` (of a hub copy) or `weights` (a hash, of a folder), and a hash of `config`.
    """

    model: Any
    tokenizer: Any
    label: int
    provenance: Mapping[str, str]

    @property
    def signature(self) -> str:
        """What was loaded, in the form of a metric's signature."""
        return "|".join(f"{key}:{value}" for key, value in self.provenance.items())


def find(checkpoint: str) -> Path:
    """Return the folder of a checkpoint: itself, or the hub's copy in the cache.

    Raises:
        NoVerifier: it is neither; nothing is downloaded.
    """
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    if (Path(checkpoint) / "config.json").is_file():
        return Path(checkpoint)
    try:
        found = try_to_load_from_cache(checkpoint, "config.json")
    except HFValidationError:
        found = None
    if not isinstance(found, str):
        raise NoVerifier(f"needs {_shown(checkpoint)}: bench doctor")
    return Path(found).parent


def named(checkpoint: str | None, variable: str, default: str = "") -> str:
    """Return the checkpoint that was asked for: the argument, or what an environment variable names, or the default."""
    return checkpoint or os.environ.get(variable) or default


def load(
    checkpoint: str,
    model_class: type[Any],
    tokenizer_class: type[Any],
    label: str,
    *,
    position: int | None = None,
    device: str | None = None,
    vocabulary: int | None = None,
    **tokenizer_options: Any,
) -> Verifier:
    """Load a classifier of two labels with every one of its weights.

    Args:
        checkpoint: a folder, or a hub id that is in the cache.
        model_class: of `transformers`.
        tokenizer_class: of `transformers`.
        label: name of the class that counts, in lower case.
        position: that class where the checkpoint names its labels LABEL_0 and LABEL_1 only; None refuses those.
        device: by default the GPU if there is one.
        vocabulary: size of the token embeddings where the configuration has another.
        **tokenizer_options: passed on.

    Raises:
        NoVerifier: it is not there, cannot be read, lacks weights, or has no such label.
    """
    from transformers import AutoConfig

    folder = find(checkpoint)
    offline = {"local_files_only": True}
    try:
        config = _config(folder, AutoConfig, model_class)
        config.vocab_size = vocabulary or config.vocab_size
        found = label_of(config.id2label, label, position)
        model, info = model_class.from_pretrained(
            folder, config=config, output_loading_info=True, dtype=torch.float32, **offline
        )
        tokenizer = tokenizer_class.from_pretrained(folder, **offline, **tokenizer_options)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        why = " ".join(str(error).split())[:120]
        raise NoVerifier(f"{_shown(checkpoint)} does not load ({type(error).__name__}: {why}): bench doctor") from error
    lacking = sorted({str(key) for kind in ("missing_keys", "mismatched_keys") for key in info[kind]})
    if lacking:
        raise NoVerifier(f"{_shown(checkpoint)} lacks {len(lacking)} weights, such as {lacking[0]}: bench doctor")
    where = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    return Verifier(model.to(where).eval(), tokenizer, found, _provenance(checkpoint, folder))


def _config(folder: Path, auto: Any, model_class: Any) -> Any:
    """Return the configuration with two labels; an old folder may not say of which kind of model it is."""
    config_class = model_class.config_class or auto
    return config_class.from_pretrained(folder, num_labels=2, local_files_only=True)


def label_of(id2label: Mapping[int, str], label: str, position: int | None = None) -> int:
    """Return the number of a label by its name.

    Raises:
        NoVerifier: there is no such name, and no known position for labels without names.

    >>> label_of({0: "CORRECT", 1: "INCORRECT"}, "correct"), label_of({0: "LABEL_0", 1: "LABEL_1"}, "entailed", 1)
    (0, 1)
    """
    names = {str(name).lower(): int(number) for number, name in id2label.items()}
    if label in names:
        return names[label]
    if position is not None and {str(name): int(number) for number, name in id2label.items()} == GENERIC:
        return position
    raise NoVerifier(f"expected a label '{label}' in the checkpoint's id2label, got {sorted(names)}: bench doctor")


def verdicts(verifier: Verifier, encoded: Sequence[Encoded], tokens: int = TOKENS) -> list[bool]:
    """Return for each pair whether the verifier holds the claim for true: its label has the largest logit.

    Arguments as for `logits_of`.
    """
    return [row.index(max(row)) == verifier.label for row in logits_of(verifier, encoded, tokens)]


def logits_of(verifier: Verifier, encoded: Sequence[Encoded], tokens: int = TOKENS) -> list[list[float]]:
    """Return the two logits of each pair, in the order given.

    Args:
        verifier: as loaded.
        encoded: per pair what the tokenizer gave, without padding: `input_ids` [T], others [T] or [T, K].
        tokens: most tokens of a batch; a longer pair is a batch of its own.
    """
    found: list[list[float]] = [[] for _ in encoded]
    with torch.inference_mode():
        for batch in batches([len(one["input_ids"]) for one in encoded], tokens):
            logits = verifier.model(**_padded(verifier, [encoded[i] for i in batch])).logits  # [B, 2]
            for i, row in zip(batch, logits.tolist(), strict=True):
                found[i] = row
    return found


def batches(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Yield positions so that those of about one length meet, longest first, at most `tokens` with padding.

    >>> list(batches([3, 9, 4, 2], 8))
    [[1], [2, 0], [3]]
    """
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and lengths[batch[0]] * (len(batch) + 1) > tokens:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _padded(verifier: Verifier, encoded: Sequence[Encoded]) -> dict[str, Tensor]:
    """Return one batch, padded on the right, on the model's device."""
    pads = {"input_ids": verifier.tokenizer.pad_token_id}
    names = encoded[0].keys()
    rows = {name: [torch.tensor(one[name], dtype=torch.long) for one in encoded] for name in names}
    return {
        name: pad_sequence(several, batch_first=True, padding_value=pads.get(name, 0)).to(verifier.model.device)
        for name, several in rows.items()
    }


def plain_text(text: str, tokenizer: Any) -> str:
    """Return a text without the strings that a tokenizer would read as its special tokens."""
    for special in tokenizer.all_special_tokens:
        text = text.replace(special, "")
    return text


def share_of(verdicts: Sequence[bool]) -> float | None:
    """Return the share of true verdicts in percent; None of none.

    >>> share_of([True, False])
    50.0
    """
    return 100 * sum(verdicts) / len(verdicts) if verdicts else None


def scored(
    name: str, n: int, signed: str, load: Callable[[], Verifier], decide: Callable[[Verifier], list[bool]], why_not: str
) -> list[Score]:
    """Return the column of a verifier: the share of true verdicts in percent, or None and why.

    Args:
        name: of the column.
        n: rows.
        signed: package and options; what was loaded is added.
        load: loads the verifier.
        decide: returns its verdicts.
        why_not: why these rows cannot be scored; empty when they can be.
    """
    try:
        if why_not:
            raise NoVerifier(why_not)
        verifier = load()
    except NoVerifier as why:
        return [Score(name, None, "percent", True, n, f"{signed}|dtype:float32|version:1|not applicable: {why}")]
    signed = f"{signed}|dtype:float32|{verifier.signature}|version:1"
    return [Score(name, share_of(decide(verifier)), "percent", True, n, signed)]


def _provenance(checkpoint: str, folder: Path) -> dict[str, str]:
    """Say what a folder is without its path: a hub id with its revision, or a hash of the weights."""
    config = {"config": hashlib.sha256((folder / "config.json").read_bytes()).hexdigest()[:12]}
    if folder.parent.name == "snapshots":
        return {"checkpoint": _shown(checkpoint), "revision": folder.name[:12], **config}
    digest = hashlib.sha256()
    for path in sorted([*folder.glob("*.safetensors"), *folder.glob("*.bin")]):
        with path.open("rb") as file:
            while block := file.read(1 << 24):
                digest.update(block)
    return {"checkpoint": _shown(checkpoint), "weights": digest.hexdigest()[:12], **config}


def _shown(checkpoint: str) -> str:
    """Return a checkpoint's name for people; of a folder its last part only, so that no path gets into a result."""
    return Path(checkpoint).name if Path(checkpoint).is_dir() or checkpoint.count("/") > 1 else checkpoint
