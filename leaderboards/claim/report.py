"""The report on papers' claims: for a terminal, as Markdown, and as plain content for JSON and the page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from bench.leaderboards.claim.evaluation import WORDS, Paper, Verdict, scale_of
from bench.leaderboards.claim.evidence import PartEvidence
from bench.leaderboards.claim.lines import evidence_lines, here_text, p_text, paper_text, verdict_text
from bench.leaderboards.published import papers as published
from bench.leaderboards.render.markdown_table import markdown_table
from bench.leaderboards.render.text_table import aligned

__all__ = ["abstract", "content", "counts", "markdown", "terminal"]

SHARED = "of these, a control reaches nine tenths of the effect"


def abstract(papers: Sequence[Paper]) -> list[str]:
    """Return six lines: models, data, number of claims, verdicts, limits, and how to read the numbers."""
    verdicts = [verdict for paper in papers for verdict in paper.verdicts]
    found = [(paper, scale_of([part for one in paper.verdicts for part in one.parts])) for paper in papers]
    scales = [(paper.file.name, scale) for paper, scale in found if scale is not None]
    tested = sum(1 for verdict in verdicts if verdict.p is not None)
    at_scale = sum(1 for verdict in verdicts if verdict.parts and not verdict.not_comparable)
    run, on = "Models: nothing is stored for these claims.", "Data: none."
    if scales:
        run = f"Models: {'; '.join(f'{name} {scale.models}' for name, scale in scales)}."
        on = f"Data: {'; '.join(f'{name} {scale.text}' for name, scale in scales)}."
    return [
        run,
        on,
        f"Claims: we selected {len(verdicts)} sentences; the papers make more claims. Those without quotation "
        f"marks are in our words. {tested} could be tested, "
        f"{at_scale or 'none'} of them with the model, the weights, the training length and the data of the paper.",
        "Verdicts: `seen here` means that the claimed difference appears in these runs, with these models and data, "
        "and `reversed here` that the opposite one does.",
        "Limits: no verdict confirms or contradicts a paper; that needs runs at the paper's scale. The counts are no "
        "grade: claims overlap and are not equally important.",
        "Numbers: `from the paper` is computed from the paper's tables. A positive effect has the claimed direction; "
        "where a claim says 'no higher', it is the first method minus the second. Points are of the distance to human "
        "text, in per cent of the human value. In '300 + 50 steps', the 50 are steps of fine-tuning. Intervals are "
        "95 % t intervals of differences paired by seed, three or more. A claim is tested as a whole, with Holm's "
        "correction over the tested claims of a paper. For claims that were not tested, the list below the table has "
        "only the means.",
    ]


def counts(papers: Sequence[Paper]) -> list[list[str]]:
    """Return the table of verdicts, with a column for each paper; every listed claim counts."""
    of_papers = [Counter[str](verdict.word for verdict in paper.verdicts) for paper in papers]
    shared = [sum(verdict.is_shared for verdict in paper.verdicts) for paper in papers]
    numbers: dict[str, list[int]] = {}
    for word in WORDS:
        numbers[word] = [found[word] for found in of_papers]
        if word == "seen here":
            numbers[SHARED] = shared
    numbers["claims"] = [len(paper.verdicts) for paper in papers]
    lines = [[word, *map(str, of_word), str(sum(of_word))] for word, of_word in numbers.items()]
    return [["verdict", *(paper.file.name for paper in papers), "all"], *lines]


def terminal(papers: Sequence[Paper]) -> str:
    """Return the report as plain text."""
    blocks = ["\n".join(abstract(papers))]
    for paper in papers:
        lines = [paper.file.name, *(f"  {note}" for note in paper.file.notes)]
        for place, verdict in enumerate(paper.verdicts, start=1):
            claim, here = verdict.claim, here_text(verdict)
            lines += [f"  {place}. {verdict_text(verdict)}", f"      {claim.text} ({claim.where})"]
            facts = [f'the paper: "{claim.quote}" {paper_text(verdict)}'.rstrip()] if claim.says else []
            facts += [f"here: {here}"] if here else []
            lines += [f"        {line}" for line in (*facts, *evidence_lines(verdict))]
        blocks.append("\n".join(lines))
    head, *rows = counts(papers)
    files = ", ".join(f"leaderboards/claims/{paper.file.short}.toml" for paper in papers)
    return "\n\n".join([*blocks, "\n".join(aligned(head, rows)), f"The runs that make the rows are listed in {files}."])


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
        if verdict.parts:
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
        "quote": verdict.claim.quote,
        "where": verdict.claim.where,
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
        by_seed = {str(seed): value for seed, value in effect.by_seed.items()}
        shown |= {"effect": effect.mean, "low": effect.interval.low, "high": effect.interval.high, "p": effect.p}
        shown["by_seed"] = by_seed
    return {
        **{name: getattr(part, name) for name in ("column", "relation", "estimand")},
        **{name: side.label for name, side in part.sides.items()},
        **shown,
        "missing": found.missing,
        "p_items": found.p_items if tested else None,
        "controls": {control.label: control.share for control in found.controls if tested},
    }
