"""Lines of one claim, for every form: the paper's number, ours, the verdict with its scale, and the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.leaderboards.claim.claim_files import Part
from bench.leaderboards.claim.evidence import PartEvidence, printed_effect
from bench.leaderboards.claim.judge import Verdict
from bench.leaderboards.statistics.intervals import Interval
from bench.leaderboards.statistics.value_statistics import ALPHA

__all__ = ["control_text", "evidence_lines", "here_text", "paper_text", "verdict_text"]

LISTED = 3  # comparisons of a cell; of more it has the range
CONTROLS = {
    "mle.decoupled": "the paper's decoding alone (MLE with decoupled decoding)",
    "mle.continued": "MLE trained for as many steps (mle.continued)",
    "mle.cache": "a cache that was not trained (mle.cache)",
    "adadec.const": "one learned vector in place of the exemplar (adadec.const)",
    "adadec.swapped": "another row's exemplar (adadec.swapped)",
}  # what the controls of claims are, for people


def shown(part: Part, effect: float) -> str:
    """Return an effect with its unit: nearness is in points of the gap to human text.

    >>> from bench.leaderboards.claim.claim_files import Side
    >>> sides = {"method": Side("a"), "against": Side("b"), "run": "r"}
    >>> part = Part(columns=("kld",), relation="lower", estimand="percent", **sides)
    >>> shown(part, 68.49), shown(part, 1247.2)
    ('+68.5 %', '+1,247 %')
    """
    unit = " points" if part.relation == "nearer" else " %" if part.estimand == "percent" else ""
    return f"{_number(effect)}{unit}"


def _number(effect: float) -> str:
    return f"{effect:+,.0f}" if abs(effect) >= 1000 else f"{effect:+.1f}" if abs(effect) >= 10 else f"{effect:+.2f}"


def with_interval(part: Part, interval: Interval) -> str:
    """Return an effect with its interval, where it has one."""
    if interval.low is None or interval.high is None:
        return shown(part, interval.value)
    return f"{shown(part, interval.value)} ({_number(interval.low)} to {_number(interval.high)})"


def paper_text(verdict: Verdict) -> str:
    """Return the paper's effects; nothing where it prints no number."""
    claim = verdict.claim
    return _several([(part, printed_effect(claim, part)) for part in claim.parts])


def here_text(verdict: Verdict) -> str:
    """Return our effects with their intervals."""
    known = [(found.part, found.effect.interval) for found in verdict.parts if found.effect is not None]
    if len(known) <= LISTED:
        return "; ".join(with_interval(part, interval) for part, interval in known)
    return _several([(part, interval.value) for part, interval in known])


def _several(effects: Sequence[tuple[Part, float | None]]) -> str:
    known = [(part, effect) for part, effect in effects if effect is not None]
    if len(known) <= LISTED:
        return "; ".join(shown(part, effect) for part, effect in known)
    low, high = (choose(known, key=lambda one: one[1]) for choose in (min, max))
    return f"{_number(low[1])} to {shown(*high)}, {len(known)} comparisons"


def verdict_text(verdict: Verdict) -> str:
    """Return the verdict with what was run, what stops or reverses it, and the share of each control."""
    scale = f" ({verdict.scale.words})" if verdict.scale is not None else ""
    if verdict.word in ("not testable here", "not run"):
        first, *more = verdict.why
        return f"{verdict.word}{scale}: {first}" + (f" (and {len(more)} more below)" if more else "")
    not_covered = f"not covered: {verdict.claim.beyond}" if verdict.claim.beyond else ""
    details = [f"{verdict.agrees or verdict.word}{scale}", *verdict.why, *control_text(verdict), not_covered]
    return "; ".join(filter(None, details))


def control_text(verdict: Verdict) -> Iterator[str]:
    """Yield what share of an effect that was seen each control has."""
    if verdict.word != "seen here":
        return
    shares: dict[tuple[str, str], list[float]] = {}
    for control in (control for part in verdict.parts for control in part.controls):
        shares.setdefault((control.method, control.replaced), []).append(control.share)
    for (method, replaced), found in shares.items():
        how = "comes with" if replaced == "method" else "is there too against"
        yield f"{share_text(min(found), max(found))} {how} {CONTROLS.get(method, method)}"


def share_text(low: float, high: float) -> str:
    """Return a share, or the range of several.

    >>> share_text(0.93, 0.96), share_text(-0.07, -0.04), share_text(0.5, 0.5)
    ('93 to 96 % of it', 'none of it (-7 to -4 %)', '50 % of it')
    """
    text = f"{' to '.join(dict.fromkeys(f'{100 * share:.0f}' for share in (low, high)))} %"
    return f"none of it ({text})" if high <= 0 else f"{text} of it"


def evidence_lines(verdict: Verdict) -> list[str]:
    """Return what stands behind a verdict, a line for each comparison and each thing that a reader must know."""
    claim = verdict.claim
    lines = [_part_line(part) for part in verdict.parts if part.effect is not None]
    if margins := dict.fromkeys(f"{part.margin:g} is {part.margin_why}" for part in claim.parts if part.margin):
        lines.append(f"smallest difference of interest: {'; '.join(margins)}")
    if gates := dict.fromkeys(gate.why for part in verdict.parts for gate in part.gates):
        lines.append("; ".join(gates))
    if verdict.corrected:
        missing = dict.fromkeys(part.missing for part in verdict.corrected if part.effect is None)
        found = [_part_line(part) for part in verdict.corrected if part.effect is not None]
        text = f"not run: {', '.join(missing)}" if missing else "; ".join(found)
        lines.append(f"without the known fault ({claim.fault}): {text}")
    return [*lines, claim.note] if claim.note else lines


def _part_line(found: PartEvidence) -> str:
    """Return one comparison: both values, the effect, its seeds and tests, and what is beyond each control."""
    assert found.effect is not None
    part = found.part
    values = f"{found.ours:.2f} against {found.theirs:.2f}"
    if part.relation == "nearer":
        values = f"gap to human text {found.ours:.1f} % against {found.theirs:.1f} %"
    tests = [f"{len(found.effect.by_seed)} seeds"]
    tests += [f"p {p_text(found.effect.p)}"] if found.effect.p is not None else []
    tests += [f"p over test items {p_text(found.p_items)}"] if found.p_items is not None else []
    for control in found.controls:
        beyond = f"beyond {control.method} {with_interval(part, control.rest.interval)}"
        may_be_all = found.effect.mean > 0 and control.rest.p is not None and control.rest.p > ALPHA
        tests.append(f"{beyond}, which may be all of it" if may_be_all else beyond)
    sides = f"{part.method.label} against {part.against.label}"
    return f"{part.column}, {sides}: {values}; {with_interval(part, found.effect.interval)}; {'; '.join(tests)}"


def p_text(p: float) -> str:
    """Return a p-value for people.

    >>> p_text(0.00001), p_text(0.0234)
    ('< 0.001', '0.023')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
