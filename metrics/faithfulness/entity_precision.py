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
import itertools
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal, get_args

from bench.metrics.faithfulness import spacy_models
from bench.metrics.score import Counts, Family, Gold, Row, Score, explained, score_of_sums, why_not_of
from bench.metrics.sums import ratio, value_of

__all__ = [
    "TYPES",
    "Aggregate",
    "Level",
    "aggregate",
    "entity_precision_family",
    "entity_precision_scores",
    "is_in_source",
    "signature",
    "spacy_entities",
    "stop_words",
]

Level = Literal[0, 1, 2]
Aggregate = Literal["mean", "pooled"]

TYPES = frozenset({"PERSON", "FAC", "GPE", "ORG", "NORP", "LOC", "EVENT"})
UNUSED = ("tagger", "parser", "attribute_ruler", "lemmatizer")
MOST_UNCASED = 0.9
"""Share of the texts with a letter that may have no capital: taggers look for capitals."""


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
        return _has(source, entity)
    words = entity.split()
    # A longer run of words that is in the source has two that stand together.
    pairs = [" ".join(pair) for pair in itertools.pairwise(words)]
    content = [word for word in words if word == "US" or word.lower() not in stop_words]
    return any(_has(source, part) for part in (*content, *pairs))


def _has(source: str, part: str) -> bool:
    return re.search(re.escape(part), source, re.IGNORECASE) is not None


def aggregate(matches: Sequence[int], entities: Sequence[int], how: Aggregate) -> float | None:
    """Return P_ent in percent; None where no summary has an entity.

    Args:
        matches: per summary, entities that its source has.
        entities: per summary, all entities.
        how: over summaries that have an entity, or over all entities.

    Raises:
        ValueError: unequal lengths, or more matches than entities.

    >>> aggregate([1, 0, 2], [1, 0, 4], "mean"), aggregate([1, 0, 2], [1, 0, 4], "pooled")
    (75.0, 60.0)
    """
    if len(matches) != len(entities) or any(not 0 <= n <= of for n, of in zip(matches, entities, strict=False)):
        counts = f"{len(matches)} and {len(entities)} counts"
        raise ValueError(f"expected per summary 0 <= matches <= entities, got {counts}")
    pairs = [_summed(n, of, how) for n, of in zip(matches, entities, strict=True)]
    return value_of([math.fsum(column) for column in zip(*pairs, strict=True)] or [0, 0], ratio())


def _summed(matches: int, entities: int, how: Aggregate) -> tuple[float, int]:
    """Return what is summed of a summary: above and below the line."""
    if how == "pooled":
        return matches, entities
    if entities == 0:
        return 0, 0
    return matches / entities, 1


def _has_letter(text: str) -> bool:
    return any(c.isalpha() for c in text)


def _is_uncased(text: str) -> bool:
    return _has_letter(text) and not any(c.isupper() for c in text)


def signature(tagger: str, level: Level, how: Aggregate) -> str:
    """Return what was computed; `tagger` with its version."""
    return f"p_ent|def:nan2021|tagger:{tagger}|types:7|level:{level}|agg:{how}|none:left_out|version:1"


def spacy_entities(texts: Sequence[str], tagger: str) -> list[list[str]]:
    """Return the entities of the seven types of each text, in order, by a spaCy model.

    Raises:
        ImportError, OSError: spaCy or the model is not installed.
    """
    pipeline = spacy_models.load(tagger, UNUSED)
    entities = []
    for doc in pipeline.pipe(texts, batch_size=64):
        entities.append([span.text for span in doc.ents if span[0].ent_type_ in TYPES])
    return entities


def stop_words() -> Collection[str]:
    """Return the English stop words of spaCy."""
    words: Collection[str] = importlib.import_module("spacy.lang.en.stop_words").STOP_WORDS
    return words


def entity_precision_family(*, tagger: str | None = None) -> Family:
    """Return the family that scores summaries by entity precision at every level, and counts those without an entity.

    Rows are `{"id", "text"}`, gold is `{id: {"source"}}`.

    Args:
        tagger: spaCy model; by default the first of `spacy_models.MODELS` that is installed.
    """

    def count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
        counts: list[Counts] = []
        for row, matches in zip(rows, _matches(rows, gold, tagger), strict=True):
            cases = {"worded": int(_has_letter(row["text"])), "uncased": int(_is_uncased(row["text"]))}
            counts.append({**cases, **matches})
        return counts

    def scores(counts: Sequence[Counts]) -> list[Score]:
        name, _ = spacy_models.installed(tagger)
        return _columns(name, counts)

    return Family(count, scores)


def _matches(rows: Sequence[Row], gold: Gold, tagger: str | None) -> list[Counts]:
    """Return for each summary its entities, and at each level those that its source has; or why it has none."""
    name, missing = spacy_models.installed(tagger)
    sources = [str(gold[row["id"]].get("source") or "") for row in rows]
    if not all(sources):
        missing = "no source text"
    if missing:
        return [{"why_not": missing} for _ in rows]
    entities, common = spacy_entities([row["text"] for row in rows], name), stop_words()
    version = spacy_models.versioned(name)
    counts: list[Counts] = []
    for of_summary, source in zip(entities, sources, strict=True):
        matches = []
        for level in get_args(Level):
            matches.append(sum(is_in_source(entity, source, level, common) for entity in of_summary))
        counts.append({"entities": len(of_summary), "matches": matches, "tagger": version})
    return counts


def _columns(name: str, counts: Sequence[Counts]) -> list[Score]:
    """Return the columns of a tagger from the counts of all summaries, without values where they cannot be scored."""
    # What the sources lack comes first, then what the texts lack, then what this machine lacks.
    why_not = why_not_of(counts)
    worded, uncased = sum(row["worded"] for row in counts), sum(row["uncased"] for row in counts)
    if uncased / max(worded, 1) > MOST_UNCASED and (not why_not or why_not.startswith("needs ")):
        why_not = "uncased input"
    if why_not:
        return _without_values(name, why_not)
    version, tagged = counts[0]["tagger"], sum(row["entities"] > 0 for row in counts)
    scores = []
    for level in reversed(get_args(Level)):
        for how in get_args(Aggregate):
            pairs = [_summed(row["matches"][level], row["entities"], how) for row in counts]
            score = score_of_sums(
                f"p_ent[{name},level{level},{how}]",
                ratio(),
                pairs,
                signature(version, level, how),
                higher_is_better=True,
                why="no summary with an entity",
            )
            scores.append(replace(score, n=tagged))
    return [*scores, _without_entity(name, version, float(len(counts) - tagged), len(counts))]


def _without_values(name: str, why_not: str) -> list[Score]:
    scores = []
    for level in reversed(get_args(Level)):
        for how in get_args(Aggregate):
            column = f"p_ent[{name},level{level},{how}]"
            scores.append(Score(column, None, "percent", True, 0, signature(name, level, how)))
    return [explained(score, why_not) for score in (*scores, _without_entity(name, name, None, 0))]


def _without_entity(name: str, version: str, count: float | None, n: int) -> Score:
    """Return the column of summaries without an entity."""
    signed = f"p_ent|tagger:{version}|types:7|summaries without an entity|version:1"
    return Score(f"p_ent[{name},none]", count, "count", None, n, signed)


entity_precision_scores = entity_precision_family()
"""The share of a summary's named entities that the source has, at each level."""
