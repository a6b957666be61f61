"""Entity precision: how many named entities of a summary its source has (P_ent; Nan et al. 2021, EACL, section 3.1).

Only the summary is tagged; an entity is searched for in the text of the source. Seven types count (`TYPES`), as in the
authors' code. Three match levels:

    0   the entity as written is in the source
    1   the same, whatever the case
    2   the same, or two neighbouring words of it, or one that is not a stop word (the authors' choice)

Two aggregates: `mean` over the summaries that have an entity (the authors'), and `pooled` over all entities. Taggers
find far fewer entities in lower-case text, so such text has no value. The tagger changes the number, so columns contain
its name.
"""

import importlib
import itertools
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from bench.metrics.faithfulness import spacy_models
from bench.metrics.requirements import SPACY, NamedModel, missing
from bench.metrics.score import Counts, Family, Gold, Row, Score, explained, reason_of, score_of_sums
from bench.metrics.sums import ratio

Level = Literal[0, 1, 2]
AGGREGATES = ("mean", "pooled")
TYPES = frozenset({"PERSON", "FAC", "GPE", "ORG", "NORP", "LOC", "EVENT"})
UNUSED = ("tagger", "parser", "attribute_ruler", "lemmatizer")
MAX_UNCASED = 0.9
"""Largest share of the texts with a letter that may have no capital."""


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
    parts = [entity]
    if level == 2:
        words = entity.split()
        # A longer run of words that is in the source contains two neighbours that are.
        pairs = [" ".join(pair) for pair in itertools.pairwise(words)]
        parts = [*(word for word in words if word == "US" or word.lower() not in stop_words), *pairs]
    return any(re.search(re.escape(part), source, re.IGNORECASE) for part in parts)


def spacy_entities(texts: Sequence[str], tagger: str) -> list[list[str]]:
    """Return the entities of the seven types of each text, in order, by a spaCy model.

    Raises:
        ImportError, OSError: spaCy or the model is not installed.
    """
    pipeline = spacy_models.load(tagger, UNUSED)
    return [
        [span.text for span in doc.ents if span[0].ent_type_ in TYPES] for doc in pipeline.pipe(texts, batch_size=64)
    ]


def stop_words() -> Collection[str]:
    """Return the English stop words of spaCy."""
    words: Collection[str] = importlib.import_module("spacy.lang.en.stop_words").STOP_WORDS
    return words


def entity_precision_by(tagger: str = "") -> Family:
    """Return the family that scores summaries by entity precision at every level, and counts those without an entity.

    Rows are `{"id", "text"}`, gold is `{id: {"source"}}`.

    Args:
        tagger: spaCy model; by default the one that the environment variable BENCH_NER names, else en_core_web_lg.
    """

    def count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
        counts: list[Counts] = []
        for row, matches in zip(rows, _matches(rows, gold, tagger), strict=True):
            has_letter = any(map(str.isalpha, row["text"]))
            uncased = has_letter and not any(map(str.isupper, row["text"]))
            counts.append({"worded": int(has_letter), "uncased": int(uncased), **matches})
        return counts

    def scores(counts: Sequence[Counts]) -> list[Score]:
        return _columns(_tagger(tagger), counts)

    return Family(count, scores)


def _matches(rows: Sequence[Row], gold: Gold, tagger: str) -> list[Counts]:
    """Return for each summary its number of entities, and at each level of those in its source; or the reason."""
    name = _tagger(tagger)
    needed = missing((SPACY, NamedModel(name)))
    reason = f"needs {needed}" if needed else ""
    sources: list[Any] = [gold[row["id"]].get("source") for row in rows]
    if not any(sources) or None in sources:  # an empty source among others has no entity
        reason = "no source text"
    if reason:
        return [{"reason": reason} for _ in rows]
    entities, common = spacy_entities([row["text"] for row in rows], name), stop_words()
    version = spacy_models.versioned(name)
    counts: list[Counts] = []
    for of_summary, source in zip(entities, sources, strict=True):
        matches = []
        for level in get_args(Level):
            matches.append(sum(is_in_source(entity, source, level, common) for entity in of_summary))
        counts.append({"entities": len(of_summary), "matches": matches, "tagger": version})
    return counts


def _tagger(tagger: str) -> str:
    """Return the name of the spaCy model; no other model takes its place unless it is named."""
    return tagger or os.environ.get(spacy_models.TAGGER_VARIABLE) or spacy_models.TAGGER


def _columns(name: str, counts: Sequence[Counts]) -> list[Score]:
    """Return the columns of a tagger from the counts of all summaries."""
    # A missing source comes first, then lower-case text, then what this machine lacks.
    reason = reason_of(counts)
    worded, uncased = sum(row["worded"] for row in counts), sum(row["uncased"] for row in counts)
    if uncased / max(worded, 1) > MAX_UNCASED and (not reason or reason.startswith("needs ")):
        reason = "uncased input"
    tagger = name if reason else counts[0]["tagger"]
    without = 0 if reason else sum(row["entities"] == 0 for row in counts)
    scores = []
    for level in reversed(get_args(Level)):
        for how in AGGREGATES:
            column = f"p_ent[{name},level{level},{how}]"
            signature = f"p_ent|def:nan2021|tagger:{tagger}|types:7|level:{level}|agg:{how}|none:left_out|version:1"
            if reason:
                scores.append(explained(Score(column, None, "percent", True, 0, signature), reason))
                continue
            pairs = [_summands(row["matches"][level], row["entities"], how) for row in counts]
            none = "no summary with an entity"
            score = score_of_sums(column, ratio(), pairs, signature, higher_is_better=True, why=none)
            scores.append(replace(score, n=len(counts) - without))
    signature = f"p_ent|tagger:{tagger}|types:7|summaries without an entity|version:1"
    value, n = (None, 0) if reason else (float(without), len(counts))
    return [*scores, explained(Score(f"p_ent[{name},none]", value, "count", None, n, signature), reason)]


def _summands(matches: int, entities: int, how: str) -> tuple[float, int]:
    """Return the numerator and denominator of one summary."""
    if how == "pooled":
        return matches, entities
    return (matches / entities, 1) if entities else (0, 0)


entity_precision_scores = entity_precision_by()
"""The share of a summary's named entities that the source has, at each level."""
