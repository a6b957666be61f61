"""DAE: the share of summaries with a dependency arc that their source does not entail (Goyal and Durrett 2021, NAACL).

ELECTRA reads the words of source and summary, `[CLS] source [SEP] summary [SEP]`, both as PTB tokens in lower case, 512
word pieces, of which the source loses some. A linear layer over the states of an arc's two words, each at its last
piece, decides whether the arc is entailed; a summary is factual when all of its arcs are. As in the authors' code only
the first 20 arcs are classified, without their labels. A summary without an arc, on which their code fails, is factual,
and counted in a column of its own.

The source of the arcs changes the number: from a parser's file the column is `dae`, from spaCy it is `dae[spacy]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from bench.metrics.faithfulness import checkpoints, spacy_models, verifiers
from bench.metrics.faithfulness.checkpoints import NotApplicable, choose
from bench.metrics.faithfulness.dae_arcs import Parsed, arcs_of, read_arcs, spacy_arcs
from bench.metrics.faithfulness.ptb_tokens import ptb_tokens
from bench.metrics.faithfulness.verifiers import ModelInputs, Verifier
from bench.metrics.score import Counts, Family, Gold, Row, Score, explained, reason_of, score_of_sums
from bench.metrics.sums import mean

__all__ = ["MAX_ARCS", "dae", "dae_family", "dae_scores", "encoded_arcs", "load_dae", "pieces_of"]

MAX_ARCS = 20
MAX_LENGTH = 512
SPARE = 2
"""Pieces that the authors cut beyond what is needed."""


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
            ends = []
            for places in (children, heads):
                index = places[..., None].expand(-1, -1, states.shape[-1])  # [B, A, H]
                ends.append(states.gather(1, index))
            return SequenceClassifierOutput(logits=self.dep_label_classifier(torch.cat(ends, dim=-1)))

    return ArcClassifier


def load_dae(checkpoint: str) -> Verifier:
    """Load the authors' model; arguments and errors as for `verifiers.load`."""
    from transformers import ElectraTokenizer

    if not checkpoint:
        raise NotApplicable("needs the authors' model, BENCH_DAE naming its folder: bench doctor")
    folder = checkpoints.find(checkpoint)
    if not any((folder / name).is_file() for name in ("vocab.txt", "tokenizer.json")):
        raise NotApplicable(f"needs vocab.txt beside the DAE model {folder.name}: bench doctor")
    return verifiers.load(checkpoint, _model_class(), ElectraTokenizer, "entailed", position=1)


def pieces_of(words: Sequence[str], tokenizer: Any) -> tuple[list[int], list[int]]:
    """Return the ids of the word pieces of a text, and the position of each word's last piece, -1 for no piece."""
    last = [-1] * len(words)
    if not words:
        return [], last
    pieces = tokenizer(list(words), is_split_into_words=True, add_special_tokens=False, verbose=False)
    for position, word in enumerate(pieces.word_ids()):
        last[word] = position
    return pieces["input_ids"], last


def encoded_arcs(source: Sequence[int], summary: Parsed, tokenizer: Any) -> ModelInputs:
    """Return the input of the model for one summary, without padding.

    Args:
        source: ids of its word pieces; the last are cut where the pair is too long.
        summary: its words and arcs. Pieces are cut only of a summary that is longer than the model, and arcs of words
            that are cut are left out.
        tokenizer: of the model.

    Returns:
        `input_ids` and `attention_mask` [T]; `children` and `heads` [A], positions of the words of each arc.
    """
    pieces, last = pieces_of(summary.tokens, tokenizer)
    excess = len(source) + len(pieces) + 3 - MAX_LENGTH
    kept = source[: max(0, len(source) - excess - SPARE)] if excess > 0 else source
    pieces, start = pieces[: MAX_LENGTH - 3], len(kept) + 2
    is_kept = [0 <= position < len(pieces) for position in last]
    arcs = [arc for arc in summary.arcs[:MAX_ARCS] if is_kept[arc.child] and is_kept[arc.head]]
    input_ids = [tokenizer.cls_token_id, *kept, tokenizer.sep_token_id, *pieces, tokenizer.sep_token_id]
    return {
        "input_ids": input_ids,
        "attention_mask": [1] * len(input_ids),
        "children": [start + last[arc.child] for arc in arcs],
        "heads": [start + last[arc.head] for arc in arcs],
    }


def dae(
    sources: Sequence[str],
    summaries: Sequence[Parsed],
    verifier: Verifier,
    tokens: int = verifiers.TOKENS,
) -> list[list[bool]]:
    """Return for each summary whether its source entails each of its arcs.

    Args:
        sources: the source text of each summary; equal ones are read once.
        summaries: words and arcs.
        verifier: as loaded.
        tokens: largest number of tokens of a batch; a longer pair is a batch of its own.
    """
    read = {text: pieces_of(ptb_tokens(text), verifier.tokenizer)[0] for text in set(sources)}
    encoded = []
    for source, summary in zip(sources, summaries, strict=True):
        encoded.append(encoded_arcs(read[source], summary, verifier.tokenizer))
    verdicts: list[list[bool]] = [[] for _ in encoded]
    with_arcs = [i for i, pair in enumerate(encoded) if pair["children"]]
    logits = verifiers.logits_of(verifier, [encoded[i] for i in with_arcs], tokens)  # [pairs][A, padded][2]
    for i, of_arcs in zip(with_arcs, logits, strict=True):
        of_arcs = of_arcs[: len(encoded[i]["children"])]
        verdicts[i] = [arc[verifier.label] > arc[1 - verifier.label] for arc in of_arcs]
    return verdicts


def dae_family(
    *,
    checkpoint: str | None = None,
    arcs: str | None = None,
    parser: str | None = None,
) -> Family:
    """Return the family that scores summaries by the share that is not factual, and counts those without an arc.

    Rows are `{"id", "text"}`, gold is `{id: {"source"}}`. Scoring raises ValueError for a file of another form.

    Args:
        checkpoint: folder of the authors' model; by default the value of BENCH_DAE.
        arcs: file with the arcs of these summaries; by default, unless a parser is given, the value of BENCH_DAE_ARCS.
        parser: spaCy model that makes the arcs without a file; by default the first that is installed.

    Raises:
        ValueError: both arcs and parser are given.
    """
    if arcs and parser:
        raise ValueError(f"expected arcs from a file or from a parser, got both: {Path(arcs).name} and {parser}")

    def count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
        try:
            source = _arc_source(arcs, parser)
            if source.missing:
                raise NotApplicable(source.missing)
            texts = verifiers.source_texts(rows, gold)
            verifier = verifiers.loaded(load_dae, choose(checkpoint, "BENCH_DAE"))
            summaries = source.parsed(rows)
        except NotApplicable as reason:
            return [{"reason": str(reason)} for _ in rows]
        counts: list[Counts] = []
        for entailed in dae(texts, summaries, verifier):
            counts.append({"wrong": int(not all(entailed)), "arcs": len(entailed), "model": verifier.signature})
        return counts

    def scores(counts: Sequence[Counts]) -> list[Score]:
        return _columns(counts, _arc_source(arcs, parser))

    return Family(count, scores)


@dataclass(frozen=True)
class _ArcSource:
    """Where the arcs of summaries come from: the file of a parser, or a spaCy model.

    Args:
        column: name of the column.
        made: how arcs are made, for the signature.
        missing: what is needed and missing; empty if nothing is.
        file: file of arcs; None for spaCy.
        model: spaCy model.
    """

    column: str
    made: str
    missing: str
    file: Path | None = None
    model: str = ""

    def parsed(self, rows: Sequence[Row]) -> list[Parsed]:
        """Return the words and arcs of summaries.

        Raises:
            NotApplicable: the file is of other summaries.
            ValueError: the file has another form.
        """
        texts = [row["text"] for row in rows]
        if self.file is None:
            return spacy_arcs(texts, self.model)
        known = read_arcs(self.file)
        try:
            return arcs_of([str(row["id"]) for row in rows], texts, known, self.file.name)
        except ValueError as error:  # another system's file
            raise NotApplicable(f"needs the arcs of these summaries in {self.file.name}: {error}") from error


def _arc_source(arcs: str | None, parser: str | None) -> _ArcSource:
    """Return where arcs come from: a given file, else a given parser, else the file of BENCH_DAE_ARCS, else spaCy."""
    name = arcs or ("" if parser else choose(None, "BENCH_DAE_ARCS"))
    if name:
        missing = "" if Path(name).is_file() else f"needs the file of arcs {Path(name).name}: bench doctor"
        return _ArcSource("dae", "arcs:file", missing, Path(name))
    model, missing = spacy_models.installed(parser)
    if missing and not parser:
        missing = f"needs BENCH_DAE_ARCS naming a file of arcs, or {missing.removeprefix('needs ')}"
        return _ArcSource("dae", "arcs:file", missing)
    versions = model
    if not missing:
        versions = f"{spacy_models.versioned(model)}|spacy:{spacy_models.versioned('spacy').removeprefix('spacy-')}"
    return _ArcSource("dae[spacy]", f"arcs:collapsed|parser:{versions}", missing, model=model)


def _columns(counts: Sequence[Counts], source: _ArcSource) -> list[Score]:
    """Return both columns: the share of summaries with an arc that is not entailed, and how many have no arc."""
    made = f"{source.made}|max_arcs:{MAX_ARCS}"
    signature = f"def:goyal2021|{made}|words:ptb+lower|max:{MAX_LENGTH}|none:factual|dtype:float32"
    without_arcs = {"dae": "dae[no_arc]", "dae[spacy]": "dae[spacy,no_arc]"}[source.column]
    reason = reason_of(counts)
    signature += "|version:1" if reason else f"|{verifiers.model_of(counts)}|version:1"
    share, number = f"dae|{signature}", f"dae|summaries without an arc|{signature}"
    if reason:
        return [
            explained(Score(source.column, None, "percent", False, len(counts), share), reason),
            explained(Score(without_arcs, None, "count", None, len(counts), number), reason),
        ]
    wrong, none = [(row["wrong"], 1) for row in counts], float(sum(row["arcs"] == 0 for row in counts))
    return [
        score_of_sums(source.column, mean(), wrong, share, higher_is_better=False),
        Score(without_arcs, none, "count", None, len(counts), number),
    ]


dae_scores = dae_family()
"""The share of summaries with a dependency arc that the source does not entail."""
