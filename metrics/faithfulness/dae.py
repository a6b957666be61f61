"""DAE: the share of summaries with a dependency arc that their source does not entail (Goyal and Durrett 2021, NAACL).

ELECTRA reads the words of source and summary, `[CLS] source [SEP] summary [SEP]`, both as PTB tokens in lower case, 512
word pieces, of which the source loses some. A linear layer over the states of an arc's two words, each at its last
piece, decides whether the arc is entailed; a summary is factual when all of its arcs are. As in the authors' code only
the first 20 arcs are classified, without their labels. A summary without an arc, on which their code fails, is factual,
and counted in a column of its own.

The arcs are read from a file of the authors' form (tagoyal/factuality-datasets), because another parser's would change
the number: tab-separated values with a row for each summary, `id`, `context` (its tokens), `dep_idx0` ("child head"),
`dep0` (the label) and so on, empty after the last arc. Other columns are not read. Words count from 0. Arcs with a
label in `DROPPED`, which the model does not classify, are left out.
"""

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import torch

from bench.metrics.faithfulness import checkpoints, verifiers
from bench.metrics.faithfulness.checkpoints import NotApplicable
from bench.metrics.faithfulness.ptb_tokens import ptb_tokens, same_letters
from bench.metrics.faithfulness.verifiers import ModelInputs, Verifier
from bench.metrics.score import Counts, Family, Gold, Row, Score, explained, reason_of, score_of_sums
from bench.metrics.sums import mean

MAX_ARCS = 20
MAX_LENGTH = 512
SPARE = 2
"""Pieces that the authors cut beyond what is needed."""
DROPPED = frozenset({"punct", "ROOT", "root", "det", "case", "aux", "auxpass", "dep", "cop", "mark"})
"""Goyal and Durrett's list, by exact name; `nmod:of` and the like are kept."""

# Arcs -------------------------------------------------------------------------------------------------------------


class Arc(NamedTuple):
    """An arc between two words, counted from 0."""

    child: int
    head: int
    label: str


class Parsed(NamedTuple):
    """A summary's tokens in lower case, and its arcs in the order of the parser."""

    tokens: tuple[str, ...]
    arcs: tuple[Arc, ...]


def read_arcs(path: Path) -> dict[str, Parsed]:
    """Read a file of arcs by the ids of its summaries.

    Raises:
        ValueError: the file has another form; the message names the line.
    """
    by_id: dict[str, Parsed] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        for row in rows:
            if missing := [name for name in ("id", "context", "dep_idx0") if name not in row]:
                raise ValueError(f"expected columns id, context and dep_idx0 in {path.name}, line 1, got no {missing}")
            # The authors cut at single spaces, so that two of them hold an empty word.
            tokens = tuple((row["context"] or "").lower().split(" "))
            by_id[row["id"]] = Parsed(tokens, tuple(_arcs_in(row, len(tokens), f"{path.name}, line {rows.line_num}")))
    return by_id


def _arcs_in(row: Mapping[str, Any], n_words: int, place: str) -> Iterator[Arc]:
    """Yield the arcs of a row until its first empty column."""
    for n in count():
        pair = row.get(f"dep_idx{n}")
        if not pair:
            return
        parts = pair.split(" ")
        if len(parts) != 2 or not all(part.isdecimal() and int(part) < n_words for part in parts):
            raise ValueError(
                f"expected 'child head' of words 0 to {n_words - 1} in {place}, column dep_idx{n}, got '{pair}'"
            )
        label = row.get(f"dep{n}") or ""
        if label not in DROPPED:
            yield Arc(int(parts[0]), int(parts[1]), label)


def arcs_of(ids: Sequence[str], texts: Sequence[str], known: Mapping[str, Parsed], file: str) -> list[Parsed]:
    """Return the entry of each summary.

    Args:
        ids: ids of the summaries.
        texts: the summaries; a file that was made from other texts is refused.
        known: what `read_arcs` returned; it may hold more.
        file: name of the file, for errors.

    Raises:
        NotApplicable: a summary has no entry, or one whose tokens are of another text.
    """
    needs = f"needs the arcs of these summaries in {file}"
    if missing := [name for name in ids if name not in known]:
        raise NotApplicable(f"{needs}: {len(missing)} of {len(ids)} have none, such as '{missing[0]}'")
    for name, text in zip(ids, texts, strict=True):
        if not same_letters(known[name].tokens, text):
            found = " ".join(known[name].tokens)[:60]
            raise NotApplicable(f"{needs}: id '{name}' has '{found}' for '{text[:60]}'; parse these summaries again")
    return [known[name] for name in ids]


# The model --------------------------------------------------------------------------------------------------------


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
        raise NotApplicable(f"needs vocab.txt in the folder of the DAE model {folder.name}: bench doctor")
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
    sources: Sequence[str], summaries: Sequence[Parsed], verifier: Verifier, tokens: int = verifiers.TOKENS
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


# The family -------------------------------------------------------------------------------------------------------


def _count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
    """Count the arcs of each summary, and whether one is not entailed; or say what is missing."""
    file, texts = Path(os.environ.get("BENCH_DAE_ARCS", "")), [row["text"] for row in rows]
    try:
        if not file.name:
            raise NotApplicable("needs BENCH_DAE_ARCS naming a file of arcs: bench doctor")
        if not file.is_file():
            raise NotApplicable(f"needs the file of arcs {file.name}: bench doctor")
        sources = verifiers.source_texts(rows, gold)
        verifier = verifiers.loaded(load_dae, os.environ.get("BENCH_DAE", ""))
        summaries = arcs_of([str(row["id"]) for row in rows], texts, read_arcs(file), file.name)
    except NotApplicable as reason:
        return [{"reason": str(reason)} for _ in rows]
    return [
        {"wrong": int(not all(entailed)), "arcs": len(entailed), "model": verifier.signature}
        for entailed in dae(sources, summaries, verifier)
    ]


def _scores(counts: Sequence[Counts]) -> list[Score]:
    """Return both columns: the share of summaries with an arc that is not entailed, and how many have no arc."""
    reason = reason_of(counts)
    signature = f"def:goyal2021|arcs:file|max_arcs:{MAX_ARCS}|words:ptb+lower|max:{MAX_LENGTH}|none:factual"
    signature += "|dtype:float32|version:1" if reason else f"|dtype:float32|{verifiers.model_of(counts)}|version:1"
    share, number = f"dae|{signature}", f"dae|summaries without an arc|{signature}"
    if reason:
        return [
            explained(Score("dae", None, "percent", False, len(counts), share), reason),
            explained(Score("dae[no_arc]", None, "count", None, len(counts), number), reason),
        ]
    wrong, none = [(row["wrong"], 1) for row in counts], float(sum(row["arcs"] == 0 for row in counts))
    return [
        score_of_sums("dae", mean(), wrong, share, higher_is_better=False),
        Score("dae[no_arc]", none, "count", None, len(counts), number),
    ]


dae_scores = Family(_count, _scores)
"""The share of summaries with a dependency arc that the source does not entail, and how many have no arc.

Rows are `{"id", "text"}`, gold is `{id: {"source"}}`. Scoring raises ValueError for a file of another form.
"""
