"""DAE: the share of summaries with a dependency arc that their source does not entail (Goyal and Durrett 2021, NAACL).

ELECTRA reads the words of source and summary, `[CLS] source [SEP] summary [SEP]`, both as PTB tokens in lower case, 512
word pieces, of which the source loses some. A linear layer over the states of an arc's two words, each at its last
piece, says whether the arc is entailed; a summary is factual when all of its arcs are. As in the authors' code only the
first 20 arcs are looked at, and labels of arcs are not. A summary without an arc, which their code cannot take, is
factual, and counted in a column of its own.

The arcs decide too: read from a parser's file the column is `dae`, made by spaCy it is `dae[spacy]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.nn.utils.rnn import pad_sequence

from bench.metrics.faithfulness import spacy_models, verifiers
from bench.metrics.faithfulness.dae_arcs import Parsed, arcs_of, read_arcs, spacy_arcs
from bench.metrics.faithfulness.ptb_tokens import ptb_tokens
from bench.metrics.faithfulness.verifiers import NoVerifier, Verifier
from bench.metrics.score import Counts, Family, Gold, Row, Score, explained, score_of_sums, why_not_of
from bench.metrics.sums import mean

__all__ = ["MAX_ARCS", "EncodedArcs", "dae", "dae_family", "dae_scores", "encoded_arcs", "load_dae", "pieces_of"]

MAX_ARCS = 20
MAX_LENGTH = 512
SPARE = 2  # pieces that the authors cut beyond what is needed


class EncodedArcs(NamedTuple):
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
            ends = []
            for places in (children, heads):
                index = places[..., None].expand(-1, -1, states.shape[-1])  # [B, A, H]
                ends.append(states.gather(1, index))
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
    pieces = tokenizer(list(words), is_split_into_words=True, add_special_tokens=False, verbose=False)
    for position, word in enumerate(pieces.word_ids()):
        last[word] = position
    return pieces["input_ids"], last


def encoded_arcs(
    source: Sequence[int], summary: Parsed, tokenizer: Any, max_arcs: int | None = MAX_ARCS
) -> EncodedArcs:
    """Return a pair as the model reads it.

    Args:
        source: ids of its word pieces; the last are cut where the pair is too long.
        summary: its words and arcs; only of one longer than the model are pieces cut, and the arcs of cut words.
        tokenizer: of the model.
        max_arcs: how many arcs are looked at, the first ones; None is all.
    """
    pieces, last = pieces_of(summary.tokens, tokenizer)
    excess = len(source) + len(pieces) + 3 - MAX_LENGTH
    kept = source
    if excess > 0:
        kept = source[: max(0, len(source) - excess - SPARE)]
    pieces, start = pieces[: MAX_LENGTH - 3], len(kept) + 2
    is_kept = [0 <= position < len(pieces) for position in last]
    arcs = [arc for arc in summary.arcs[:max_arcs] if is_kept[arc.child] and is_kept[arc.head]]
    separator = tokenizer.sep_token_id
    return EncodedArcs(
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
    encoded = []
    for source, summary in zip(sources, summaries, strict=True):
        encoded.append(encoded_arcs(read[source], summary, verifier.tokenizer, max_arcs))
    verdicts: list[list[bool]] = [[] for _ in encoded]
    with_arcs = [i for i, pair in enumerate(encoded) if pair.children]
    with torch.inference_mode():
        for batch in verifiers.batches([len(encoded[i].input_ids) for i in with_arcs], tokens):
            rows = [with_arcs[i] for i in batch]
            logits = verifier.model(**_padded(verifier, [encoded[i] for i in rows])).logits  # [B, A, 2]
            entailed = (logits[..., verifier.label] > logits[..., 1 - verifier.label]).tolist()
            for i, row in zip(rows, entailed, strict=True):
                verdicts[i] = row[: len(encoded[i].children)]
    return verdicts


def _padded(verifier: Verifier, encoded: Sequence[EncodedArcs]) -> dict[str, Any]:
    """Return one batch, padded on the right, on the model's device; a padded arc is at position 0."""

    def column(rows: Sequence[Sequence[int]], pad: int = 0) -> Any:
        tensors = [torch.tensor(row, dtype=torch.long) for row in rows]
        return pad_sequence(tensors, batch_first=True, padding_value=pad).to(verifier.model.device)

    return {
        "input_ids": column([pair.input_ids for pair in encoded], verifier.tokenizer.pad_token_id),
        "attention_mask": column([[1] * len(pair.input_ids) for pair in encoded]),
        "children": column([pair.children for pair in encoded]),
        "heads": column([pair.heads for pair in encoded]),
    }


def dae_family(
    *,
    checkpoint: str | None = None,
    arcs: str | None = None,
    parser: str | None = None,
    max_arcs: int | None = MAX_ARCS,
    device: str | None = None,
) -> Family:
    """Return the family that scores summaries by the share that is not factual, and counts those without an arc.

    Rows are `{"id", "text"}`, gold is `{id: {"source"}}`. Scoring raises ValueError for a file of another form.

    Args:
        checkpoint: folder of the authors' model; by default what BENCH_DAE names.
        arcs: file of the arcs of these summaries; by default, unless a parser is given, what BENCH_DAE_ARCS names.
        parser: spaCy model that makes the arcs where no file is named; by default the first that is installed.
        max_arcs: how many arcs of a summary are looked at; None is all.
        device: by default the GPU if there is one.

    Raises:
        ValueError: both arcs and parser.
    """
    if arcs and parser:
        raise ValueError(f"expected arcs from a file or from a parser, got both: {Path(arcs).name} and {parser}")

    def count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
        try:
            source = _arc_source(arcs, parser)
            if source.missing:
                raise NoVerifier(source.missing)
            texts = verifiers.source_texts(rows, gold)
            verifier = verifiers.loaded(load_dae, verifiers.named(checkpoint, "BENCH_DAE"), device)
            summaries = source.parsed(rows)
        except NoVerifier as why:
            return [{"why_not": str(why)} for _ in rows]
        counts: list[Counts] = []
        for entailed in dae(texts, summaries, verifier, max_arcs):
            counts.append({"wrong": int(not all(entailed)), "arcs": len(entailed), "model": verifier.signature})
        return counts

    def scores(counts: Sequence[Counts]) -> list[Score]:
        return _columns(counts, _arc_source(arcs, parser), max_arcs)

    return Family(count, scores)


@dataclass(frozen=True)
class _ArcSource:
    """Where the arcs of summaries come from: the file of a parser, or a spaCy model.

    Args:
        column: of the share; the source decides the number.
        made: how arcs are made, for the signature.
        missing: what is needed for them; empty where it is there.
        file: of arcs; None for spaCy.
        model: of spaCy.
    """

    column: str
    made: str
    missing: str
    file: Path | None = None
    model: str = ""

    def parsed(self, rows: Sequence[Row]) -> list[Parsed]:
        """Return the words and arcs of summaries.

        Raises:
            NoVerifier: the file is of other summaries.
            ValueError: a file of another form.
        """
        texts = [row["text"] for row in rows]
        if self.file is None:
            return spacy_arcs(texts, self.model)
        known = read_arcs(self.file)
        try:
            return arcs_of([str(row["id"]) for row in rows], texts, known, self.file.name)
        except ValueError as problem:  # another system's file
            raise NoVerifier(f"needs the arcs of these summaries in {self.file.name}: {problem}") from problem


def _arc_source(arcs: str | None, parser: str | None) -> _ArcSource:
    """Return where arcs come from: the file that is given or named, unless a parser is given; else spaCy."""
    named = arcs or ""
    if not arcs and not parser:
        named = verifiers.named(None, "BENCH_DAE_ARCS")
    if named:
        file, missing = Path(named), ""
        if not file.is_file():
            missing = f"needs the file of arcs {file.name}: bench doctor"
        return _ArcSource("dae", "arcs:file", missing, file)
    model, missing = spacy_models.installed(parser)
    if missing and not parser:
        missing = f"needs BENCH_DAE_ARCS naming a file of arcs, or {missing.removeprefix('needs ')}"
        return _ArcSource("dae", "arcs:file", missing)
    versions = model
    if not missing:
        versions = f"{spacy_models.versioned(model)}|spacy:{spacy_models.versioned('spacy').removeprefix('spacy-')}"
    return _ArcSource("dae[spacy]", f"arcs:collapsed|parser:{versions}", missing, model=model)


def _columns(counts: Sequence[Counts], source: _ArcSource, max_arcs: int | None) -> list[Score]:
    """Return both columns: the share of summaries with an arc that is not entailed, and how many have no arc."""
    looked_at = max_arcs or "all"
    options = f"def:goyal2021|{source.made}|max_arcs:{looked_at}|words:ptb+lower|max:{MAX_LENGTH}|none:factual"
    without_arcs = {"dae": "dae[no_arc]", "dae[spacy]": "dae[spacy,no_arc]"}[source.column]
    why_not = why_not_of(counts)
    if why_not:
        signature = f"{options}|dtype:float32|version:1"
        return [
            explained(Score(source.column, None, "percent", False, len(counts), f"dae|{signature}"), why_not),
            explained(Score(without_arcs, None, "count", None, len(counts), _no_arc(signature)), why_not),
        ]
    signature = f"{options}|dtype:float32|{verifiers.model_of(counts)}|version:1"
    wrong = [(row["wrong"], 1) for row in counts]
    none = float(sum(row["arcs"] == 0 for row in counts))
    return [
        score_of_sums(source.column, mean(), wrong, f"dae|{signature}", higher_is_better=False),
        Score(without_arcs, none, "count", None, len(counts), _no_arc(signature)),
    ]


def _no_arc(signature: str) -> str:
    return f"dae|summaries without an arc|{signature}"


dae_scores = dae_family()
"""The share of summaries with a dependency arc that the source does not entail."""
