"""Human results: what raters said of two methods or of each, tests and agreement (HistAlign tables 4 and 6).

Shares are of all judgements, as in HistAlign, in percent. Tests are over items, since raters of one item saw the same
texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from bench.leaderboards.human.answers import Answers, Judgement
from bench.leaderboards.statistics.agreement import alpha, raw_agreement
from bench.leaderboards.statistics.intervals import Interval, bootstrap, bootstrap_difference
from bench.leaderboards.statistics.resampling import resamples
from bench.leaderboards.statistics.significance import compare, holm
from bench.metrics.sums import Sums, ratio, values_of

__all__ = ["Agreement", "Difference", "HumanResults", "Pair", "Rating", "Votes", "as_content", "bootstrap_p", "results"]

ROUNDS = 10_000
ORDER = {"pairwise": ("lose", "tie", "win"), "single": ("no", "yes")}
"""Answers once they are unblinded, lowest first."""

AnswersByItem = Mapping[tuple[str, str, str], Sequence[str]]
"""By item, question and method (empty for a pair): the unblinded answers of its raters."""


@dataclass(frozen=True)
class Votes:
    """How many judgements, or majorities of an item's raters, the first method wins, ties and loses."""

    win: int
    tie: int
    lose: int

    @property
    def shares(self) -> tuple[float, float, float]:
        """Wins, ties and losses in percent; 0 without votes."""
        n = max(1, self.win + self.tie + self.lose)
        return 100 * self.win / n, 100 * self.tie / n, 100 * self.lose / n


@dataclass(frozen=True)
class Difference:
    """Two methods on the same items.

    Args:
        value: the method's less the baseline's, in points of percent; of a pair, wins less losses.
        low, high: ends of its 95 % bootstrap interval over items.
        p_bootstrap: two-sided paired bootstrap test over items; somewhat too small where items are few.
        p: two-sided paired randomisation test over items, exact at any number of them.
        adjusted: `p` after Holm over all tests of the study; it decides on a star.
    """

    value: float
    low: float | None
    high: float | None
    p_bootstrap: float
    p: float
    adjusted: float


@dataclass(frozen=True)
class Pair:
    """One question of a pairwise study.

    Args:
        question: its name.
        judgements: of every rater.
        majority: one for each item: what more of its raters say than anything else, else a tie.
        difference: wins less losses.
        left_share: percent of judgements without ties that prefer the text on the left. Far from 50 it says that
            raters did not read. None where all are ties.
    """

    question: str
    judgements: Votes
    majority: Votes
    difference: Difference
    left_share: float | None


@dataclass(frozen=True)
class Rating:
    """One method and question of a single study.

    Args:
        method, question: their names.
        mean: percent of judgements that say yes, with its interval over items.
        judgements: how many.
        difference: from the study's first method; None for that method and without items that both have.
    """

    method: str
    question: str
    mean: Interval
    judgements: int
    difference: Difference | None


@dataclass(frozen=True)
class Agreement:
    """How far raters agree on a question.

    Args:
        question: its name.
        nominal, ordinal: Krippendorff's alpha; None where it is not defined.
        raw: percent of pairs of answers to one text or pair of texts that are the same; None without such pairs.
        units: how many texts or pairs of texts two raters or more answered.
    """

    question: str
    nominal: float | None
    ordinal: float | None
    raw: float | None
    units: int


@dataclass(frozen=True)
class HumanResults:
    """A study's results.

    Args:
        study: its id.
        kind: `pairwise` or `single`.
        about: what its texts are of, as the key has it.
        methods: those compared; wins are the first one's, differences are from the first.
        raters: those kept.
        items, judgements: how many.
        pairs: by question, of a pairwise study.
        ratings: by question and method, of a single study.
        agreement: by question.
        remarks: what was wrong or missing in the answers, as sentences.
    """

    study: str
    kind: str
    about: Mapping[str, Any]
    methods: tuple[str, ...]
    raters: tuple[str, ...]
    items: int
    judgements: int
    pairs: tuple[Pair, ...]
    ratings: tuple[Rating, ...]
    agreement: tuple[Agreement, ...]
    remarks: tuple[str, ...]


def results(answers: Answers, key: Mapping[str, Any], rounds: int = ROUNDS, seed: int = 0) -> HumanResults:
    """Unblind answers and count them.

    Args:
        answers: of `read_answers`.
        key: of the study.
        rounds: how many random draws a test takes.
        seed: of these draws.
    """
    methods, kind = tuple(key["methods"]), key["kind"]
    by_item = unblinded(answers.judgements, key)
    answered = {question for _, question, _ in by_item}
    pairs: list[Pair] = []
    ratings: list[Rating] = []
    for question in key["questions"]:
        if question not in answered:
            continue
        if kind == "pairwise":
            pairs.append(_pair(question, by_item, answers.judgements, rounds, seed))
        else:
            ratings += _ratings(question, by_item, methods, rounds, seed)
    pairs, ratings = _adjusted(pairs, ratings)
    return HumanResults(
        study=key["study"],
        kind=kind,
        about=key.get("about", {}),
        methods=methods,
        raters=answers.raters,
        items=len({judgement.item for judgement in answers.judgements}),
        judgements=len(answers.judgements),
        pairs=tuple(pairs),
        ratings=tuple(ratings),
        agreement=tuple(_agreement(question, by_item, ORDER[kind]) for question in key["questions"]),
        remarks=answers.remarks,
    )


def unblinded(judgements: Sequence[Judgement], key: Mapping[str, Any]) -> AnswersByItem:
    """Return answers by item, question and method: of a pair, whether the first method wins, ties or loses."""
    by_item: dict[tuple[str, str, str], list[str]] = {}
    for judgement in judgements:
        methods = key["items"][judgement.item]["methods"]
        if key["kind"] == "pairwise":
            question, method = judgement.slot, ""
            answer = _outcome(judgement.answer, methods, key["methods"][0])
        else:
            question, _, label = judgement.slot.rpartition("_")
            method, answer = methods[ord(label) - ord("A")], judgement.answer
        by_item.setdefault((judgement.item, question, method), []).append(answer)
    return dict(sorted(by_item.items()))


def _outcome(answer: str, methods: Sequence[str], first: str) -> str:
    """Return what an answer to a pair is for the first method of the study.

    >>> _outcome("A", ["trime", "histalign"], "histalign"), _outcome("tie", ["trime", "histalign"], "histalign")
    ('lose', 'tie')
    """
    if answer == "tie":
        return "tie"
    winner = methods["AB".index(answer)]
    return "win" if winner == first else "lose"


def _adjusted(pairs: Sequence[Pair], ratings: Sequence[Rating]) -> tuple[list[Pair], list[Rating]]:
    """Return both with p adjusted by Holm over all their tests."""
    p_values = [pair.difference.p for pair in pairs]
    p_values += [rating.difference.p for rating in ratings if rating.difference is not None]
    after_holm = iter(holm(p_values))
    adjusted_pairs = [replace(pair, difference=replace(pair.difference, adjusted=next(after_holm))) for pair in pairs]
    adjusted_ratings = []
    for rating in ratings:
        if rating.difference is not None:
            rating = replace(rating, difference=replace(rating.difference, adjusted=next(after_holm)))
        adjusted_ratings.append(rating)
    return adjusted_pairs, adjusted_ratings


def bootstrap_p(ours: Sums, theirs: Sums, rounds: int = ROUNDS, seed: int = 0) -> float:
    """Return the two-sided p of a paired bootstrap test over items (Efron and Tibshirani 1993, chapter 16).

    It is how often the difference of a bootstrap sample is as far from the one observed as that is from zero.

    Args:
        ours, theirs: of the same items.
        rounds: bootstrap samples.
        seed: of the draws.

    >>> better, worse = Sums(ratio(), [[3, 3]] * 30), Sums(ratio(), [[0, 3], [1, 3]] * 15)
    >>> bootstrap_p(better, worse, rounds=999), bootstrap_p(better, better, rounds=999)
    (0.001, 1.0)
    """
    observed, as_far = ours.value - theirs.value, 0
    values = np.concatenate([ours.values, theirs.values], axis=1)  # [items, 2 * k]
    for _, counts in resamples(rounds, len(ours), seed):  # counts [samples, items]
        our_sums, their_sums = np.split(counts @ values, 2, axis=1)  # [samples, k] each
        differences = values_of(our_sums, ours.form) - values_of(their_sums, theirs.form)  # [samples]
        nearer = np.abs(differences - observed) < abs(observed) - 1e-9  # False for a difference that is no number
        as_far += int((~nearer).sum())
    return (as_far + 1) / (rounds + 1)


def as_content(results: HumanResults) -> dict[str, Any]:
    """Return results as plain content."""
    return {"schema_version": 1, **asdict(results)}


def _difference(ours: Sums, theirs: Sums, rounds: int, seed: int) -> Difference:
    interval = bootstrap_difference(ours, theirs, seed=seed)
    p = compare({0: ours}, {0: theirs}, rounds, seed).p
    return Difference(
        value=interval.value,
        low=interval.low,
        high=interval.high,
        p_bootstrap=bootstrap_p(ours, theirs, rounds, seed),
        p=p,
        adjusted=p,
    )


def _pair(question: str, by_item: AnswersByItem, judgements: Sequence[Judgement], rounds: int, seed: int) -> Pair:
    """Return the result of one question of a pairwise study."""
    items = [Counter(answers) for (_, asked, _), answers in by_item.items() if asked == question]
    all_answers = sum(items, Counter[str]())
    majorities = Counter(_majority(answers) for answers in items)
    wins = Sums(ratio(), [[answers["win"], answers.total()] for answers in items])
    losses = Sums(ratio(), [[answers["lose"], answers.total()] for answers in items])
    sides = Counter(judgement.answer for judgement in judgements if judgement.slot == question)
    left_share = None
    if sides["A"] + sides["B"]:
        left_share = 100 * sides["A"] / (sides["A"] + sides["B"])
    return Pair(question, _votes(all_answers), _votes(majorities), _difference(wins, losses, rounds, seed), left_share)


def _votes(answers: Counter[str]) -> Votes:
    return Votes(answers["win"], answers["tie"], answers["lose"])


def _majority(answers: Counter[str]) -> str:
    """Return the answer that more raters give than any other, `tie` where there is no such answer.

    >>> _majority(Counter(["win", "win", "lose"])), _majority(Counter(["win", "lose"]))
    ('win', 'tie')
    """
    (first, votes), *others = answers.most_common()
    if others and others[0][1] == votes:
        return "tie"
    return first


def _ratings(question: str, by_item: AnswersByItem, methods: Sequence[str], rounds: int, seed: int) -> list[Rating]:
    """Return the result of one question of a single study for each method that has answers.

    A method's mean is over all items it has; its difference, over the items that the first method has too.
    """
    yes_by_method: dict[str, dict[str, tuple[int, int]]] = {method: {} for method in methods}  # (yes, answers) by item
    for (item, asked, method), answers in by_item.items():
        if asked == question:
            yes_by_method[method][item] = (answers.count("yes"), len(answers))
    baseline = yes_by_method[methods[0]]
    ratings = []
    for method, yes in yes_by_method.items():
        if not yes:
            continue
        shared = sorted(set(yes) & set(baseline))
        difference = None
        if method != methods[0] and shared:
            ours = Sums(ratio(), [yes[item] for item in shared])
            theirs = Sums(ratio(), [baseline[item] for item in shared])
            difference = _difference(ours, theirs, rounds, seed)
        mean = bootstrap(Sums(ratio(), list(yes.values())), seed=seed)
        judgements = sum(n for _, n in yes.values())
        ratings.append(Rating(method, question, mean, judgements, difference))
    return ratings


def _agreement(question: str, by_item: AnswersByItem, order: Sequence[str]) -> Agreement:
    units = [answers for (_, asked, _), answers in by_item.items() if asked == question]
    raw = raw_agreement(units)
    if raw is not None:
        raw *= 100
    return Agreement(
        question=question,
        nominal=alpha(units, order),
        ordinal=alpha(units, order, "ordinal"),
        raw=raw,
        units=sum(len(answers) > 1 for answers in units),
    )
