"""Verifiers: public classifiers of (evidence, claim), loaded from this machine only and never with an untrained head.

How a checkpoint is found, named and refused is in `bench.metrics.faithfulness.checkpoints`. The label that counts is
found by its name in the checkpoint's own table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from bench.metrics.faithfulness import checkpoints
from bench.metrics.faithfulness.checkpoints import NoVerifier, find, named
from bench.metrics.score import Score, explained
from bench.metrics.sums import Sums, ratio

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
    with checkpoints.loading(checkpoint):
        config = _config(folder, AutoConfig, model_class)
        config.vocab_size = vocabulary or config.vocab_size
        found = label_of(config.id2label, label, position)
        model, info = model_class.from_pretrained(
            folder, config=config, output_loading_info=True, dtype=torch.float32, local_files_only=True
        )
        tokenizer = tokenizer_class.from_pretrained(folder, local_files_only=True, **tokenizer_options)
    checkpoints.refuse_lacking(checkpoint, checkpoints.lacking(info))
    where = checkpoints.device_of(device)
    return Verifier(model.to(where).eval(), tokenizer, found, checkpoints.provenance(checkpoint, folder))


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
    name: str,
    n: int,
    signed: str,
    load: Callable[[], Verifier],
    decide: Callable[[Verifier], Sequence[Sequence[bool]]],
    why_not: str,
) -> list[Score]:
    """Return the column of a verifier: the share of true verdicts in percent, or None and why.

    Args:
        name: of the column.
        n: rows.
        signed: package and options; what was loaded is added.
        load: loads the verifier.
        decide: returns its verdicts, for each row on one claim or more.
        why_not: why these rows cannot be scored; empty when they can be.
    """
    try:
        if why_not:
            raise NoVerifier(why_not)
        verifier = load()
    except NoVerifier as why:
        return [Score(name, None, "percent", True, n, f"{signed}|dtype:float32|version:1|not applicable: {why}")]
    signed = f"{signed}|dtype:float32|{verifier.signature}|version:1"
    found = decide(verifier)
    share = share_of([one for some in found for one in some])
    items = None if share is None else Sums(ratio(), [(sum(some), len(some)) for some in found])
    return [explained(Score(name, share, "percent", True, n, signed, items), "no rows")]
