"""Verifiers: public classifiers of (evidence, claim), loaded from this machine only and never with an untrained head.

`bench.metrics.faithfulness.checkpoints` finds, names and refuses checkpoints. The label that counts is found by its
name in the checkpoint's own table.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from bench.metrics.faithfulness import checkpoints
from bench.metrics.faithfulness.checkpoints import NotApplicable
from bench.metrics.score import Counts, Family, Gold, Row, Score, explained, reason_of, score_of_sums
from bench.metrics.sums import ratio

ModelInputs = Mapping[str, Sequence[Any]]
"""Input of a model for one claim, without padding: `input_ids` [T], others [N] or [N, K]."""

TOKENS = 16_384
"""Tokens of a batch, padding counted."""
UNNAMED_LABELS = {"LABEL_0": 0, "LABEL_1": 1}


@dataclass(frozen=True)
class Verifier:
    """A loaded classifier in float32.

    Args:
        model: a `transformers` model for sequence classification.
        tokenizer: its tokenizer.
        label: the class that means "true given the evidence".
        provenance: `checkpoint`, `revision` (of a hub copy) or `weights` (a hash, of a folder), and a hash of `config`.
    """

    model: Any
    tokenizer: Any
    label: int
    provenance: Mapping[str, str]

    @property
    def signature(self) -> str:
        """What was loaded, as part of a metric's signature."""
        return "|".join(f"{key}:{value}" for key, value in self.provenance.items())


Decide = Callable[[Sequence[Row], Gold], tuple[Verifier, Sequence[Sequence[bool]]]]
"""Rows and gold to the verifier and its verdicts on the claims of each row."""


def load(
    checkpoint: str,
    model_class: type[Any],
    tokenizer_class: type[Any],
    label: str,
    *,
    position: int | None = None,
    **tokenizer_options: Any,
) -> Verifier:
    """Load a classifier of two labels with every one of its weights.

    Args:
        checkpoint: a folder, or a hub id that is in the cache.
        model_class: of `transformers`.
        tokenizer_class: of `transformers`.
        label: name of the class that counts, in lower case.
        position: that class where the checkpoint names its labels LABEL_0 and LABEL_1 only; None refuses those.
        **tokenizer_options: passed on.

    Raises:
        NotApplicable: it is not there, cannot be read, lacks weights, or has no such label.
    """
    folder = checkpoints.find(checkpoint)
    with checkpoints.loading(checkpoint):
        # An old folder may have no number of labels.
        config = model_class.config_class.from_pretrained(folder, num_labels=2, local_files_only=True)
        number = label_of(config.id2label, label, position)
        model, info = model_class.from_pretrained(
            folder, config=config, output_loading_info=True, dtype=torch.float32, local_files_only=True
        )
        tokenizer = tokenizer_class.from_pretrained(folder, local_files_only=True, **tokenizer_options)
    checkpoints.check_weights(checkpoint, info)
    model = model.to(checkpoints.device()).eval()
    return Verifier(model, tokenizer, number, checkpoints.provenance(checkpoint, folder))


def label_of(id2label: Mapping[int, str], label: str, position: int | None = None) -> int:
    """Return the number of a label by its name.

    Raises:
        NotApplicable: there is no such name, and no known position for labels without names.

    >>> label_of({0: "CORRECT", 1: "INCORRECT"}, "correct"), label_of({0: "LABEL_0", 1: "LABEL_1"}, "entailed", 1)
    (0, 1)
    """
    names = {str(name).lower(): int(number) for number, name in id2label.items()}
    if label in names:
        return names[label]
    if position is not None and {str(name): int(number) for number, name in id2label.items()} == UNNAMED_LABELS:
        return position
    raise NotApplicable(f"expected a label '{label}' in the checkpoint's id2label, got {sorted(names)}: bench doctor")


@lru_cache(maxsize=1)
def loaded(load: Callable[[str], Verifier], checkpoint: str) -> Verifier:
    """Return `load(checkpoint)`; the last model is kept, so that batches do not load it again."""
    return load(checkpoint)


def verdicts(verifier: Verifier, encoded: Sequence[ModelInputs], tokens: int = TOKENS) -> list[bool]:
    """Return for each claim whether its label has the largest logit; arguments as for `logits_of`."""
    return [row.index(max(row)) == verifier.label for row in logits_of(verifier, encoded, tokens)]


def logits_of(
    verifier: Verifier, encoded: Sequence[ModelInputs], tokens: int = TOKENS, pads: Mapping[str, int] | None = None
) -> list[Any]:
    """Return the logits of each claim, in the order given: two of a classifier, or two of each arc for DAE.

    Args:
        verifier: as loaded.
        encoded: for each claim what the tokenizer returned, without padding.
        tokens: largest number of tokens of a batch; a longer claim is a batch of its own.
        pads: values of padding that are not 0, by the name of the input; that of `input_ids` is the tokenizer's.
    """
    pads = {"input_ids": verifier.tokenizer.pad_token_id, **(pads or {})}
    rows: list[Any] = [None] * len(encoded)
    with torch.inference_mode():
        for batch in batches([len(claim["input_ids"]) for claim in encoded], tokens):
            padded = padded_batch([encoded[i] for i in batch], pads, verifier.model.device)
            for i, row in zip(batch, verifier.model(**padded).logits.tolist(), strict=True):
                rows[i] = row
    return rows


def batches(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Yield positions so that similar lengths share a batch, longest first, at most `tokens` with padding.

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


def padded_batch(encoded: Sequence[ModelInputs], pads: Mapping[str, int], device: torch.device) -> dict[str, Tensor]:
    """Return one batch, padded on the right with 0 or the value in `pads`: `[B, N]` or `[B, N, K]` by name."""
    batch = {}
    for name in encoded[0]:
        rows = [torch.tensor(claim[name], dtype=torch.long) for claim in encoded]
        batch[name] = pad_sequence(rows, batch_first=True, padding_value=pads.get(name, 0)).to(device)
    return batch


def plain_text(text: str, tokenizer: Any) -> str:
    """Return a text without the strings that a tokenizer would read as its special tokens."""
    for special in tokenizer.all_special_tokens:
        text = text.replace(special, "")
    return text


def source_texts(rows: Sequence[Row], gold: Gold) -> list[str]:
    """Return the source text of each row.

    Raises:
        NotApplicable: a row has none.
    """
    sources = [str(gold[row["id"]].get("source") or "") for row in rows]
    if not all(sources):
        raise NotApplicable("no source text")
    return sources


def verdict_family(name: str, options: str, decide: Decide) -> Family:
    """Return a family of one column: the share of true verdicts in percent, or None and the reason.

    A class of the family keeps how many claims of each row are true, so the model reads each text once. A verdict can
    depend on the other texts of its batch only where the model's two logits are equal but for rounding.

    Args:
        name: name of the column.
        options: what the signature has behind the name; what was loaded is added.
        decide: loads the verifier and returns it with its verdicts on each row, of one claim or more. It raises
            `NotApplicable` where the verifier, or something in the rows, is missing.
    """

    def count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
        try:
            verifier, verdicts = decide(rows, gold)
        except NotApplicable as reason:
            return [{"reason": str(reason)} for _ in rows]
        return [{"true": sum(row), "claims": len(row), "model": verifier.signature} for row in verdicts]

    def scores(counts: Sequence[Counts]) -> list[Score]:
        if reason := reason_of(counts):
            signature = f"{name}|{options}|dtype:float32|version:1"
            return [explained(Score(name, None, "percent", True, len(counts), signature), reason)]
        signature = f"{name}|{options}|dtype:float32|{model_of(counts)}|version:1"
        claims = [(row["true"], row["claims"]) for row in counts]
        return [score_of_sums(name, ratio(), claims, signature, higher_is_better=True)]

    return Family(count, scores)


def model_of(counts: Sequence[Counts]) -> str:
    """Return the signature of the model that read all rows.

    Raises:
        ValueError: more than one model did.
    """
    models = sorted({row["model"] for row in counts})
    if len(models) != 1:
        raise ValueError(f"expected one model for all rows, got {len(models)}: {', '.join(models)}; score them again")
    return models[0]
