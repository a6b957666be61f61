"""DAE arcs: the words of a summary and its dependency arcs, from a file of a parser or made by spaCy.

A file is one of two. `.tsv` is the authors' form (tagoyal/factuality-datasets), a row per summary: `id`, `context`
(its tokens), `dep_idx0` ("child head"), `dep0` (the label) and so on, empty after the last arc; other columns are not
read. `.jsonl` is a line per summary, `{"id": "test/0", "tokens": [...], "arcs": [[child, head, label], ...]}`, and may
hold all arcs of the parser. Words count from 0. Arcs whose label the model is not asked about are left out of both.
"""

from __future__ import annotations

import csv
import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from bench.metrics.faithfulness import spacy_models
from bench.metrics.faithfulness.collapsed_arcs import DROPPED, Arc, collapse
from bench.metrics.faithfulness.ptb_tokens import as_written, ptb_tokens, same_letters

__all__ = ["Parsed", "arcs_of", "read_arcs", "spacy_arcs"]

UNUSED = ("tagger", "ner", "attribute_ruler", "lemmatizer")


class Parsed(NamedTuple):
    """A summary's tokens in lower case, and its arcs in the order of the parser."""

    tokens: tuple[str, ...]
    arcs: tuple[Arc, ...]


def read_arcs(path: Path) -> dict[str, Parsed]:
    """Read a file of arcs by the ids of its summaries.

    Raises:
        ValueError: another form; it says which line.
    """
    readers = {".tsv": _tsv, ".jsonl": _jsonl}
    if path.suffix not in readers:
        raise ValueError(f"expected a file of arcs that ends in .tsv or .jsonl, got {path.name}")
    by_id: dict[str, Parsed] = {}
    for line, name, parsed in readers[path.suffix](path):
        if name in by_id:
            raise ValueError(f"expected one row per id in {path.name}, line {line}: '{name}' is there twice")
        outside = [arc for arc in parsed.arcs if not 0 <= min(arc[:2]) <= max(arc[:2]) < len(parsed.tokens)]
        if outside:
            raise ValueError(
                f"expected words 0 to {len(parsed.tokens) - 1} in {path.name}, line {line}, got arc {list(outside[0])}"
            )
        by_id[name] = parsed
    return by_id


def _tsv(path: Path) -> Iterator[tuple[int, str, Parsed]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        try:
            columns = rows.fieldnames or []
            lacking = [name for name in ("id", "context", "dep_idx0") if name not in columns]
            if lacking:
                raise ValueError(f"expected columns id, context and dep_idx0 in {path.name}, line 1, lacks {lacking}")
            for row in rows:
                # The authors cut at single spaces, so that two of them hold an empty word.
                tokens = tuple((row["context"] or "").lower().split(" "))
                yield rows.line_num, str(row["id"]), Parsed(tokens, tuple(_numbered(row, path, rows.line_num)))
        except csv.Error as error:
            raise ValueError(f"expected tab-separated values in {path.name}, line {rows.line_num}: {error}") from error


def _numbered(row: Mapping[str, Any], path: Path, line: int) -> Iterator[Arc]:
    """Yield the arcs of a row until its first empty column."""
    for n in count():
        pair = row.get(f"dep_idx{n}")
        if not pair:
            return
        parts = pair.split(" ")
        if len(parts) != 2 or not all(part.isdecimal() for part in parts):
            raise ValueError(f"expected 'child head' in {path.name}, line {line}, column dep_idx{n}, got '{pair}'")
        label = row.get(f"dep{n}") or ""
        if label not in DROPPED:
            yield Arc(int(parts[0]), int(parts[1]), label)


def _jsonl(path: Path) -> Iterator[tuple[int, str, Parsed]]:
    with path.open(encoding="utf-8") as file:
        for line, text in enumerate(file, start=1):
            if not text.strip():
                continue
            try:
                row = json.loads(text)
            except json.JSONDecodeError as error:
                raise ValueError(f"expected JSON in {path.name}, line {line}: {error.msg}") from error
            match row:
                case {"id": name, "tokens": [*tokens], "arcs": [*arcs]} if all(
                    isinstance(token, str) for token in tokens
                ) and all(map(_is_arc, arcs)):
                    kept = tuple(Arc(*arc) for arc in arcs if arc[2] not in DROPPED)
                    yield line, str(name), Parsed(tuple(token.lower() for token in tokens), kept)
                case _:
                    raise ValueError(
                        'expected {"id", "tokens": [text, ...], "arcs": [[child, head, label], ...]} '
                        f"in {path.name}, line {line}"
                    )


def _is_arc(arc: object) -> bool:
    match arc:
        case [int(child), int(head), str()]:
            return not isinstance(child, bool) and not isinstance(head, bool)
    return False


def arcs_of(ids: Sequence[str], texts: Sequence[str], known: Mapping[str, Parsed], file: str) -> list[Parsed]:
    """Return the entry of each summary.

    Args:
        ids: of the summaries.
        texts: the summaries; a file that was made from others is refused.
        known: what `read_arcs` returned; may hold more.
        file: its name, for errors.

    Raises:
        ValueError: a summary has no entry, or one whose tokens are of another text.
    """
    lacking = [name for name in ids if name not in known]
    if lacking:
        raise ValueError(f"expected arcs for every summary in {file}, lacks {len(lacking)} of {len(ids)} {lacking[:3]}")
    for name, text in zip(ids, texts, strict=True):
        if not same_letters(known[name].tokens, text):
            raise ValueError(
                f"expected the tokens of the summary in {file}, id '{name}', got "
                f"'{' '.join(known[name].tokens)[:60]}' for '{text[:60]}': parse these summaries again"
            )
    return [known[name] for name in ids]


def spacy_arcs(texts: Sequence[str], parser: str) -> list[Parsed]:
    """Return PTB tokens and collapsed arcs of texts, each parsed as one sentence.

    Args:
        texts: in their own case, which the parser needs.
        parser: a spaCy model.

    Raises:
        ImportError, OSError: spaCy or the model is not installed.
    """
    tokens = [ptb_tokens(text, lower=False) for text in texts]
    pipeline = spacy_models.load(parser, UNUSED)
    docs = (_doc(pipeline, words, text) for words, text in zip(tokens, texts, strict=True))
    parsed = pipeline.pipe(docs, batch_size=64)
    summaries = []
    for words, doc in zip(tokens, parsed, strict=True):
        arcs = collapse(words, [word.head.i for word in doc], [word.dep_ for word in doc])
        summaries.append(Parsed(tuple(map(str.lower, words)), tuple(arcs)))
    return summaries


def _doc(pipeline: Any, tokens: Sequence[str], text: str) -> Any:
    """Return a document of one sentence for the parser, which looks at spaces too."""
    doc = importlib.import_module("spacy.tokens").Doc

    words, spaces, end = as_written(tokens, text), [], 0
    for word in words:
        at = text.find(word, end)
        if at >= 0:
            end = at + len(word)
        spaces.append(at < 0 or text[end : end + 1].isspace())
    return doc(pipeline.vocab, words=words, spaces=spaces, sent_starts=[i == 0 for i in range(len(words))])
