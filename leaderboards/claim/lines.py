"""Lines of one claim, for every form: the paper's number, ours, the verdict with its scale, and the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.leaderboards.claim.claim_files import Part
from bench.leaderboards.claim.evaluation import Verdict, ranged
from bench.leaderboards.claim.evidence import ControlEffect, PartEvidence, printed_effect
from bench.leaderboards.statistics.constants import ALPHA
from bench.leaderboards.statistics.intervals import Interval

__all__ = ["control_text", "evidence_lines", "here_text", "paper_text", "verdict_text"]

LISTED = 4  # comparisons of a cell; of more it has the range
CONTROLS = {
    "mle.decoupled": "an MLE model with the same classes and decoding (mle.decoupled)",
    "mle.continued": "MLE trained for as many steps (mle.continued)",
    "mle.decoupled (tied=false)": "an MLE model with the same classes and decoding (mle.decoupled, tied=false)",
    "mle": "MLE whose output layer is its input embedding (mle)",
    "mle.cache": "an untrained cache (mle.cache)",
    "mle.knn": "a search for nearest neighbours in the training text, which is no local cache (mle.knn),",
    "adadec.const": "one learned vector in place of the exemplar (adadec.const)",
    "adadec.swapped": "the exemplar of a different example (adadec.swapped)",
}  # what the controls of claims are, for people, by label


def shown(part: Part, effect: float) -> str:
    """Return an effect with its unit: nearness is in points of the gap to human text.

    >>> from bench.leaderboards.claim.claim_files import Side
    >>> sides = {"method": Side("a"), "against": Side("b"), "run": "r"}
    >>> part = Part(columns=("kld",), relation="lower", estimand="percent", **sides)
    >>> shown(part, 68.49), shown(part, 1247.2)
    ('+68.5 %', '+1,247 %')
    """
    return f"{_number(effect)}{_unit(part)}"


def _unit(part: Part) -> str:
    return " points" if part.relation == "nearer" else " %" if part.estimand == "percent" else ""


def _number(effect: float) -> str:
    return f"{effect:+,.0f}" if abs(effect) >= 1000 else f"{effect:+.1f}" if abs(effect) >= 10 else f"{effect:+.2f}"


def with_interval(part: Part, interval: Interval) -> str:
    """Return an effect with its interval, where it has one."""
    if interval.low is None or interval.high is None or interval.low == interval.high:
        return shown(part, interval.value)
    return f"{shown(part, interval.value)} ({_number(interval.low)} to {_number(interval.high)})"


def paper_text(verdict: Verdict) -> str:
    """Return the paper's effects; nothing where it prints no number."""
    claim = verdict.claim
    return _several([(part.without_settings, printed_effect(claim, part)) for part in claim.parts])


def here_text(verdict: Verdict) -> str:
    """Return our effects with their intervals; nothing of a claim that was not tested."""
    known = [found for found in verdict.parts if found.effect is not None and verdict.is_tested]
    if len(known) <= LISTED:
        labels = _labels([found.part for found in known])
        texts = [with_interval(found.part, found.effect.interval) for found in known if found.effect is not None]
        return "; ".join(map("".join, zip(labels, texts, strict=True)))
    return _several([(found.part, found.effect.interval.value) for found in known if found.effect is not None])


def _labels(parts: Sequence[Part]) -> list[str]:
    """Return what tells each of several comparisons from the others: its columns, method and baseline."""
    names = [(part.column, part.method.label, f"against {part.against.label}") for part in parts]
    differ = [len(set(of_parts)) > 1 for of_parts in zip(*names, strict=True)]
    found = [[name for name, wanted in zip(of_part, differ, strict=True) if wanted] for of_part in names]
    return [f"{' '.join(of_part)} " if of_part else "" for of_part in found]


def _several(effects: Sequence[tuple[Part, float | None]]) -> str:
    known = [(part, effect) for part, effect in effects if effect is not None]
    if len(known) <= LISTED:
        labels = _labels([part for part, _ in known])
        return "; ".join(f"{label}{shown(*one)}{_stated(one[0])}" for label, one in zip(labels, known, strict=True))
    low, high = (choose(known, key=lambda one: one[1]) for choose in (min, max))
    return f"{_number(low[1])} to {shown(*high)}, {len(known)} comparisons"


def _stated(part: Part) -> str:
    """Return what the sentence says where the paper's table has another number."""
    return f" (the sentence: {part.stated:g}{_unit(part)})" if part.printed and part.stated is not None else ""


def verdict_text(verdict: Verdict) -> str:
    """Return the verdict with what was run, what stops or reverses it, the controls, and the result without a fault."""
    scale = f" ({verdict.scale.words})" if verdict.scale is not None else ""
    not_covered = f"not tested: {verdict.claim.beyond}" if verdict.claim.beyond else ""
    if not verdict.is_tested:
        first, *more = verdict.why
        more = [f"{len(more)} more {'reasons' if more[1:] else 'reason'} in the evidence"] if more else []
        details = [f"{verdict.word}: {first}", *more, not_covered]
    else:
        details = [f"{verdict.agrees or verdict.word}{scale}", *verdict.why, verdict.claim.result]
        details += [*corrected_text(verdict), *control_text(verdict), not_covered]
    return "; ".join(filter(None, details))


def corrected_text(verdict: Verdict) -> Iterator[str]:
    """Yield the result of the rows without the known fault: which side of each pair is above, with both values."""
    pairs: dict[tuple[str, str], list[PartEvidence]] = {}
    for found in verdict.corrected:
        pairs.setdefault((found.part.method.label, found.part.against.label), []).append(found)
    texts = []
    for (ours, theirs), parts in pairs.items():
        if any(part.effect is None for part in parts):
            texts.append(f"{ours} against {theirs} was not run")
            continue
        signs = {(part.ours > part.theirs) - (part.ours < part.theirs) for part in parts}
        clear = all(part.is_constant or _p(part) <= ALPHA for part in parts)
        where = "not clearly above or below"
        if clear and len(signs) == 1:
            where = {1: "above", -1: "below", 0: "equal to"}[signs.pop()]
        ranges = [sorted(values) for values in zip(*((part.ours, part.theirs) for part in parts), strict=True)]
        values = " against ".join(ranged([f"{value:.2f}" for value in of_side]) for of_side in ranges)
        texts.append(f"{ours} is {where} {theirs} ({values})")
    if texts:
        yield f"{verdict.claim.instead}, {' and '.join(texts)}"


def _p(found: PartEvidence) -> float:
    """Return the p of a comparison, 1 where it has none."""
    return 1.0 if found.effect is None or found.effect.p is None else found.effect.p


def control_text(verdict: Verdict) -> Iterator[str]:
    """Yield what part of an effect that was seen each control has too."""
    if verdict.word != "seen here":
        return
    by_control: dict[tuple[str, str], list[ControlEffect]] = {}
    for control in (control for part in verdict.parts for control in part.controls):
        by_control.setdefault((control.label, control.replaced), []).append(control)
    for (label, replaced), found in by_control.items():
        name, shares = CONTROLS.get(label, label), sorted(control.share for control in found)
        percent = " to ".join(dict.fromkeys(f"{100 * share:.0f}" for share in (shares[0], shares[-1])))
        seeds = ranged(sorted({str(len(control.rest.by_seed)) for control in found}))
        if shares[-1] <= 0:
            yield f"{name} does not do it"
        elif replaced == "method":
            yield f"{name} has {percent} % of the effect ({seeds} seeds)"
        else:
            yield f"{percent} % of the effect is there against {name} too ({seeds} seeds)"


def evidence_lines(verdict: Verdict) -> list[str]:
    """Return the evidence of a verdict, a line for each comparison and each thing that a reader must know."""
    claim = verdict.claim
    known = [part for part in verdict.parts if part.effect is not None]
    controls = {text: part for part in reversed(known) for text in _controls(part)}  # each once, with its first
    lines = ["; ".join([_part_line(one), *(text for text in _controls(one) if controls[text] is one)]) for one in known]
    if not verdict.is_tested:
        lines = list(_values(known))
    for why in dict.fromkeys(part.margin_why for part in claim.parts if part.margin):
        margins = [f"{part.margin:g}{_unit(part)} in {part.column}" for part in claim.parts if part.margin_why == why]
        lines.append(f"smallest difference of interest: {', '.join(margins)}. {why}")
    if preconditions := dict.fromkeys(
        precondition.why for part in verdict.parts for precondition in part.preconditions
    ):
        lines.append("; ".join(preconditions))
    if verdict.corrected:
        missing = dict.fromkeys(part.missing for part in verdict.corrected if part.effect is None)
        found = [part for part in verdict.corrected if part.effect is not None]
        texts = map(_part_line, found) if verdict.is_tested else _values(found)
        text = f"not run: {', '.join(missing)}" if missing else "; ".join(texts)
        lines.append(f"{claim.fault} {claim.instead[:1].upper()}{claim.instead[1:]}: {text}")
    return [*lines, claim.note] if claim.note else lines


def _values(known: Sequence[PartEvidence]) -> Iterator[str]:
    """Yield the values of all rows by column, without a test; of two pairs that share a row, those of the first."""
    of_columns: dict[str, dict[str, str]] = {}
    for found in known:
        part, form = found.part, "{:.1f} % from human text" if found.part.relation == "nearer" else "{:.2f}"
        values = {part.method.label: found.ours, part.against.label: found.theirs}
        values |= {control.label: control.value for control in found.controls}
        for label, value in values.items():
            of_columns.setdefault(part.column, {}).setdefault(label, form.format(value))
    texts = [f"{column}: {', '.join(map(' '.join, values.items()))}" for column, values in of_columns.items()]
    if texts:
        seeds = ranged([str(n) for n in sorted(len(found.effect.by_seed) for found in known if found.effect)])
        yield f"means over the {seeds} seeds that both sides have, without a test: {'; '.join(texts)}"


def _part_line(found: PartEvidence) -> str:
    """Return one comparison: both values, the effect, its seeds and tests."""
    assert found.effect is not None
    part = found.part
    values = f"{found.ours:.2f} against {found.theirs:.2f}"
    if part.relation == "nearer":
        values = f"gap to human text {found.ours:.1f} % against {found.theirs:.1f} %"
    sides = f"{part.column}, {part.method.label} against {part.against.label}: {values}"
    if found.is_constant:
        equal = f"{shown(part, found.effect.mean)} in each of {len(found.effect.by_seed)} seeds, so no test applies"
        return f"{sides}; {equal}"
    tests = [f"{len(found.effect.by_seed)} seeds"]
    tests += [f"t test over seeds {p_text(found.effect.p)}"] if found.effect.p is not None else []
    tests += [f"randomisation test over test items {p_text(found.p_items)}"] if found.p_items is not None else []
    return f"{sides}; {with_interval(part, found.effect.interval)}; {'; '.join(tests)}"


def _controls(found: PartEvidence) -> Iterator[str]:
    """Yield what each control leaves of an effect, with its interval."""
    part = found.part
    for control in found.controls:
        rest = with_interval(part, control.rest.interval)
        contains_0 = control.rest.p is not None and control.rest.p > ALPHA
        zero = ", an interval that contains 0" if contains_0 and len(set(control.rest.by_seed.values())) > 1 else ""
        of = "the effect minus that against" if control.replaced == "against" else f"{part.method.label} against"
        base = f", relative to {part.against.label}" if part.estimand == "percent" else ""
        yield f"{of} the control {control.label} ({control.value:.2f}){base}: {rest}{zero}"


def p_text(p: float) -> str:
    """Return a p-value for people.

    >>> p_text(0.00001), p_text(0.0234)
    ('p < 0.001', 'p = 0.023')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
