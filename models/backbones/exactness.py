"""Exactness: a backbone is refused whose distribution is not that of its model of `transformers`.

It is compared without and with padding and with a cache, on a few tokens, in evaluation mode and without gradients; the
random state of the caller stays as it was. Differences are in nats, between log-probabilities.

Shapes: B rows, T positions, V vocabulary, D width of a state.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from textwrap import shorten
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from bench.errors import UsageError
from bench.models.backbones.backbone import Backbone, Batch, Step, decoder_inputs
from bench.models.backbones.causal import positions
from bench.models.core.continuations import without_dropout
from bench.models.core.states import IGNORED

TOLERANCE = 1e-4
"""Largest difference of log-probabilities of float32 weights, in nats."""

LENGTH, SHORT = 6, 4
"""Tokens of a whole row, and of the beginning of it that is padded."""

DRAWS = (0, 1)
"""Sets of tokens to compare on."""

WRONG_CACHE = "generation with its cache is not ours"

NewCache = Callable[[Any], Any]
"""Makes the empty cache of `Step.cache` from a model's configuration."""

Pair = tuple[list[int], list[int]]
"""Tokens of a source and of its target."""


def refuse_inexact(backbone: Backbone, name: str, new_cache: NewCache) -> None:
    """Refuse a backbone that is not exact.

    Args:
        backbone: over a model of `transformers`, in float32.
        name: of the backbone, for the message.
        new_cache: makes the cache of generation.

    Raises:
        UsageError: it differs by more than `TOLERANCE`, or its model does not run as states and a head.
    """
    why = why_inexact(backbone, new_cache)
    if why is None:
        return
    model = backbone.model
    raise UsageError(
        f"backbone '{name}' (family {model.config.model_type}, {type(model).__name__}) is refused: {why}; expected the "
        f"log-probabilities of the library's own model, to {TOLERANCE:.0e} nats. Take a family that docs/families.md "
        "calls exact, or bring an adapter of your own (models/backbones/README.md)"
    )


def why_inexact(backbone: Backbone, new_cache: NewCache) -> str | None:
    """Return why a backbone is not exact, or None.

    A fault counts if every set of tokens shows it: for one token a router may score two experts alike, and rounding
    then decides which one is used.

    Args:
        backbone: over a model of `transformers`.
        new_cache: makes the cache of generation.
    """

    def forward(draw: int) -> tuple[float, str]:
        differences = forward_differences(backbone, draw)
        situation = max(differences, key=differences.__getitem__)
        return differences[situation], f"{differences[situation]:.2g} nats of difference in {situation}"

    def cached(draw: int) -> tuple[float, str]:
        difference = cached_difference(backbone, new_cache, draw)
        return difference, f"{WRONG_CACHE} ({difference:.2g} nats from a full forward pass)"

    fault = None
    for check, what in ((forward, "its model does not run as states and a head"), (cached, WRONG_CACHE)):
        for draw in DRAWS:
            try:
                difference, fault = check(draw)
            except torch.OutOfMemoryError:
                raise
            except Exception as error:  # of a family's code, which may raise anything for arguments it does not know
                message = shorten((str(error).strip() or "no message").splitlines()[0], 80, placeholder=" ...")
                difference, fault = torch.inf, f"{what} ({type(error).__name__}: {message})"
            if difference <= TOLERANCE:
                fault = None
                break
        if fault is not None:
            return fault
    return None


def forward_differences(backbone: Backbone, draw: int = 0) -> dict[str, float]:
    """Return how far `head(states)` is from the logits of the library's own forward, by situation.

    The library sees every row alone and without padding. The backbone sees all rows in one batch, padded.

    Args:
        backbone: over a model of `transformers`.
        draw: which set of tokens, 0 or 1.

    Returns:
        The largest difference of log-probabilities at a real position in nats; infinity where one is not a number.
    """
    with undisturbed(backbone):
        if backbone.architecture == "encoder-decoder":
            return _differences_of_pairs(backbone, draw)
        return _differences_of_rows(backbone, draw)


def cached_difference(backbone: Backbone, new_cache: NewCache, draw: int = 0) -> float:
    """Return how far `extend`, token by token, is from `states` over the whole text: as `forward_differences`.

    Decoder-only: two prompts, one of them padded on the left, are continued from one text. Encoder-decoder: two targets
    of one length; one of the sources is padded.
    """
    cache = new_cache(backbone.model.config)
    with undisturbed(backbone):
        if backbone.architecture == "encoder-decoder":
            batch = pairs_batch([(source, target[:SHORT]) for source, target in pairs_of(backbone, draw)], backbone)
            inputs, sources = decoder_inputs(batch["labels"], backbone.model.config), batch["input_ids"]
            mask, first = batch["attention_mask"], 1
            encoded = backbone.model.get_encoder()(input_ids=sources, attention_mask=mask, return_dict=True)

            def step(new: slice) -> Step:
                return Step(ids=inputs[:, new], cache=cache, mask=mask, source=sources, encoded=encoded)
        else:
            rows = rows_batch(backbone, draw)
            ids, mask = rows["input_ids"][::2], rows["attention_mask"][::2]  # without padding, and padded on the left
            batch = {"input_ids": ids, "attention_mask": mask, "labels": ids}
            places, first = positions(mask), LENGTH - SHORT + 1

            def step(new: slice) -> Step:
                return Step(ids=ids[:, new], cache=cache, mask=mask[:, : new.stop], positions=places[:, new])

        true = log_probs(backbone.head(backbone.states(batch).hidden))  # [2, T, V]
        worst, start = 0.0, 0
        for stop in range(first, true.shape[1] + 1):
            found = log_probs(backbone.head(backbone.extend(step(slice(start, stop))).hidden))  # [2, V]
            worst, start = max(worst, largest(found, true[:, stop - 1])), stop
        return worst


@contextmanager
def undisturbed(module: nn.Module) -> Iterator[None]:
    """Neither dropout nor gradients; afterwards every module is in its own mode and the random state as before."""
    with without_dropout(module), torch.no_grad(), torch.random.fork_rng(devices=[]):
        yield


def _differences_of_rows(backbone: Backbone, draw: int) -> dict[str, float]:
    """A whole row, and its beginning padded on either side: the whole row alone is the truth of all three."""
    batch = rows_batch(backbone, draw)
    true = log_probs(backbone.model(input_ids=batch["input_ids"][:1], use_cache=False).logits[0])  # [T, V]
    found = log_probs(backbone.head(backbone.states(batch).hidden))  # [3, T-1, V]
    return {
        "a row without padding": largest(found[0], true[: LENGTH - 1]),
        "a row padded on the right": largest(found[1, : SHORT - 1], true[: SHORT - 1]),
        "a row padded on the left": largest(found[2, LENGTH - SHORT :], true[: SHORT - 1]),
    }


def rows_batch(backbone: Backbone, draw: int) -> Batch:
    """Return a row of `LENGTH` tokens, and its first `SHORT` tokens padded on the right and on the left, [3, T]."""
    tokens, gap = plain_tokens(backbone, LENGTH, draw), LENGTH - SHORT
    padding = tokens[-gap:]  # any tokens: the mask hides them
    ids = torch.tensor([tokens, tokens[:SHORT] + padding, padding + tokens[:SHORT]], device=backbone.embedding().device)
    mask = torch.ones_like(ids)
    mask[1, SHORT:] = 0
    mask[2, :gap] = 0
    return {"input_ids": ids, "attention_mask": mask, "labels": ids}


def pairs_of(backbone: Backbone, draw: int) -> tuple[Pair, Pair]:
    """Return a long source with a short target, and a short source with a long target.

    Targets end with the token that decoding starts from: a family that moves the last label to the front, as mBART
    does, finds there what its own tokenizer would have put.
    """
    tokens = plain_tokens(backbone, 2 * LENGTH, draw)
    start = backbone.model.config.decoder_start_token_id
    return (tokens[:LENGTH], [*tokens[-SHORT:], start]), (tokens[-SHORT:], [*tokens[:LENGTH], start])


def _differences_of_pairs(backbone: Backbone, draw: int) -> dict[str, float]:
    """Each pair alone by the library, which moves the labels itself; both in one padded batch by the backbone."""
    pairs, device = pairs_of(backbone, draw), backbone.embedding().device
    found = log_probs(backbone.head(backbone.states(pairs_batch(pairs, backbone)).hidden))  # [2, T, V]
    differences = []
    for row, (source, target) in enumerate(pairs):
        ids, labels = torch.tensor([source], device=device), torch.tensor([target], device=device)
        true = log_probs(backbone.model(input_ids=ids, labels=labels, use_cache=False).logits[0])  # [T, V]
        differences.append(largest(found[row, : len(target)], true[: len(target)]))
    return {"a pair whose target is padded": differences[0], "a pair whose source is padded": differences[1]}


def pairs_batch(pairs: Sequence[Pair], backbone: Backbone) -> Batch:
    """Collate pairs, sources and targets padded on the right; the mask hides the tokens that pad a source."""
    device = backbone.embedding().device
    sources, targets = ([torch.tensor(row, device=device) for row in rows] for rows in zip(*pairs, strict=True))
    return {
        "input_ids": pad_sequence(sources, batch_first=True, padding_value=pairs[0][0][0]),
        "attention_mask": pad_sequence([torch.ones_like(row) for row in sources], batch_first=True),
        "labels": pad_sequence(targets, batch_first=True, padding_value=IGNORED),
    }


def plain_tokens(backbone: Backbone, number: int, draw: int) -> list[int]:
    """Return different tokens, spread over the vocabulary, that a configuration gives no special meaning.

    Args:
        backbone: with a vocabulary of a few dozen tokens at least.
        number: how many.
        draw: which set of them, 0 or 1; the sets have no token in common.
    """
    special: set[Any] = set()
    for name, value in vars(backbone.model.config).items():
        if name.endswith(("token_id", "token_index")):
            special.update(value if isinstance(value, list) else [value])
    size = min(backbone.vocabulary_size, len(backbone.embedding()))
    plain = [token for token in range(size) if token not in special]
    step = len(plain) // (number * len(DRAWS))
    return plain[step * number * draw :][:: max(1, step)][:number]


def log_probs(logits: Tensor) -> Tensor:
    """Log-probabilities in float64, [..., V]."""
    return logits.double().log_softmax(-1)


def largest(found: Tensor, true: Tensor) -> float:
    """Largest difference; infinity where it is not a number, or where one of the two alone is infinite."""
    apart = torch.where(found == true, 0.0, (found - true).abs())
    return float(apart.max().nan_to_num(torch.inf))
