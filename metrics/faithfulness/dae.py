"""DAE: the share of summaries with a dependency arc that their source does not entail (Goyal and Durrett 2021, NAACL).

ELECTRA reads the words of source and summary, `[CLS] source [SEP] summary [SEP]`, both as PTB tokens in lower case, 512
word pieces, of which the source loses some. A linear layer over the states of an arc's two words, each at its last
piece, says whether the arc is entailed; a summary is factual when all of its arcs are. As in the authors' code only the
first 20 arcs are looked at, and labels of arcs are not. A summary without an arc, which their code cannot take, is
factual, and counted in a column of its own.

The arcs decide too: read from a parser's file the column is `dae`, made by spaCy it is `dae[spacy]`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.nn.utils.rnn import pad_sequence

from bench.metrics.faithfulness import spacy_models, verifiers
from bench.metrics.faithfulness.dae_arcs import Parsed, arcs_of, read_arcs, spacy_arcs
from bench.metrics.faithfulness.ptb_tokens import ptb_tokens
from bench.metrics.faithfulness.verifiers import NoVerifier, Verifier
from bench.metrics.score import Gold, Row, Score, check_ids, explained, shares

__all__ = ["MAX_ARCS", "Encoded", "dae", "dae_scores", "encoded_arcs", "load_dae", "pieces_of"]

MAX_ARCS = 20
MAX_LENGTH = 512
SPARE = 2  # pieces that the authors cut beyond what is needed


class Encoded(NamedTuple):
    """A pair for the model: `input_ids`, and for each arc the positions of its child and its head in them."""

    input_ids: list[int]
    children: list[int]
    heads: list[int]


@cache
def _model_class() -> Any:
    from torch.nn import Linear
    from transformers import ElectraModel, ElectraPreTrainedModel
    from transformers.modeling_outputs import SequenceClassifierOutput

    class ArcClassifier(ElectraPreTrainedModel):
        """ELECTRA and a linear layer over two of its states, under the names of the authors' file."""

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.electra = ElectraModel(config)
            self.dep_label_classifier = Linear(2 * config.hidden_size, 2)
            self.post_init()

        def forward(self, input_ids: Any, attention_mask: Any, children: Any, heads: Any) -> Any:
            """Return logits [B, A, 2] of A arcs, from the positions of their words, each [B, A]."""
            states = self.electra(input_ids, attention_mask=attention_mask).last_hidden_state  # [B, T, H]
            ends = [states.gather(1, index[..., None].expand(-1, -1, states.shape[-1])) for index in (children, heads)]
            return SequenceClassifierOutput(logits=self.dep_label_classifier(torch.cat(ends, dim=-1)))

    return ArcClassifier


def load_dae(checkpoint: str, device: str | None = None) -> Verifier:
    """Load the authors' model; arguments and errors as for `verifiers.load`."""
    from transformers import ElectraTokenizer

    if not checkpoint:
        raise NoVerifier("needs the authors' model, BENCH_DAE naming its folder: bench doctor")
    folder = verifiers.find(checkpoint)
    if not any((folder / name).is_file() for name in ("vocab.txt", "tokenizer.json")):
        raise NoVerifier(f"needs vocab.txt beside the DAE model {folder.name}: bench doctor")
    return verifiers.load(checkpoint, _model_class(), ElectraTokenizer, "entailed", position=1, device=device)


def pieces_of(words: Sequence[str], tokenizer: Any) -> tuple[list[int], list[int]]:
    """Return the ids of the word pieces of a text, and per word the position of its last one, -1 of none."""
    last = [-1] * len(words)
    if not words:
        return [], last
    found = tokenizer(list(words), is_split_into_words=True, add_special_tokens=False, verbose=False)
    for position, word in enumerate(found.word_ids()):
        last[word] = position
    return found["input_ids"], last


def encoded_arcs(source: Sequence[int], summary: Parsed, tokenizer: Any, max_arcs: int | None = MAX_ARCS) -> Encoded:
    """Return a pair as the model reads it.

    Args:
        source: ids of its word pieces; the last are cut where the pair is too long.
        summary: its words and arcs; only of one longer than the model are pieces cut, and the arcs of cut words.
        tokenizer: of the model.
        max_arcs: how many arcs are looked at, the first ones; None is all.
    """
    pieces, last = pieces_of(summary.tokens, tokenizer)
    excess = len(source) + len(pieces) + 3 - MAX_LENGTH
    kept = source if excess <= 0 else source[: max(0, len(source) - excess - SPARE)]
    pieces, start = pieces[: MAX_LENGTH - 3], len(kept) + 2
    arcs = [arc for arc in summary.arcs[:max_arcs] if all(0 <= last[word] < len(pieces) for word in arc[:2])]
    separator = tokenizer.sep_token_id
    return Encoded(
        [tokenizer.cls_token_id, *kept, separator, *pieces, separator],
        [start + last[arc.child] for arc in arcs],
        [start + last[arc.head] for arc in arcs],
    )


def dae(
    sources: Sequence[str],
    summaries: Sequence[Parsed],
    verifier: Verifier,
    max_arcs: int | None = MAX_ARCS,
    tokens: int = verifiers.TOKENS,
) -> list[list[bool]]:
    """Return for each summary whether its source entails each of its arcs.

    Args:
        sources: the source text of each summary; equal ones are read once.
        summaries: words and arcs.
        verifier: as loaded.
        max_arcs: how many arcs of a summary are looked at; None is all.
        tokens: most tokens of a batch; a longer pair is a batch of its own.

    Raises:
        ValueError: not as many sources as summaries, or less than one arc to look at.
    """
    if len(sources) != len(summaries):
        raise ValueError(f"expected a source per summary, got {len(sources)} and {len(summaries)}")
    if max_arcs is not None and max_arcs < 1:
        raise ValueError(f"expected max_arcs of at least 1, or None for all, got {max_arcs}")
    read = {text: pieces_of(ptb_tokens(text), verifier.tokenizer)[0] for text in set(sources)}
    encoded = [encoded_arcs(read[source], summary, verifier.tokenizer, max_arcs)
               for source, summary in zip(sources, summaries, strict=True)]  # fmt: skip
    found: list[list[bool]] = [[] for _ in encoded]
    with_arcs = [i for i, one in enumerate(encoded) if one.children]
    with torch.inference_mode():
        for batch in verifiers.batches([len(encoded[i].input_ids) for i in with_arcs], tokens):
            rows = [with_arcs[i] for i in batch]
            logits = verifier.model(**_padded(verifier, [encoded[i] for i in rows])).logits  # [B, A, 2]
            entailed = (logits[..., verifier.label] > logits[..., 1 - verifier.label]).tolist()
            for i, row in zip(rows, entailed, strict=True):
                found[i] = row[: len(encoded[i].children)]
    return found


def _padded(verifier: Verifier, encoded: Sequence[Encoded]) -> dict[str, Any]:
    """Return one batch, padded on the right, on the model's device; a padded arc is at position 0."""

    def column(rows: Sequence[Sequence[int]], pad: int = 0) -> Any:
        tensors = [torch.tensor(row, dtype=torch.long) for row in rows]
        return pad_sequence(tensors, batch_first=True, padding_value=pad).to(verifier.model.device)

    return {
        "input_ids": column([one.input_ids for one in encoded], verifier.tokenizer.pad_token_id),
        "attention_mask": column([[1] * len(one.input_ids) for one in encoded]),
        "children": column([one.children for one in encoded]),
        "heads": column([one.heads for one in encoded]),
    }


def dae_scores(
    rows: Sequence[Row],
    gold: Gold,
    *,
    checkpoint: str | None = None,
    arcs: str | None = None,
    parser: str | None = None,
    max_arcs: int | None = MAX_ARCS,
    device: str | None = None,
) -> list[Score]:
    """Score summaries by the share that is not factual, and count those without an arc.

    Args:
        rows: `{"id", "text"}`.
        gold: `{id: {"source"}}`.
        checkpoint: folder of the authors' model; by default what BENCH_DAE names.
        arcs: file of the arcs of these summaries; by default, unless a parser is given, what BENCH_DAE_ARCS names.
        parser: spaCy model that makes the arcs where no file is named; by default the first that is installed.
        max_arcs: how many arcs of a summary are looked at; None is all.
        device: by default the GPU if there is one.

    Raises:
        ValueError: other ids than the gold's, both arcs and parser, or a file of another form or of other summaries.
    """
    check_ids(rows, gold)
    if arcs and parser:
        raise ValueError(f"expected arcs from a file or from a parser, got both: {Path(arcs).name} and {parser}")
    rows = sorted(rows, key=lambda row: str(row["id"]))
    ids, texts = [str(row["id"]) for row in rows], [row["text"] for row in rows]
    sources = [str(gold[row["id"]].get("source") or "") for row in rows]
    name, made, missing, parsed = _arcs(ids, texts, arcs, parser)
    shown = "all" if max_arcs is None else max_arcs
    signed = f"dae|def:goyal2021|{made}|max_arcs:{shown}|words:ptb+lower|max:{MAX_LENGTH}|none:factual|dtype:float32"
    try:
        if missing or not all(sources):
            raise NoVerifier(missing or "no source text")
        verifier = load_dae(verifiers.named(checkpoint, "BENCH_DAE"), device)
    except NoVerifier as why:
        return _columns(name, None, len(rows), f"{signed}|version:1|not applicable: {why}")
    entailed = dae(sources, parsed(), verifier, max_arcs)
    return _columns(name, entailed, len(rows), f"{signed}|{verifier.signature}|version:1")


def _arcs(
    ids: Sequence[str], texts: Sequence[str], arcs: str | None, parser: str | None
) -> tuple[str, str, str, Callable[[], list[Parsed]]]:
    """Return the column's name, how its arcs are made, what is needed for them, and what makes them."""
    file = Path(arcs or ("" if parser else verifiers.named(None, "BENCH_DAE_ARCS")))
    if file.name:
        missing = "" if file.is_file() else f"needs the file of arcs {file.name}: bench doctor"
        if missing:
            return "dae", "arcs:file", missing, list
        known = read_arcs(file)
        try:
            found = arcs_of(ids, texts, known, file.name)
        except ValueError as problem:  # another system's file
            return "dae", "arcs:file", f"needs the arcs of these summaries in {file.name}: {problem}", list
        return "dae", "arcs:file", "", lambda: found
    model, missing = spacy_models.installed(parser)
    if missing and not parser:
        missing = f"needs BENCH_DAE_ARCS naming a file of arcs, or {missing.removeprefix('needs ')}"
        return "dae", "arcs:file", missing, list
    versioned = model if missing else f"{spacy_models.versioned(model)}|spacy:{spacy_models.versioned('spacy')[6:]}"
    return "dae[spacy]", f"arcs:collapsed|parser:{versioned}", missing, lambda: spacy_arcs(texts, model)


def _columns(name: str, entailed: Sequence[Sequence[bool]] | None, n: int, signed: str) -> list[Score]:
    """Return both columns from the verdicts on the arcs of each summary, or without values."""
    share = none = items = None
    if entailed is not None:
        wrong = [not all(one) for one in entailed]
        share, items, none = verifiers.share_of(wrong), shares(wrong), float(sum(not one for one in entailed))
    counted = f"{name[:-1]},no_arc]" if name.endswith("]") else f"{name}[no_arc]"
    return [
        explained(Score(name, share, "percent", False, n, signed, items), "no rows"),
        Score(counted, none, "count", None, n, signed.replace("dae|", "dae|summaries without an arc|", 1)),
    ]
