"""The report on papers' claims: as Markdown, and as plain content for JSON and the page."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from bench.leaderboards.claim.claim_files import Part
from bench.leaderboards.claim.evaluation import WORDS, Paper, Verdict, ranged, scale_of
from bench.leaderboards.claim.evidence import ControlEffect, PartEvidence, printed_effect
from bench.leaderboards.published import papers as published
from bench.leaderboards.render.text_table import markdown_table
from bench.leaderboards.statistics.constants import ALPHA
from bench.leaderboards.statistics.intervals import SeedMean

LISTED = 4  # comparisons of a cell; of more it has the range
CONTROLS = {
    "mle.decoupled": "an MLE model with the same classes and decoding (mle.decoupled)",
    "mle.continued": "MLE trained for as many steps (mle.continued)",
    "mle.decoupled (tied=false)": "an MLE model with the same classes and decoding (mle.decoupled, tied=false)",
    "mle": "MLE with a tied output layer (mle)",
    "mle.cache": "an untrained cache (mle.cache)",
    "mle.knn": "the search for nearest neighbours in the training text (mle.knn)",
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
    digits = 0 if abs(effect) >= 1000 else 1 if abs(effect) >= 10 else 2
    return f"{effect:+,.{digits}f}".replace("-", "−")


def with_interval(part: Part, effect: SeedMean) -> str:
    """Return an effect with its interval, where it has one."""
    if effect.low is None or effect.high is None or not effect.error:
        return shown(part, effect.mean)
    return f"{shown(part, effect.mean)} ({_number(effect.low)} to {_number(effect.high)})"


def paper_text(verdict: Verdict) -> str:
    """Return the paper's effects; nothing where it prints no number."""
    effects = [
        (part, effect) for part in verdict.claim.parts if (effect := printed_effect(verdict.claim, part)) is not None
    ]
    texts = [f"{shown(part, effect)}{_stated(part)}" for part, effect in effects]
    return _several([(part.without_settings, effect) for part, effect in effects], texts)


def here_text(verdict: Verdict) -> str:
    """Return our effects with their intervals; nothing of a claim that was not tested."""
    tested = verdict.parts if verdict.is_tested else ()
    effects = [(found.part, found.effect) for found in tested if found.effect is not None]
    texts = [with_interval(part, effect) for part, effect in effects]
    return _several([(part, effect.mean) for part, effect in effects], texts)


def _several(effects: Sequence[tuple[Part, float]], texts: Sequence[str]) -> str:
    """Return the text of each effect after what distinguishes it: columns, method or baseline; of many, the range."""
    if len(effects) > LISTED:
        low, high = (choose(effects, key=lambda one: one[1]) for choose in (min, max))
        return f"{_number(low[1])} to {shown(*high)}, {len(effects)} comparisons"
    names = [(part.column, part.method.label, f"against {part.against.label}") for part, _ in effects]
    differ = [len(set(of_parts)) > 1 for of_parts in zip(*names, strict=True)]
    labels = [[name for name, wanted in zip(of_part, differ, strict=True) if wanted] for of_part in names]
    return "; ".join(" ".join([*label, text]) for label, text in zip(labels, texts, strict=True))


def _stated(part: Part) -> str:
    """Return what the sentence says where the paper's table has another number."""
    return f" (the sentence: {part.stated:g}{_unit(part)})" if part.printed and part.stated is not None else ""


def verdict_text(verdict: Verdict) -> str:
    """Return the verdict with what was run, what stops or reverses it, the controls, and the result without a fault."""
    scale = f" ({verdict.scale.words})" if verdict.scale is not None else ""
    not_covered = f"not tested: {verdict.claim.beyond}" if verdict.claim.beyond else ""
    if not verdict.is_tested:
        first, *more = verdict.why
        more = [f"{len(more)} more {'reasons' if more[1:] else 'reason'} below"] if more else []
        details = [f"{verdict.word}: {first}", *more, not_covered]
    else:
        details = [f"{verdict.word}{scale}", *verdict.why, verdict.claim.result]
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
        counts = Counter(map(_side, parts))
        where = f"{_side(parts[0])} {theirs}"
        if len(counts) > 1:
            sides = " and ".join(f"{side} in {n}" for side, n in counts.items())
            where = f"{sides} of {len(parts)} comparisons with {theirs}"
        ranges = [sorted(values) for values in zip(*((part.ours, part.theirs) for part in parts), strict=True)]
        values = " against ".join(ranged([f"{value:.2f}" for value in of_side]) for of_side in ranges)
        texts.append(f"{ours} is {where} ({values})")
    if texts:
        yield f"{verdict.claim.instead}, {' and '.join(texts)}"


def _side(found: PartEvidence) -> str:
    """Return on which side of the other value ours lies, if the difference is significant."""
    p = None if found.effect is None else found.effect.p
    if not found.is_constant and (p is None or p > ALPHA):
        return "not clearly above or below"
    return "above" if found.ours > found.theirs else "below" if found.ours < found.theirs else "equal to"


def control_text(verdict: Verdict) -> Iterator[str]:
    """Yield the share of an effect that each control reaches."""
    if verdict.word != "seen here":
        return
    by_control: dict[tuple[str, str], list[ControlEffect]] = {}
    for control in (control for part in verdict.parts for control in part.controls):
        by_control.setdefault((control.label, control.replaced), []).append(control)
    for (label, replaced), found in by_control.items():
        name, shares = CONTROLS.get(label, label), sorted(control.share for control in found)
        percent = " to ".join(dict.fromkeys(f"{100 * share:.0f}" for share in (shares[0], shares[-1])))
        seeds = ranged([str(n) for n in sorted(len(control.rest.by_seed) for control in found)])
        if all(control.is_empty for control in found):
            yield f"{name} is no test, since validation chose the weight 0 for its memory"
        elif shares[-1] <= 0:
            yield f"{name} has none of the effect" if replaced == "method" else f"against {name} there is no effect"
        elif replaced == "method":
            yield f"{name} has {percent} % of the effect ({seeds} seeds)"
        else:
            yield f"against {name} the effect is {percent} % as large ({seeds} seeds)"


def evidence_lines(verdict: Verdict) -> list[str]:
    """Return the evidence of a verdict, a line for each comparison and each thing that a reader must know."""
    claim = verdict.claim
    known = [part for part in verdict.parts if part.effect is not None]
    controls = {text: part for part in reversed(known) for text in _controls(part)}  # each once, with its first
    lines = ["; ".join([_part_line(one), *(text for text in _controls(one) if controls[text] is one)]) for one in known]
    preconditions = "; ".join(verdict.preconditions)
    if not verdict.is_tested:
        stops = [f"What stops the test: {preconditions}"] if preconditions else []
        lines = list(filter(None, [". ".join([*_values(known), *stops])]))
    elif preconditions:
        lines.append(preconditions)
    for why in dict.fromkeys(part.margin_why for part in claim.parts if part.margin):
        margins = [f"{part.margin:g}{_unit(part)} in {part.column}" for part in claim.parts if part.margin_why == why]
        lines.append(f"smallest difference of interest: {', '.join(margins)}. {why}")
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
    return f"{sides}; {with_interval(part, found.effect)}; {'; '.join(tests)}"


def _controls(found: PartEvidence) -> Iterator[str]:
    """Yield what remains of an effect beyond each control, with its interval."""
    part = found.part
    for control in found.controls:
        rest = with_interval(part, control.rest)
        contains_0 = control.rest.p is not None and control.rest.p > ALPHA
        zero = ", an interval that contains 0" if contains_0 and len(set(control.rest.by_seed.values())) > 1 else ""
        of = "the effect minus that against" if control.replaced == "against" else f"{part.method.label} against"
        base = f", relative to {part.against.label}" if part.estimand == "percent" else ""
        empty = ", no test: its memory has the weight 0" if control.is_empty else ""
        yield f"{of} the control {control.label} ({control.value:.2f}){base}: {rest}{zero}{empty}"


def p_text(p: float) -> str:
    """Return a p-value for people.

    >>> p_text(0.00001), p_text(0.0234)
    ('p < 0.001', 'p = 0.023')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


# The report ----------------------------------------------------------------------------------------------------------

SHARED = "of these, a control reaches nine tenths of the effect"


def abstract(papers: Sequence[Paper]) -> list[str]:
    """Return six lines: models, data, number of claims, verdicts, limits, and how to read the numbers."""
    verdicts = [verdict for paper in papers for verdict in paper.verdicts]
    found = [(paper, scale_of([part for one in paper.verdicts for part in one.parts])) for paper in papers]
    scales = [(f"{paper.file.name} " * (len(papers) > 1), scale) for paper, scale in found if scale is not None]
    tested = sum(verdict.p is not None for verdict in verdicts)
    seen = sum(verdict.word == "seen here" for verdict in verdicts)
    run, on = "Models: nothing is stored for these claims.", "Data: none."
    if scales:
        run = f"Models: {'; '.join(f'{name}{scale.models}' for name, scale in scales)}."
        on = f"Data: {'; '.join(f'{name}{scale.text}' for name, scale in scales)}."
    results = "None was tested."
    if tested:
        results = (
            f"{tested} were tested, and {seen} of these are seen here; no test has the same model, "
            "weights, training length and data as the paper."
        )
    return [
        run,
        on,
        f"Claims: we selected {len(verdicts)} sentences, and there are more. Those without quotation "
        f"marks are in our words. {results}",
        "Verdicts: `seen here` means that the claimed difference appears in these runs, with these models and data, "
        "and `reversed here` that the opposite one does.",
        "Limits: no verdict confirms or contradicts a paper; that needs runs at the paper's scale. The counts are no "
        "grade: claims overlap and are not equally important.",
        "Numbers: `from the paper` is computed from the paper's tables. A positive effect has the claimed direction; "
        "where a claim says 'no higher', it is the first method minus the second. Points are distances from human "
        "text, in % of the human value. `/f2_code`: as F2-Softmax's code computes a metric. In '300 + 50 steps', the "
        "50 are steps of fine-tuning. Intervals are 95 % t intervals of differences that are paired by seed, with at "
        "least three seeds. A claim is tested as a whole, with Holm's correction over the tested claims of a paper. "
        "For claims that were not tested, the list below the table has only the means.",
    ]


def counts(papers: Sequence[Paper]) -> list[list[str]]:
    """Return the table of verdicts, with a column for each paper; every listed claim counts."""
    of_papers = [Counter[str](verdict.word for verdict in paper.verdicts) for paper in papers]
    numbers: dict[str, list[int]] = {}
    for word in WORDS:
        numbers[word] = [found[word] for found in of_papers]
        if word == "seen here":
            numbers[SHARED] = [sum(verdict.is_shared for verdict in paper.verdicts) for paper in papers]
    numbers["claims"] = [len(paper.verdicts) for paper in papers]
    lines = [[word, *map(str, of_word), str(sum(of_word))] for word, of_word in numbers.items()]
    return [["verdict", *(paper.file.name for paper in papers), "all"], *lines]


def markdown(papers: Sequence[Paper]) -> str:
    """Return the report as Markdown: six lines, the counts, then for each paper a table and the evidence."""
    meanings = {"verdict": "meaning", **WORDS}
    head, *rows = [[word, meanings.get(word, ""), *numbers] for word, *numbers in counts(papers)]
    lines = [*(f"- {line}" for line in abstract(papers)), "", *markdown_table(head, rows, texts=2)]
    return "\n\n".join(["\n".join(lines), *map(_markdown_paper, papers)])


def _markdown_paper(paper: Paper) -> str:
    rows, evidence = [], []
    for place, verdict in enumerate(paper.verdicts, start=1):
        claim = verdict.claim
        cells = [claim.text, claim.where, paper_text(verdict) or "–", here_text(verdict) or "–", verdict_text(verdict)]
        rows.append([str(place), *map(_marked, cells)])
        if any(part.rows for part in verdict.parts):
            constant = all(part.is_constant for part in verdict.parts)
            p = "" if verdict.p is None or constant else f" (after Holm, {p_text(verdict.p)})"
            evidence.append(f'{place}. "{_marked(claim.quote)}"{p}')
            evidence += [f"    - {_marked(line)}" for line in evidence_lines(verdict)]
    cited = [f"{one.citation}." for one in published.papers() if one.short == paper.file.short]
    notes = [_marked(" ".join([*cited, *paper.file.notes])), ""]
    head = ["", "claim", "where", "from the paper", "here", "verdict"]
    if all(row[4] == "–" for row in rows):  # no claim was tested
        head, rows = [*head[:4], head[5]], [[*row[:4], row[5]] for row in rows]
    lines = [f"## {paper.file.name}", "", *notes, *markdown_table(head, rows)]
    lines += ["", "The claims for which there are runs, and the evidence:", "", *evidence] if evidence else []
    return "\n".join(lines)


def _marked(text: str) -> str:
    r"""Return a text of a claim for Markdown: its emphasis and code stay, what would end a cell or open a tag does not.

    >>> print(_marked("p < 0.001 of *rare* `a_b` | <b>"))
    p < 0.001 of *rare* `a_b` \| \<b>
    """
    return re.sub(r"\||<(?=[a-zA-Z/!?])", r"\\\g<0>", text)


def content(papers: Sequence[Paper]) -> list[dict[str, Any]]:
    """Return the report as plain content."""
    found = []
    for paper in papers:
        of_words = {line[0]: int(line[1]) for line in counts([paper])[1:]}
        claims = list(map(_claim, paper.verdicts))
        found.append({"paper": paper.file.name, "abstract": abstract([paper]), "counts": of_words, "claims": claims})
    return found


def _claim(verdict: Verdict) -> dict[str, Any]:
    return {
        "claim": verdict.claim.text,
        **{name: getattr(verdict.claim, name) for name in ("quote", "where")},
        "verdict": verdict.word,
        "verdict_text": verdict_text(verdict),
        "scale": verdict.scale.words if verdict.scale is not None else "",
        "why": list(verdict.why),
        "p": verdict.p,
        "paper": paper_text(verdict),
        "here": here_text(verdict),
        "parts": [_part(part, verdict.is_tested) for part in verdict.parts],
        "evidence": evidence_lines(verdict),
    }


def _part(found: PartEvidence, tested: bool) -> dict[str, Any]:
    """Return one comparison: the values of both sides and, where it was tested, its effect."""
    part, effect = found.part, found.effect
    shown: dict[str, Any] = dict.fromkeys(("values", "effect", "low", "high", "p", "by_seed"))
    if effect is not None:
        shown["values"] = [found.ours, found.theirs]
    if effect is not None and tested:
        shown |= {"effect": effect.mean, "low": effect.low, "high": effect.high, "p": effect.p}
        shown["by_seed"] = {str(seed): value for seed, value in effect.by_seed.items()}
    return {
        **{name: getattr(part, name) for name in ("column", "relation", "estimand")},
        **{name: side.label for name, side in part.sides.items()},
        **shown,
        "missing": found.missing,
        "p_items": found.p_items if tested else None,
        "controls": {control.label: control.share for control in found.controls if tested},
    }
