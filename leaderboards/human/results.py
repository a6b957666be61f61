"""Human results: what raters said of two methods or of each, with tests over items and agreement (HistAlign 4 and 6).

Shares are of all judgements, as in HistAlign, in percent. Tests are over items: raters of one item saw the same texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from bench.leaderboards.human.answers import Answers, Judgement
from bench.leaderboards.statistics.agreement import alpha, raw_agreement
from bench.leaderboards.statistics.intervals import Interval, bootstrap, bootstrap_difference, resamples
from bench.leaderboards.statistics.significance import compare, holm
from bench.metrics.sums import Sums, ratio, values_of

__all__ = ["Agreement", "Difference", "HumanResults", "Pair", "Rating", "Votes", "as_content", "bootstrap_p", "results"]

ROUNDS = 10_000
ORDER = {"pairwise": ("lose", "tie", "win"), "single": ("no", "yes")}
"""Answers once unblinded, lowest first."""


@dataclass(frozen=True)
class Votes:
    """How many judgements, or majorities of an item's raters, the first method wins, ties and loses."""

    win: int
    tie: int
    lose: int

    @property
    def shares(self) -> tuple[float, float, float]:
        """In percent."""
        n = max(1, self.win + self.tie + self.lose)
        return 100 * self.win / n, 100 * self.tie / n, 100 * self.lose / n


@dataclass(frozen=True)
class Difference:
    """Two methods on the same items.

    Args:
        value: ours less theirs, in points of percent; of a pair, wins less losses.
        low, high: ends of its 95 % bootstrap interval over items.
        p_bootstrap: two-sided paired bootstrap test over items; somewhat too small where items are few.
        p: two-sided paired randomisation test over items, exact at any number of them.
        adjusted: `p` after Holm over all tests of the study; what decides on a star.
    """

    value: float
    low: float | None
    high: float | None
    p_bootstrap: float
    p: float
    adjusted: float


@dataclass(frozen=True)
class Pair:
    """One question of a pairwise study; a majority is what most raters of an item say, else a tie."""

    question: str
    judgements: Votes
    majority: Votes
    difference: Difference
    left_share: float | None
    """Percent of judgements without ties that went to the text on the left: far from 50, raters did not read."""


@dataclass(frozen=True)
class Rating:
    """One method and question of a single study: percent of yes, and its difference to the first method."""

    method: str
    question: str
    mean: Interval
    judgements: int
    difference: Difference | None


@dataclass(frozen=True)
class Agreement:
    """How far raters agree on a question, over `units` that two of them or more answered; shares in percent."""

    question: str
    nominal: float | None
    ordinal: float | None
    raw: float | None
    units: int


@dataclass(frozen=True)
class HumanResults:
    """A study's results."""

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
        rounds: of the tests.
        seed: of their draws.
    """
    methods, questions = tuple(key["methods"]), tuple(key["questions"])
    said = unblinded(answers.judgements, key)
    pairs: list[Pair] = []
    ratings: list[Rating] = []
    for question in (question for question in questions if any(place[1] == question for place in said)):
        if key["kind"] == "pairwise":
            pairs.append(_pair(question, said, answers.judgements, rounds, seed))
        else:
            ratings += _ratings(question, said, methods, rounds, seed)
    pairs, ratings = _adjusted(pairs, ratings)
    return HumanResults(
        key["study"], key["kind"], key.get("about", {}), methods, answers.raters,
        len({one.item for one in answers.judgements}), len(answers.judgements), tuple(pairs), tuple(ratings),
        tuple(_agreement(question, said, ORDER[key["kind"]]) for question in questions), answers.remarks,
    )  # fmt: skip


def _adjusted(pairs: Sequence[Pair], ratings: Sequence[Rating]) -> tuple[list[Pair], list[Rating]]:
    """Return both with Holm's p over all their tests."""
    tests = [one.difference for one in pairs]
    tests += [one.difference for one in ratings if one.difference is not None]
    found = {
        id(test): replace(test, adjusted=p) for test, p in zip(tests, holm([test.p for test in tests]), strict=True)
    }
    return ([replace(one, difference=found[id(one.difference)]) for one in pairs],
            [replace(one, difference=found.get(id(one.difference))) for one in ratings])  # fmt: skip


Said = Mapping[tuple[str, str, str], Sequence[str]]
"""By item, question and method (empty for a pair): what its raters said, unblinded."""


def unblinded(judgements: Sequence[Judgement], key: Mapping[str, Any]) -> Said:
    """Return answers by item, question and method: of a pair, whether the first method wins."""
    found: dict[tuple[str, str, str], list[str]] = {}
    first = key["methods"][0]
    for one in judgements:
        sides = key["items"][one.item]["methods"]
        if key["kind"] == "pairwise":
            won = "" if one.answer == "tie" else sides["AB".index(one.answer)]
            found.setdefault((one.item, one.slot, ""), []).append({"": "tie", first: "win"}.get(won, "lose"))
        else:
            question, _, label = one.slot.rpartition("_")
            found.setdefault((one.item, question, sides[ord(label) - ord("A")]), []).append(one.answer)
    return dict(sorted(found.items()))


def bootstrap_p(ours: Sums, theirs: Sums, rounds: int = ROUNDS, seed: int = 0) -> float:
    """Return the two-sided p of a paired bootstrap test over items (Efron and Tibshirani 1993, chapter 16).

    How often the difference of a bootstrap sample is as far from the one seen as that is from zero.

    >>> one, other = Sums(ratio(), [[3, 3]] * 30), Sums(ratio(), [[0, 3], [1, 3]] * 15)
    >>> bootstrap_p(one, other, rounds=999), bootstrap_p(one, one, rounds=999)
    (0.001, 1.0)
    """
    seen, hits = ours.value - theirs.value, 0
    values = np.concatenate([ours.values, theirs.values], axis=1)
    for _, counts in resamples(rounds, len(ours), seed):
        one, other = np.split(counts @ values, 2, axis=1)
        away = np.abs(values_of(one, ours.form) - values_of(other, theirs.form) - seen)
        hits += int((~(away < abs(seen) - 1e-9)).sum())
    return (hits + 1) / (rounds + 1)


def as_content(found: HumanResults) -> dict[str, Any]:
    """Return results as plain content."""
    return {"schema_version": 1, **asdict(found)}


def _difference(ours: Sums, theirs: Sums, rounds: int, seed: int) -> Difference:
    interval = bootstrap_difference(ours, theirs, seed=seed)
    p = compare({0: ours}, {0: theirs}, rounds, seed).p
    return Difference(interval.value, interval.low, interval.high, bootstrap_p(ours, theirs, rounds, seed), p, p)


def _pair(question: str, said: Said, judgements: Sequence[Judgement], rounds: int, seed: int) -> Pair:
    items = [Counter(votes) for (_, asked, _), votes in said.items() if asked == question]
    every = sum(items, Counter[str]())
    most = Counter(_majority(votes) for votes in items)
    ours, theirs = (Sums(ratio(), [[votes[side], votes.total()] for votes in items]) for side in ("win", "lose"))
    sides = Counter(one.answer for one in judgements if one.slot == question and one.answer != "tie")
    left = 100 * sides["A"] / sides.total() if sides else None
    every_votes, most_votes = (Votes(found["win"], found["tie"], found["lose"]) for found in (every, most))
    return Pair(question, every_votes, most_votes, _difference(ours, theirs, rounds, seed), left)


def _majority(votes: Counter[str]) -> str:
    """What more raters say than anything else, `tie` where there is no such answer.

    >>> _majority(Counter(["win", "win", "lose"])), _majority(Counter(["win", "lose"]))
    ('win', 'tie')
    """
    first, *rest = votes.most_common()
    return "tie" if rest and rest[0][1] == first[1] else first[0]


def _ratings(question: str, said: Said, methods: Sequence[str], rounds: int, seed: int) -> list[Rating]:
    """Each method's rating, over all items it has; its difference, over the items that the first method has too."""
    by_method: dict[str, dict[str, tuple[int, int]]] = {method: {} for method in methods}
    for (item, asked, method), votes in said.items():
        if asked == question:
            by_method[method][item] = (sum(vote == "yes" for vote in votes), len(votes))
    found, baseline = [], by_method[methods[0]]
    for method in methods:
        ours = by_method[method]
        if not ours:
            continue
        shared = sorted(set(ours) & set(baseline))
        difference = None
        if method != methods[0] and shared:
            sides = [Sums(ratio(), [side[item] for item in shared]) for side in (ours, baseline)]
            difference = _difference(sides[0], sides[1], rounds, seed)
        mean = bootstrap(Sums(ratio(), list(ours.values())), seed=seed)
        found.append(Rating(method, question, mean, sum(n for _, n in ours.values()), difference))
    return found


def _agreement(question: str, said: Said, order: Sequence[str]) -> Agreement:
    units = [votes for (_, asked, _), votes in said.items() if asked == question]
    raw = raw_agreement(units)
    return Agreement(question, alpha(units, order), alpha(units, order, "ordinal"), None if raw is None else 100 * raw,
                     sum(len(votes) > 1 for votes in units))  # fmt: skip
