"""What docs/ladder.md says of the kept ladders is what their records say."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from bench.ladder.reading import stored_forecasts
from bench.leaderboards.ladder.findings import Findings
from bench.leaderboards.ladder.forecast_scores import scores_of
from tools.regenerate import LADDERS, kept_ladder

DOCS = Path(__file__).parents[3] / "docs" / "ladder.md"
SAID = " ".join(DOCS.read_text(encoding="utf-8").split())
Rungs = tuple[str, str]


def findings_of(task: str) -> Findings:
    stored = kept_ladder(task)
    assert stored is not None
    return stored.findings


def shares(found: Findings, rungs: Rungs) -> list[float]:
    """The shares of their ceilings, by metric, that the lower of two rungs has."""
    decisions = [one for one in found.decisions if (one.lower, one.upper) == rungs]
    return [one.share for one in decisions if one.share is not None]


def turned(found: Findings, rungs: Rungs) -> Iterator[tuple[str, str]]:
    """The pairs of methods that change places, over all metrics."""
    lower, upper = (found.ladder.rung(name) for name in rungs)
    for metric in found.ladder.metrics:
        before, after = lower.means(metric), upper.means(metric)
        for first, second in combinations(sorted(set(before) & set(after)), 2):
            if (before[first] - before[second]) * (after[first] - after[second]) < 0:
                yield first, second


def percent(value: float) -> str:
    return f"{100 * value:.0f}"


def scored(task: str) -> dict[str, tuple[str, str]]:
    """By rung: how far below the naive Brier score a forecast was, and what its intervals held, in percent."""
    found = {}
    for forecast in stored_forecasts(LADDERS[task], task).forecasts:
        score = scores_of(forecast, findings_of(task).ladder)[-1]
        assert score.gain is not None
        assert score.coverage is not None
        found[forecast.rung] = percent(score.gain), percent(score.coverage)
    return found


def test_how_well_a_rung_decides() -> None:
    found = findings_of("text")
    near, far = shares(found, ("1M", "10M")), shares(found, ("0.1M", "10M"))
    assert f"1M orders the methods as 10M in {percent(min(near))} to {percent(max(near))} % of what" in SAID
    assert f"0.1M orders them as 10M in {percent(min(far))} to {percent(max(far))} %." in SAID


def test_which_pairs_change_places() -> None:
    found = findings_of("text")
    for rungs, words in ((("0.1M", "1M"), "{} of the {} pairs that change"), (("0.1M", "10M"), "in {} of {} from")):
        pairs = list(turned(found, rungs))
        assert words.format(sum("histalign" in pair for pair in pairs), len(pairs)) in SAID


@pytest.mark.parametrize(("task", "methods"), [("text", "twelve"), ("gigaword", "ten")])
def test_the_number_of_methods(task: str, methods: str) -> None:
    words = {12: "twelve", 10: "ten"}
    assert words[len(findings_of(task).ladder.methods)] == methods
    assert f"ladder of {methods} methods" in SAID or f"second ladder: {methods} methods" in SAID


def test_the_forecasts() -> None:
    text, pairs = scored("text"), scored("gigaword")
    first, second = text["1M"], text["10M"]
    assert f"That of 1M was {first[0]} % below the naive Brier score, that of 10M {second[0]} %" in SAID
    assert f"with {first[1]} and {second[1]} % of differences" in SAID
    below, held = pairs["1M"]
    assert f"{below} % below the naive Brier score" in SAID
    assert f"{held} % of differences within its 80 % intervals" in SAID


def test_the_ladder_on_pairs() -> None:
    found = findings_of("gigaword")
    accuracy = {one.metric: one.accuracy for one in found.decisions if one.accuracy is not None}
    rouge = sorted(accuracy[name] for name in ("rouge-1", "rouge-l"))
    alike = f"{percent(rouge[0])} to {percent(rouge[1])} % of pairs are ordered alike, "
    assert alike + f"{percent(accuracy['rouge-2'])} % in ROUGE-2" in SAID
    (decided,) = (one for one in found.decisions if one.metric == "ppl/word")
    assert decided.ceiling is not None
    assert f"Perplexity orders {percent(accuracy['ppl/word'])} % alike" in SAID
    assert f"a second draw of seeds would ({percent(decided.ceiling)} %)" in SAID
    assert f"Of {len(found.method_cards)} differences none has an established direction" in SAID
    assert {effect.direction for card in found.method_cards for effect in card.rungs.values() if effect} == {0}
    tokens = found.ladder.rungs[-1].tokens_per_parameter
    assert f"The upper rung has {tokens:.2g} tokens for each parameter" in SAID
