"""Ladder report: everything a ladder says, as one Markdown page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from bench.errors import UsageError
from bench.leaderboards.controls import controls_of
from bench.leaderboards.ladder.cells import (
    NONE,
    effect_cell,
    interval_cell,
    mean_cell,
    number,
    regret_cell,
    share,
)
from bench.leaderboards.ladder.crossovers import crossover_lines
from bench.leaderboards.ladder.decisions import Decisions, signal_to_noise
from bench.leaderboards.ladder.findings import Findings
from bench.leaderboards.ladder.forecast import Forecast
from bench.leaderboards.ladder.forecast_report import forecast_lines
from bench.leaderboards.ladder.predictors import Predictors, predictors_of
from bench.leaderboards.ladder.scores import Ladder
from bench.leaderboards.ladder.transfer import Question, TransferCard, without_control
from bench.leaderboards.render.markdown_table import escaped, markdown_table
from bench.leaderboards.statistics.intervals import seed_mean

__all__ = ["markdown"]

ORDERS_SAID = (
    "Right is the share of pairs of methods that both rungs order alike. The ceiling is how often a second draw of as "
    "many seeds would order the pairs of the upper rung alike, estimated by leaving seeds out. Established are pairs "
    "whose order at the upper rung holds after Holm over all pairs of all metrics and rungs; the next number is the "
    "share of these that the lower rung has right, then what that is of their ceiling. A share of the ceiling can be "
    "above 100 %, since the ceiling is an estimate; where the ceiling is 50 %, seeds order methods as a coin does, and "
    "there is no share. Tau is Kendall's, of the means. Regret is what the method that is "
    "best on the lower rung loses at the upper one, in the metric's unit and in standard deviations of a seed."
)
CEILING_GOAL = 0.9
"""Share of the ceiling that the suite hopes for."""
SIGNAL_SAID = "Standard deviation of the methods' means over that of one seed."
PREDICTORS_SAID = (
    "Of several metrics the best is picked after the fact, so its share is above what another ladder would give."
)
CARDS_SAID = (
    "A difference is positive where the method is better than {baseline}, or than what its row names: maximum "
    "likelihood for as many steps, or a control that would explain its gain away. It is in the metric's unit, with its "
    "95 % interval over seeds (a moderated t); in bold where its direction is established over the whole ladder: "
    "another rung makes more comparisons, and can take bold away. Tenfold is its change where parameters are ten times "
    "as many, seed by seed. Growing and shrinking: slope and middle of a straight line over the logarithm of the "
    "parameters are both established, with one sign or with two. So what changes sides can be growing, and a slope "
    "without an established middle is neither. Crossing: unlike directions are established on two rungs. A ladder "
    "without true differences says any of this in at most 5 %. Where epochs or tokens for each parameter differ "
    "between rungs, size and training change together: what is said of size is said of both."
)
SCORES_SAID = (
    "Means over seeds with 95 % intervals. – is no value, or none that measures the method: who only decodes another "
    "one's model has that one's perplexity, and smoothed likelihoods have none."
)
FALLING_SAID = (
    "Tokens for each parameter fall as models grow, so an upper rung can be the worse model: see the perplexity. It is "
    "another size and another training, not scale alone."
)
LONGER_SAID = (
    "Trained for more steps than {baseline}, with no control here that was trained as long (mle.continued): {methods}. "
    "Their differences hold these steps too."
)
CLAIMS_SAID = (
    "Positive where it is as claimed. A claim is asked of this ladder's text and settings, not of the paper's. That "
    "texts are nearer to human ones is asked as the better direction of the metric, whether or not they are past them."
)


def markdown(findings: Findings, forecasts: Sequence[Forecast] = (), picture: str = "") -> str:
    """Return the page of a ladder.

    Args:
        findings: of a ladder with a rung or more; claims of papers get transfer cards of their own.
        forecasts: of its rungs; those that have been run are scored, or it is said why they cannot be.
        picture: where its drawing is, seen from the page; none by default.

    Raises:
        UsageError: a ladder without rungs.
    """
    ladder = findings.ladder
    if not ladder.rungs:
        raise UsageError("expected a ladder with a rung or more, got none; run its smallest rung first")
    lines = [f"# Ladder of {escaped(ladder.task)}", "", *_rungs(ladder)]
    if picture:
        lines += [f"![scores by parameters, a panel for each metric]({picture})", ""]
    lines += _scores(ladder)
    if len(ladder.rungs) > 1:
        lines += _decisions(findings.decisions)
    lines += _signal(ladder)
    if len(ladder.rungs) > 1:
        lines += _predictors(predictors_of(ladder))
    lines += crossover_lines(findings.method_cards)
    lines += _cards(ladder, findings.method_cards)
    lines += _claims(ladder, findings.claim_cards)
    lines += forecast_lines(ladder, forecasts)
    return "\n".join(lines).rstrip() + "\n"


def _rungs(ladder: Ladder) -> list[str]:
    rows = []
    for rung in ladder.rungs:
        methods = {method for found in rung.values.values() for method in found}
        seeds = {len(by_seed) for found in rung.values.values() for by_seed in found.values()}
        some = NONE
        if seeds:
            some = " to ".join(str(count) for count in sorted({min(seeds), max(seeds)}))
        trained = [f"{rung.epochs:.3g}", number(rung.tokens_per_parameter)]
        rows.append([escaped(rung.name), f"{rung.parameters:,}", *trained, str(len(methods)), some])
    heading = ["rung", "parameters without embeddings", "epochs", "tokens/parameter", "methods", "seeds"]
    lines = [*markdown_table(heading, rows, texts=1), ""]
    known = [rung.tokens_per_parameter for rung in ladder.rungs if rung.tokens_per_parameter is not None]
    falls = all(one > other for one, other in pairwise(known))
    if len(known) == len(ladder.rungs) > 1 and falls:
        lines += [FALLING_SAID, ""]
    return lines


def _scores(ladder: Ladder) -> Iterator[str]:
    """Yield a table of means for each metric, a row a method."""
    yield from ["## Scores", "", SCORES_SAID, ""]
    for metric in ladder.metrics:
        rows = []
        for method in ladder.methods:
            cells = []
            for rung in ladder.rungs:
                values = list(rung.of(metric).get(method, {}).values())
                cells.append(mean_cell(seed_mean(values)) if values else NONE)
            rows.append([escaped(method), *cells])
        heading = [escaped(_directed(ladder, metric)), *_names(ladder)]
        yield from [*markdown_table(heading, rows, texts=1), ""]


def _directed(ladder: Ladder, metric: str) -> str:
    """Return a metric with an arrow to where it is better."""
    if ladder.higher_is_better[metric]:
        return f"{metric} ↑"
    return f"{metric} ↓"


def _names(ladder: Ladder) -> list[str]:
    return [escaped(rung.name) for rung in ladder.rungs]


def _decisions(decisions: Sequence[Decisions]) -> Iterator[str]:
    """Yield a table for each pair of rungs, a row a metric."""
    yield from ["## Does the lower rung decide as the upper one?", "", ORDERS_SAID, ""]
    heading = ["pairs", "right", "ceiling", "of ceiling", "established", "right", "of ceiling", "tau", "regret"]
    for lower, upper in dict.fromkeys((found.lower, found.upper) for found in decisions):
        rows = []
        for found in decisions:
            if (found.lower, found.upper) == (lower, upper):
                rows.append([escaped(found.metric), *_decision_cells(found)])
        yield from [*markdown_table([f"{escaped(lower)} → {escaped(upper)}", *heading], rows, texts=1), ""]
        shares = [found.share for found in decisions if (found.lower, found.upper) == (lower, upper)]
        known = [found for found in shares if found is not None]
        reached = sum(found >= CEILING_GOAL for found in known)
        goal = f"Goal of this suite: {share(CEILING_GOAL)} of the ceiling"
        yield f"{goal}; before rounding {reached} of {len(known)} metrics reach it."
        yield ""


def _decision_cells(found: Decisions) -> list[str]:
    return [
        str(found.pairs),
        share(found.accuracy),
        share(found.ceiling),
        share(found.share),
        str(found.established),
        share(found.accuracy_established),
        share(found.share_established),
        number(found.tau),
        regret_cell(found.regret),
    ]


def _signal(ladder: Ladder) -> Iterator[str]:
    yield from ["## Signal-to-noise", "", SIGNAL_SAID, ""]
    rows = []
    for metric in ladder.metrics:
        ratios = [number(signal_to_noise(rung, metric)) for rung in ladder.rungs]
        rows.append([escaped(metric), *ratios])
    yield from [*markdown_table(["metric", *_names(ladder)], rows, texts=1), ""]


def _predictors(predictors: Sequence[Predictors]) -> Iterator[str]:
    yield from ["## Which metric below says most?", "", PREDICTORS_SAID, ""]
    rows = []
    for found in predictors:
        rungs = f"{escaped(found.lower)} → {escaped(found.upper)}"
        best = f"{escaped(found.best)} {share(found.accuracy[found.best])}"
        rows.append([escaped(found.target), rungs, best, share(found.own)])
    yield from [*markdown_table(["metric above", "rungs", "best below", "itself below"], rows, texts=1), ""]


def _cards(ladder: Ladder, cards: Sequence[TransferCard]) -> Iterator[str]:
    """Yield a table of transfer cards for each metric, a row a method."""
    yield from ["## Transfer cards", "", CARDS_SAID.format(baseline=escaped(ladder.baseline)), ""]
    longer = without_control(ladder)
    if longer:
        yield from [LONGER_SAID.format(methods=escaped(", ".join(longer)), baseline=escaped(ladder.baseline)), ""]
    lacking = _lacking_controls(ladder)
    if lacking:
        yield from [f"Controls that this ladder lacks, though they may explain a gain away: {lacking}.", ""]
    for metric in ladder.metrics:
        of_metric = [card for card in cards if card.question.metric == metric]
        rows = [[_compared(ladder, card.question), *_card_cells(card)] for card in of_metric]
        if rows:
            heading = [escaped(_directed(ladder, metric)), *_names(ladder), "tenfold", "with size"]
            yield from [*markdown_table(heading, rows, texts=1), ""]


def _lacking_controls(ladder: Ladder) -> str:
    """Return the declared controls that are not on a ladder, those of the same methods together."""
    wanting: dict[str, list[str]] = {}
    for method in ladder.methods:
        for control in controls_of(method):
            if control not in ladder.methods:
                wanting.setdefault(control, []).append(method)
    controls: dict[str, list[str]] = {}
    for control, methods in wanting.items():
        controls.setdefault(", ".join(methods), []).append(control)
    return escaped("; ".join(f"{', '.join(names)} (of {methods})" for methods, names in controls.items()))


def _compared(ladder: Ladder, question: Question) -> str:
    """Return a method, and what it is compared with where that is not the baseline."""
    if question.than == ladder.baseline:
        return escaped(question.better)
    return escaped(f"{question.better} against {question.than}")


def _card_cells(card: TransferCard) -> list[str]:
    slope = NONE
    if card.trend is not None:
        slope = interval_cell(card.trend.slope.interval())
    return [*(effect_cell(found) for found in card.rungs.values()), slope, escaped(card.said)]


def _claims(ladder: Ladder, cards: Sequence[TransferCard]) -> Iterator[str]:
    """Yield what papers say, and a card for each claim."""
    if not cards:
        return
    yield from ["### Claims", "", CLAIMS_SAID, "", *map(_claim_line, cards)]
    rows = []
    for card in cards:
        named = f"{escaped(card.question.claim)}, {escaped(_directed(ladder, card.question.metric))}"
        rows.append([named, *_card_cells(card)])
    yield from ["", *markdown_table(["claim", *_names(ladder), "tenfold", "with size"], rows, texts=1), ""]


def _claim_line(card: TransferCard) -> str:
    """Return what a paper says, with its words and their place."""
    asked = card.question
    quote = "a number, no sentence, "
    if asked.quote:
        quote = f'"{asked.quote}", '
    line = f"{asked.claim}: {asked.says} ({quote}{asked.where}); {asked.better} against {asked.than}"
    return f"- {escaped(line)}"
