"""Entity precision: how many named entities of a summary its source has (P_ent; Nan et al. 2021, EACL, section 3.1).

Only the summary is tagged; an entity is looked for in the text of the source. Seven types count (`TYPES`), as in the
authors' code. Three match levels:

    0   the entity as written is in the source
    1   so, whatever the case
    2   so, or two words of it that stand together, or one that is not a stop word (the authors' choice)

Two aggregates: `mean` over the summaries that have an entity (the authors'), and `pooled` over all entities. Taggers
find far fewer entities in lower-case text, so such text is not scored. The tagger decides the number: columns carry its
name.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Collection, Sequence
from typing import Literal, get_args

from bench.metrics.faithfulness import spacy_models
from bench.metrics.score import Gold, Row, Score, check_ids, explained
from bench.metrics.sums import Sums, ratio

__all__ = [
    "TAGGERS",
    "TYPES",
    "Aggregate",
    "Level",
    "aggregate",
    "entity_precision_scores",
    "is_in_source",
    "share_uncased",
    "signature",
    "spacy_entities",
    "stop_words",
]

Level = Literal[0, 1, 2]
Aggregate = Literal["mean", "pooled"]
Entities = Callable[[Sequence[str], str], list[list[str]]]

TYPES = frozenset({"PERSON", "FAC", "GPE", "ORG", "NORP", "LOC", "EVENT"})
TAGGERS = spacy_models.MODELS
UNUSED = ("tagger", "parser", "attribute_ruler", "lemmatizer")
MOST_UNCASED = 0.9


def is_in_source(entity: str, source: str, level: Level, stop_words: Collection[str] = ()) -> bool:
    """Return whether a source has an entity.

    Args:
        entity: as written in the summary.
        source: the text of the source.
        level: how it is matched.
        stop_words: in lower case; alone they are no match at level 2, but `US` is.

    >>> [is_in_source("The Aldra River", "on the ALDRA", level, {"the"}) for level in (0, 1, 2)]
    [False, False, True]
    """
    if level == 0:
        return entity in source
    if level == 1:
        return _found(entity, source)
    words = entity.split()
    # A longer run of words that is in the source has two that stand together.
    pairs = (f"{one} {two}" for one, two in zip(words, words[1:], strict=False))
    content = (word for word in words if word == "US" or word.lower() not in stop_words)
    return any(_found(part, source) for part in (*content, *pairs))


def _found(part: str, source: str) -> bool:
    return re.search(re.escape(part), source, re.IGNORECASE) is not None


def aggregate(found: Sequence[int], entities: Sequence[int], how: Aggregate) -> float | None:
    """Return P_ent in percent; None where no summary has an entity.

    Args:
        found: per summary, entities that its source has.
        entities: per summary, all entities.
        how: over summaries that have an entity, or over all entities.

    Raises:
        ValueError: unequal lengths, or more found than there are.

    >>> aggregate([1, 0, 2], [1, 0, 4], "mean"), aggregate([1, 0, 2], [1, 0, 4], "pooled")
    (75.0, 60.0)
    """
    if len(found) != len(entities) or any(not 0 <= some <= n for some, n in zip(found, entities, strict=False)):
        raise ValueError(f"expected per summary 0 <= found <= entities, got {len(found)} and {len(entities)} counts")
    if how == "pooled":
        return 100 * sum(found) / sum(entities) if any(entities) else None
    shares = [some / n for some, n in zip(found, entities, strict=True) if n]
    return 100 * math.fsum(shares) / len(shares) if shares else None


def share_uncased(texts: Sequence[str]) -> float:
    """Return which share of the texts that have a letter has no capital; 0 where none has a letter.

    >>> share_uncased(["the aldra", "The Aldra", "", "7"])
    0.5
    """
    worded = [text for text in texts if any(c.isalpha() for c in text)]
    return sum(not any(c.isupper() for c in text) for text in worded) / len(worded) if worded else 0.0


def signature(tagger: str, level: Level, how: Aggregate) -> str:
    """Return what was computed; `tagger` with its version."""
    return f"p_ent|def:nan2021|tagger:{tagger}|types:7|level:{level}|agg:{how}|none:left_out|version:1"


def spacy_entities(texts: Sequence[str], tagger: str) -> list[list[str]]:
    """Return the entities of the seven types of each text, in order, by a spaCy model.

    Raises:
        ImportError, OSError: spaCy or the model is not installed.
    """
    pipeline = spacy_models.load(tagger, UNUSED)
    return [[e.text for e in text.ents if e[0].ent_type_ in TYPES] for text in pipeline.pipe(texts, batch_size=64)]


def stop_words() -> Collection[str]:
    """Return the English stop words of spaCy."""
    found: Collection[str] = importlib.import_module("spacy.lang.en.stop_words").STOP_WORDS
    return found


def entity_precision_scores(rows: Sequence[Row], gold: Gold, *, tagger: str | None = None) -> list[Score]:
    """Score summaries by entity precision at every level, and count those without an entity.

    Args:
        rows: `{"id", "text"}`.
        gold: `{id: {"source"}}`.
        tagger: spaCy model; by default the first of `TAGGERS` that is installed.

    Raises:
        ValueError: other ids than the gold's.
    """
    check_ids(rows, gold)
    rows = sorted(rows, key=lambda row: str(row["id"]))
    texts, sources = [row["text"] for row in rows], [str(gold[row["id"]].get("source") or "") for row in rows]
    name, missing = spacy_models.installed(tagger)
    reason = missing
    if not all(sources):
        reason = "no source text"
    elif share_uncased(texts) > MOST_UNCASED:
        reason = "uncased input"
    if reason:
        return _columns(name, name, [], [], reason)
    entities, common = spacy_entities(texts, name), stop_words()
    pairs = [[(entity, source) for entity in some] for some, source in zip(entities, sources, strict=True)]
    return _columns(name, spacy_models.versioned(name), pairs, common)


def _columns(
    name: str, versioned: str, pairs: Sequence[Sequence[tuple[str, str]]], common: Collection[str], reason: str = ""
) -> list[Score]:
    """Return the columns from (entity, source) pairs of each summary, or without values for a reason."""
    entities, suffix, scores = [len(some) for some in pairs], f"|not applicable: {reason}" if reason else "", []
    for level in reversed(get_args(Level)):
        found = [sum(is_in_source(entity, source, level, common) for entity, source in some) for some in pairs]
        for how in get_args(Aggregate):
            value = aggregate(found, entities, how)
            counts: list[tuple[float, int]] = list(zip(found, entities, strict=True))
            if how == "mean":
                counts = [(some / n if n else 0, int(n > 0)) for some, n in counts]
            scores.append(
                Score(f"p_ent[{name},level{level},{how}]", value, "percent", True, sum(map(bool, entities)),
                      signature(versioned, level, how) + suffix, None if value is None else Sums(ratio(), counts))
            )  # fmt: skip
    none = None if reason else float(sum(not n for n in entities))
    signed = f"p_ent|tagger:{versioned}|types:7|summaries without an entity|version:1"
    scores = [explained(score, "no summary with an entity") for score in scores]
    return [*scores, Score(f"p_ent[{name},none]", none, "count", None, len(pairs), signed + suffix)]
