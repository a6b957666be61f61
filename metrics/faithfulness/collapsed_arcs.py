"""Collapsed arcs: a spaCy tree (ClearNLP labels) as arcs like CoreNLP's enhanced dependencies (Universal, version 1).

What changes: the object of a preposition hangs on what the preposition hung on; the predicate heads a clause with
"be", and takes what hung on the verb; all conjuncts hang on the first, and share its governor and its subject. Labels
that CoreNLP has no arc for at this point (`DROPPED`) are left out. Arcs of controlled subjects and of the antecedents
of relative clauses, which CoreNLP adds too, are not made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["DROPPED", "Arc", "collapse"]

# Goyal and Durrett's list, by exact name; `nmod:of` and the like stay.
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


def collapse(words: Sequence[str], heads: Sequence[int], labels: Sequence[str]) -> list[Arc]:
    """Return the arcs of a sentence, by child, each pair once.

    Args:
        words: of the sentence.
        heads: per word; its own index marks a root.
        labels: per word, spaCy's.

    Raises:
        ValueError: unequal lengths.

    >>> [tuple(arc) for arc in collapse("It rose in May".split(), [1, 1, 1, 2], ["nsubj", "ROOT", "prep", "pobj"])]
    [(0, 1, 'nsubj'), (3, 1, 'nmod:in')]
    """
    if not len(words) == len(heads) == len(labels):
        raise ValueError(f"expected a head and a label per word, got {len(words)}, {len(heads)}, {len(labels)}")
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
    """Let the predicate take the place of every "be" that is a main verb."""
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
    """Put a word where another stands in the tree, and hang the other and its children on it."""
    for child in _children(word, heads):
        heads[child] = by
    is_root = heads[word] == word
    heads[by], labels[by] = heads[word], labels[word]
    if is_root:
        heads[by] = by
    heads[word] = by


def _raise_object(i: int, words: list[str], heads: list[int], labels: list[str]) -> None:
    """Let the object of a preposition take its place; the deepest prepositions come first."""
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
    kind, preposition = "nmod", words[i]
    if labels[objects[0]] == "pcomp":
        kind = "advcl"
    if labels[i] == "agent":
        preposition = "agent"
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
    """Return an arc per word, conjuncts and their coordinators on the first of the chain."""
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
