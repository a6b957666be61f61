"""DAE arcs: the words of a summary and its dependency arcs, from a file of the authors' parser or from spaCy.

The file has the authors' form (tagoyal/factuality-datasets): tab-separated values with a row for each summary, `id`,
`context` (its tokens), `dep_idx0` ("child head"), `dep0` (the label) and so on, empty after the last arc. Other columns
are not read. Words count from 0. Arcs with a label in `DROPPED`, which the model does not classify, are left out.
"""

from __future__ import annotations

import csv
import importlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from bench.metrics.faithfulness import spacy_models
from bench.metrics.faithfulness.ptb_tokens import as_written, ptb_tokens, same_letters

__all__ = ["Arc", "Parsed", "arcs_of", "collapse", "read_arcs", "spacy_arcs"]

UNUSED = ("tagger", "ner", "attribute_ruler", "lemmatizer")
# Goyal and Durrett's list, by exact name; `nmod:of` and the like are kept.
DROPPED = frozenset({"punct", "ROOT", "root", "det", "case", "aux", "auxpass", "dep", "cop", "mark"})
BE = frozenset({"be", "am", "is", "are", "was", "were", "been", "being", "'m", "'re", "'s"})
AUXILIARIES = frozenset({"aux", "auxpass", "case"})
PREPOSITIONS = frozenset({"prep", "agent", "dative"})
OBJECTS = frozenset({"pobj", "pcomp"})
PREDICATES = frozenset({"attr", "acomp"})
SUBJECTS = frozenset({"nsubj", "nsubjpass", "csubj", "csubjpass"})
COORDINATORS = frozenset({"cc", "preconj"})
CLAUSAL = frozenset({"ccomp", "xcomp", "dobj", "oprd", "expl"})
NO_WORD = frozenset({"", "meta"})


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
        try:
            for row in rows:
                place = f"{path.name}, line {rows.line_num}"
                if missing := [name for name in ("id", "context", "dep_idx0") if name not in row]:
                    raise ValueError(
                        f"expected columns id, context and dep_idx0 in {path.name}, line 1, got no {missing}"
                    )
                # The authors cut at single spaces, so that two of them hold an empty word.
                tokens, arcs = tuple((row["context"] or "").lower().split(" ")), tuple(_arcs_in(row, place))
                if outside := [arc for arc in arcs if not max(arc[:2]) < len(tokens)]:
                    raise ValueError(f"expected words 0 to {len(tokens) - 1} in {place}, got arc {list(outside[0])}")
                if row["id"] in by_id:
                    raise ValueError(f"expected one row per id in {place}: '{row['id']}' is there twice")
                by_id[row["id"]] = Parsed(tokens, arcs)
        except csv.Error as error:
            raise ValueError(f"expected tab-separated values in {path.name}, line {rows.line_num}: {error}") from error
    return by_id


def _arcs_in(row: Mapping[str, Any], place: str) -> Iterator[Arc]:
    """Yield the arcs of a row until its first empty column."""
    for n in count():
        pair = row.get(f"dep_idx{n}")
        if not pair:
            return
        parts = pair.split(" ")
        if len(parts) != 2 or not all(part.isdecimal() for part in parts):
            raise ValueError(f"expected 'child head' in {place}, column dep_idx{n}, got '{pair}'")
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
        ValueError: a summary has no entry, or one whose tokens are of another text.
    """
    missing = [name for name in ids if name not in known]
    if missing:
        raise ValueError(
            f"expected arcs for all {len(ids)} summaries in {file}, {len(missing)} have none: {missing[:3]}"
        )
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
        parser: name of a spaCy model.

    Raises:
        ImportError, OSError: spaCy or the model is not installed.
    """
    tokens = [ptb_tokens(text, lower=False) for text in texts]
    pipeline = spacy_models.load(parser, UNUSED)
    docs = (_doc(pipeline, words, text) for words, text in zip(tokens, texts, strict=True))
    summaries = []
    for words, doc in zip(tokens, pipeline.pipe(docs, batch_size=64), strict=True):
        arcs = collapse(words, [word.head.i for word in doc], [word.dep_ for word in doc])
        summaries.append(Parsed(tuple(map(str.lower, words)), tuple(arcs)))
    return summaries


def _doc(pipeline: Any, tokens: Sequence[str], text: str) -> Any:
    """Return a document of one sentence for the parser, which reads the spaces between words too."""
    doc = importlib.import_module("spacy.tokens").Doc
    words, spaces, end = as_written(tokens, text), [], 0
    for word in words:
        at = text.find(word, end)
        if at >= 0:
            end = at + len(word)
        spaces.append(at < 0 or text[end : end + 1].isspace())
    return doc(pipeline.vocab, words=words, spaces=spaces, sent_starts=[i == 0 for i in range(len(words))])


# Collapsed arcs ---------------------------------------------------------------------------------------------------


def collapse(words: Sequence[str], heads: Sequence[int], labels: Sequence[str]) -> list[Arc]:
    """Return a spaCy tree (ClearNLP labels) as arcs like CoreNLP's enhanced dependencies (Universal Dependencies 1).

    The object of a preposition depends on the governor of the preposition; the predicate heads a clause with "be", and
    takes over the dependents of the verb; all conjuncts depend on the first, and share its governor and its subject.
    Labels that CoreNLP has no arc for at this point (`DROPPED`) are left out. Arcs of controlled subjects and of the
    antecedents of relative clauses, which CoreNLP adds too, are not made.

    Args:
        words: words of the sentence.
        heads: head of each word; the root is its own head.
        labels: spaCy's label of each word.

    Returns:
        Arcs sorted by child, each pair once.

    >>> [tuple(arc) for arc in collapse("It rose in May".split(), [1, 1, 1, 2], ["nsubj", "ROOT", "prep", "pobj"])]
    [(0, 1, 'nsubj'), (3, 1, 'nmod:in')]
    """
    words, heads, labels = [word.lower() for word in words], list(heads), list(labels)
    depths = [_depth(i, heads) for i in range(len(words))]
    _raise_predicates(words, heads, labels)
    for i in sorted(range(len(words)), key=lambda i: -depths[i]):
        _raise_object(i, words, heads, labels)
    of_pairs: dict[tuple[int, int], str] = {}
    for arc in sorted([*_tree(heads, labels), *_shared(words, heads, labels)]):
        if arc.child != arc.head and arc.label not in DROPPED | NO_WORD:
            of_pairs.setdefault(arc[:2], arc.label)
    return [Arc(*pair, label) for pair, label in of_pairs.items()]


def _depth(i: int, heads: Sequence[int]) -> int:
    depth = 0
    while heads[i] != i:
        i, depth = heads[i], depth + 1
    return depth


def _children(i: int, heads: Sequence[int]) -> list[int]:
    return [child for child, head in enumerate(heads) if head == i and child != i]


def _raise_predicates(words: list[str], heads: list[int], labels: list[str]) -> None:
    """Put the predicate in the place of every "be" that is a main verb."""
    for verb, word in enumerate(words):
        if word not in BE or labels[verb] in AUXILIARIES:
            continue
        children = _children(verb, heads)
        kinds = {labels[child] for child in children}
        named = [child for child in children if labels[child] in PREDICATES]
        if "expl" in kinds or not (named or kinds & SUBJECTS):
            continue  # "there is a river": the verb is the predicate
        predicate = next(iter(named), None)
        if predicate is None and not kinds & CLAUSAL:
            after = [child for child in children if child > verb and labels[child] == "prep"]
            placed = [(prep, child) for prep in after for child in _children(prep, heads) if labels[child] == "pobj"]
            if placed:  # "is in the river"
                prep, predicate = placed[0]
                for child in _children(prep, heads):
                    heads[child] = predicate
                heads[prep], labels[prep] = predicate, "case"
        if predicate is not None:
            _replace(verb, predicate, heads, labels)
            labels[verb] = "cop"


def _replace(word: int, by: int, heads: list[int], labels: list[str]) -> None:
    """Put a word in the place of another in the tree, and make the other and its children depend on it."""
    for child in _children(word, heads):
        heads[child] = by
    is_root = heads[word] == word
    heads[by], labels[by] = heads[word], labels[word]
    if is_root:
        heads[by] = by
    heads[word] = by


def _raise_object(i: int, words: list[str], heads: list[int], labels: list[str]) -> None:
    """Put the object of a preposition in its place; the deepest prepositions come first."""
    children = _children(i, heads)
    objects = [child for child in children if labels[child] in OBJECTS]
    if any(labels[child] == "pobj" for child in objects):
        for child in objects:
            if labels[child] == "pcomp" and not _children(child, heads):
                labels[child] = "case"  # the second word of "because of"
        objects = [child for child in objects if labels[child] != "case"]
    if not objects and labels[i] in ("prep", "agent"):  # "out of the river": the inner one is done
        objects = [child for child in children if labels[child].startswith("nmod:")]
    if not objects:
        return
    kind = "advcl" if labels[objects[0]] == "pcomp" else "nmod"
    preposition = "agent" if labels[i] == "agent" else words[i]
    _replace(i, objects[0], heads, labels)
    if labels[objects[0]] in PREPOSITIONS:
        labels[objects[0]] = f"{kind}:{preposition}"
    for further in objects[1:]:
        labels[further] = labels[objects[0]]
        heads[further] = heads[objects[0]]
    labels[i] = "case"


def _first(i: int, heads: Sequence[int], labels: Sequence[str]) -> int:
    """Return the first conjunct of a word's chain."""
    while labels[i] == "conj" and heads[i] != i:
        i = heads[i]
    return i


def _tree(heads: Sequence[int], labels: Sequence[str]) -> list[Arc]:
    """Return an arc for each word; conjuncts and their coordinators depend on the first of the chain."""
    arcs = []
    for i, (head, label) in enumerate(zip(heads, labels, strict=True)):
        if label == "conj":
            arcs.append(Arc(i, _first(i, heads, labels), "conj"))
        elif label in COORDINATORS:
            arcs.append(Arc(i, _first(head, heads, labels), label))
        else:
            arcs.append(Arc(i, head, label))
    return arcs


def _shared(words: Sequence[str], heads: Sequence[int], labels: Sequence[str]) -> list[Arc]:
    """Return the arcs that a conjunct shares with the first one: its governor, and its subjects if it has none."""
    arcs = []
    for i in range(len(words)):
        first = _first(i, heads, labels)
        if first == i:
            continue
        if heads[first] != first:
            arcs.append(Arc(i, heads[first], labels[first]))
        if not any(labels[child] in SUBJECTS for child in _children(i, heads)):
            arcs += [Arc(child, i, labels[child]) for child in _children(first, heads) if labels[child] in SUBJECTS]
    return arcs
