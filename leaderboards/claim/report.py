"""The report on papers' claims: for a terminal, as Markdown, and as plain content for JSON and the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from bench.leaderboards.claim.evidence import PartEvidence
from bench.leaderboards.claim.judge import WORDS, Paper, Verdict
from bench.leaderboards.claim.lines import evidence_lines, here_text, p_text, paper_text, verdict_text
from bench.leaderboards.claim.scale import number, ranged
from bench.leaderboards.render.markdown_table import escaped, markdown_table
from bench.leaderboards.render.text.aligned import aligned

__all__ = ["abstract", "content", "counts", "markdown", "terminal"]


def abstract(papers: Sequence[Paper]) -> list[str]:
    """Return six lines: what was run, on what, what follows, what does not, and how to read the numbers."""
    verdicts = [verdict for paper in papers for verdict in paper.verdicts]
    scales = [verdict.scale for verdict in verdicts if verdict.scale is not None]
    tested = sum(1 for verdict in verdicts if verdict.p is not None)
    at_scale = sum(1 for verdict in verdicts if verdict.parts and not verdict.off_scale)
    run, on = "What was run: nothing is stored for these claims.", "On what: nothing."
    if scales:
        sizes = sorted(size for scale in scales for size in scale.parameters)
        lengths = dict.fromkeys(length for scale in scales for length in scale.lengths)
        texts = dict.fromkeys(scale.text for scale in scales)
        weights = " and ".join(dict.fromkeys(scale.weights for scale in scales))
        size = ranged([number(sizes[0]), number(sizes[-1])])
        run = f"What was run: models of {size} parameters {weights}, trained for {', '.join(lengths)}."
        on = f"On what: {'; '.join(texts)}."
    return [
        run,
        on,
        f"How much: all {len(verdicts)} claims that we found in the papers are listed; {tested} could be tested, "
        f"{at_scale or 'none'} at the paper's own scale, which is larger models, longer training and other text.",
        "What follows: `seen here` says that the claimed difference appears in these runs, at this size and on this "
        "text, and `reversed here` that the opposite one does.",
        "What does not follow: no verdict confirms or contradicts a paper; only rows at its own scale could.",
        "How to read: an effect is positive in the claimed direction, and points are of the gap to human text, in per "
        "cent of the human value; intervals are 95 % Student t over differences paired by seed, three or more; a claim "
        "is tested as a whole, with Holm over a paper's tested claims.",
    ]


def counts(papers: Sequence[Paper]) -> list[list[str]]:
    """Return the table of verdicts, with a column for each paper; every listed claim counts."""
    of_papers = [Counter(verdict.word for verdict in paper.verdicts) for paper in papers]
    lines = [["verdict", *(paper.file.name for paper in papers), "all"]]
    for word in WORDS:
        lines.append([word, *(str(found[word]) for found in of_papers), str(sum(found[word] for found in of_papers))])
    totals = [sum(found.values()) for found in of_papers]
    return [*lines, ["claims", *map(str, totals), str(sum(totals))]]


def terminal(papers: Sequence[Paper]) -> str:
    """Return the report as plain text."""
    blocks = ["\n".join(abstract(papers))]
    for paper in papers:
        lines = [paper.file.name]
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
    head, *rows = counts(papers)
    meanings = [f"- **{word}**: {meaning}." for word, meaning in WORDS.items()]
    lines = [*(f"- {line}" for line in abstract(papers)), "", *markdown_table(head, rows, texts=1), "", *meanings]
    return "\n\n".join(["\n".join(lines), *map(_markdown_paper, papers)])


def _markdown_paper(paper: Paper) -> str:
    rows, evidence = [], []
    for place, verdict in enumerate(paper.verdicts, start=1):
        claim = verdict.claim
        cells = [claim.text, claim.where, paper_text(verdict) or "–", here_text(verdict) or "–", verdict_text(verdict)]
        rows.append([str(place), *map(escaped, cells)])
        if claim.parts:
            p = f" (p after Holm {escaped(p_text(verdict.p))})" if verdict.p is not None else ""
            evidence.append(f'{place}. "{escaped(claim.quote)}"{p}')
            evidence += [f"    - {escaped(line)}" for line in evidence_lines(verdict)]
    lines = [f"## {paper.file.name}", "", *markdown_table(["", "claim", "where", "the paper", "here", "verdict"], rows)]
    lines += ["", "The sentences that were tested, and the evidence:", "", *evidence] if evidence else []
    return "\n".join(lines)


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
        "parts": list(map(_part, verdict.parts)),
        "evidence": evidence_lines(verdict),
    }


def _part(found: PartEvidence) -> dict[str, Any]:
    part, effect = found.part, found.effect
    shown: dict[str, Any] = dict.fromkeys(("values", "effect", "low", "high", "p", "by_seed"))
    if effect is not None:
        by_seed = {str(seed): value for seed, value in effect.by_seed.items()}
        shown |= {"values": [found.ours, found.theirs], "effect": effect.mean, "p": effect.p, "by_seed": by_seed}
        shown |= {"low": effect.interval.low, "high": effect.interval.high}
    return {
        **{name: getattr(part, name) for name in ("column", "relation", "estimand")},
        **{name: side.label for name, side in part.sides.items()},
        **shown,
        "missing": found.missing,
        "p_items": found.p_items,
        "controls": {control.method: control.share for control in found.controls},
    }
