"""Report: the section as Markdown, which a terminal reads as well."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import starmap

from bench.leaderboards.quality_diversity.comparison import CLAIMED, COMPARED, FrontDifference, Share
from bench.leaderboards.quality_diversity.curves import Axes, axis_name
from bench.leaderboards.quality_diversity.decoders import FAMILIES, REFERENCE
from bench.leaderboards.quality_diversity.section import Objective, Section
from bench.leaderboards.render.markdown_table import markdown_table
from bench.leaderboards.statistics.moderated import FEWEST
from bench.leaderboards.statistics.share import EXPLAINED
from bench.leaderboards.statistics.tradeoff import shown

__all__ = ["report"]

TITLE = "# Decoding against training"
QUESTION = (
    "Some objectives say that they cure repetition or blandness. A decoder may do the same for a model of maximum "
    "likelihood, and costs nothing to train. Here both write under the same decoders, with as many settings of each "
    "family, and are compared where they are equal in quality or in diversity: what does training buy that decoding "
    "does not?"
)
RULES = (
    f"Gain: what an objective has on its baseline under `{REFERENCE}`, positive where it is better. Share: what the "
    "baseline's front has gained where it is of the objective's quality, over that gain; Fieller's 95 % interval over "
    f"seeds. Where {FEWEST} or more objectives have one baseline, the variance of each is moderated over all of them "
    f"(Smyth 2004). **explained**: the interval is above {EXPLAINED:.0%}. **training adds**: it is below. "
    "**no gain**: the mean gain is not above 0. **not comparable**: the baseline's decoders do not reach the "
    "objective's quality in every seed, or the share is a bound that explains nothing (all that they reach is of "
    "better quality, and gains at the least so much). **open**: none of these. The share favours decoders, since one "
    "point meets the best of all settings, chosen on the same texts: an objective on its baseline's front can have "
    "well above 100 %. The fronts favour neither.",
    "Fronts: of each model the settings that no other one beats in both columns, by means over seeds; straight lines "
    "between them, nothing beyond. The difference is the objective less its baseline, mean over the range that both "
    "reach, with Student's 95 % interval over seeds; where the fronts of one seed do not overlap, **not comparable**. "
    "**ahead** and **behind** say on which side of 0 it is, ahead where the objective is better. No interval is "
    "corrected for the number of lines.",
)
COLUMNS = {
    "self-bleu-2": "how much the texts say the same, lower is more diverse",
    "sample-ppl": "perplexity of the texts under a bigram model of the human texts of the same rows, lower is more "
    "like them; loops of common pairs have a low one, too; curves have its logarithm",
    "seq-rep-4": "share of repeated 4-grams within a text, lower is less",
}


def report(found: Sequence[Section]) -> str:
    """Return all sections, or that there is none."""
    lines = [TITLE, "", QUESTION, ""]
    if not found:
        lines.append(
            "No leaderboard has maximum likelihood under two families of decoders, of one size and with texts of one "
            "length: bench tradeoff --run."
        )
        return "\n".join(lines)
    lines += [f"- `{name}`: {what}" for name, what in COLUMNS.items()]
    for section in found:
        lines += ["", *_section(section)]
    return "\n".join([*lines, "", "## Rules", "", RULES[0], "", RULES[1], "", *_settings()])


def _section(section: Section) -> Iterable[str]:
    """Yield the lines of one leaderboard."""
    compared = [objective for objective in section.objectives if not objective.why]
    yield f"## {section.table.title} · {section.backbone} · {section.conditions}"
    yield ""
    if section.table.watermark:
        yield f"*{section.table.watermark}*\n"
    yield from _conclusions(compared)
    yield from _lacking(section)
    yield from ["", f"### What a decoder gives for free, of the gain under `{REFERENCE}`", ""]
    shares = [(objective, share) for objective in compared for share in objective.shares]
    heading = ["objective", "beside", "at equal", "gain in", "gain", "share of decoders", "says"]
    yield from markdown_table(heading, starmap(_share_cells, shares))
    yield from ["", "### The same of each family of decoders alone", ""]
    yield from markdown_table(["objective", "gain in", *FAMILIES], starmap(_family_cells, shares))
    yield from ["", "### Fronts of all decoders", ""]
    fronts = [f"{axis_name(axes.column)} at equal {axes.at}" for axes in COMPARED]
    rows = [[objective.method, objective.baseline, *map(_front_cell, objective.fronts)] for objective in compared]
    yield from markdown_table(["objective", "beside", *fronts], rows)
    yield from ["", f"### Settings on the front of {_named(CLAIMED[0])}", ""]
    yield from _fronts(section)


def _conclusions(compared: Sequence[Objective]) -> Iterable[str]:
    """Yield what is said of all objectives: a line for each question, with who has which verdict."""
    verdicts: list[tuple[str, str]]
    for place, axes in enumerate(CLAIMED):
        verdicts = [(objective.method, objective.shares[place].verdict) for objective in compared]
        yield f"- Gain in {axes.column}, what decoders have of it at equal {axes.at}: {_by_verdict(verdicts)}."
    for place, axes in enumerate(COMPARED):
        verdicts = [(objective.method, objective.fronts[place].verdict) for objective in compared]
        yield f"- Fronts, {axes.column} at equal {axes.at}: {_by_verdict(verdicts)}."


def _by_verdict(verdicts: Sequence[tuple[str, str]]) -> str:
    """Return methods behind their verdict, the most frequent verdict first."""
    methods: dict[str, list[str]] = defaultdict(list)
    for method, verdict in verdicts:
        methods[verdict].append(method)
    ordered = sorted(methods.items(), key=lambda found: -len(found[1]))
    return "; ".join(f"**{verdict}** {', '.join(of_verdict)}" for verdict, of_verdict in ordered)


def _lacking(section: Section) -> Iterable[str]:
    """Yield what is not there."""
    notes: dict[str, None] = {}  # a baseline's once, for all its objectives
    for objective in section.objectives:
        if objective.why:
            yield f"- {objective.method}: {objective.why}"
        for note in objective.gaps:
            notes[note] = None
    yield from (f"- {note}" for note in notes)
    if section.missing:
        yield f"- Settings of which some model has no point, left out of its pair: {', '.join(section.missing)}"
    if section.passed_over:
        yield f"- Stored, but compared with nothing: {'; '.join(section.passed_over)}"


def _share_cells(objective: Objective, share: Share) -> list[str]:
    gain = "-"
    by_seed = share.gains.objective
    if by_seed:
        gain = f"{sum(by_seed.values()) / len(by_seed):+.3f} (n={len(by_seed)})"
    named = [objective.method, objective.baseline, share.axes.at, share.axes.column]
    return [*named, gain, share.said or "-", f"**{share.verdict}**"]


def _family_cells(objective: Objective, share: Share) -> list[str]:
    cells = [objective.method, share.axes.column]
    for family in FAMILIES:
        if family in share.families:
            cells.append(f"{share.families[family].value:.0%}")
        else:
            cells.append("-")
    return cells


def _front_cell(front: FrontDifference) -> str:
    """Return the difference and what it says; where not every seed's fronts overlap, that they are not comparable."""
    if front.tradeoff.difference is None or front.verdict == "not comparable":
        return f"**{front.verdict}**"
    return f"{shown(front.tradeoff.difference).replace('+-', '±')} **{front.verdict}**"


def _fronts(section: Section) -> Iterable[str]:
    """Yield which settings are on the front of every compared model, each front once."""
    fronts: dict[tuple[str, str], None] = {}
    for objective in section.objectives:
        if not objective.why:
            pair = objective.pairs[CLAIMED[0]]
            for name, side in ((objective.baseline, pair.theirs), (objective.method, pair.ours)):
                fronts[name, ", ".join(side.front)] = None
    yield from markdown_table(["model", "settings"], [[name, front] for name, front in fronts])


def _settings() -> Iterable[str]:
    """Yield the decoders."""
    rows = []
    for family, settings in FAMILIES.items():
        rows.append([family, ", ".join(f"`{setting}`" for setting in settings)])
    yield from ["## Decoders", "", *markdown_table(["family", "settings"], rows)]


def _named(axes: Axes) -> str:
    return f"{axes.column} and {axes.at}"
