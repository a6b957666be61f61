"""Page: a board as one HTML file that needs no network, and no JavaScript to be complete (templates in `page/`)."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.files import write_atomic
from bench.base.redaction import printable, redacted
from bench.leaderboards.claim.evaluation import WORDS
from bench.leaderboards.claim.report import SHARED
from bench.leaderboards.controls import is_trivial
from bench.leaderboards.render.charts import charts
from bench.leaderboards.render.text_table import signed
from bench.leaderboards.statistics.baseline import BASELINE
from bench.leaderboards.statistics.constants import MIN_SEEDS

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["page", "static_table", "write_page"]

GROUPS = {"pretrained": "Pretrained models", "tasks": "Tables by task", "systems": "Published systems"}
"""The groups of tables, in the order of the page. The first is of the preset `mid`, the last of imported texts."""
GROUP_OF_PRESET = {"mid": "pretrained", "imported": "systems"}
WAYS = {True: "higher is better", False: "lower is better", None: "neither way is better"}
QUESTIONS = {
    "rep": "repeats least",
    "seq-rep": "repeats least",
    "self-bleu": "writes the least alike texts",
    "distinct": "writes the most varied words",
    "uniq": "uses the most different words",
    "ppl": "has the lowest perplexity",
    "kld": "uses words most as people do",
    "ms-jaccard": "writes n-grams most as people do",
    "forgetting": "forgets least",
    "acc@": "names the right words most often",
    "bleu": "is nearest to the references",
    "sent-bleu": "is nearest to the references",
    "rouge": "is nearest to the references",
}
"""What the best objective does, by the beginning of a metric's name; of all others it `SCORES_BEST`."""
SCORES_BEST = "scores best"
KEY_LETTERS = 8
"""Of the key of a run; `bench compare` finds the run by them."""


def write_page(path: Path, board: Mapping[str, Any]) -> None:
    """Write the page of a board, in place of an older one; a secret that a record holds stays out."""
    write_atomic(path, page(redacted(board)).encode("utf-8", "replace"), replace=True)


def page(board: Mapping[str, Any], sizes: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return the page of a board, as `board.schema.json` describes it.

    Args:
        board: what is shown.
        sizes: tables of other boards, with models of several sizes, of which only the charts are shown.

    Nothing in a board is trusted: the templates escape every text, and the page's policy lets nothing but its own
    script and style run, and nothing be loaded.
    """
    found: dict[str, list[Any]] = {name: [] for name in GROUPS}
    for table in board["tables"]:
        found[GROUP_OF_PRESET.get(table["preset"], "tasks")].append(table)
    groups = [{"id": name, "title": GROUPS[name], "tables": tables} for name, tables in found.items() if tables]
    papers = sorted(board.get("claims", ()), key=lambda paper: not any(claim["here"] for claim in paper["claims"]))
    if not any(part["values"] for paper in papers for claim in paper["claims"] for part in claim["parts"]):
        papers = []
    sections = {}
    if any(table["samples"] for table in board["tables"]):
        sections["samples"] = "Samples side by side"
    drawn = charts(board["tables"], sizes)
    sections |= {kind["id"]: kind["title"] for kind in drawn}
    style, script = _source("page.css"), _source("page.js")
    template = _environment().get_template("page.html")
    return template.render(
        board=board, groups=groups, papers=papers, sections=sections, charts=drawn, words=WORDS, shared=SHARED,
        style=style, script=script,
    )  # fmt: skip


def static_table(table: Mapping[str, Any]) -> str:
    """Return one table of a board as the page shows it, for a notebook."""
    parts: Any = _environment().get_template("parts.html").module
    return str(parts.table_of(table))


def _source(name: str) -> str:
    return resources.files("bench.leaderboards").joinpath("page", name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    """Return the templates, with what they call."""
    from jinja2 import Environment, FunctionLoader

    environment = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda text: printable(text) if type(text) is str else text,  # markup is made of such texts already
    )
    environment.filters |= {
        "about": about,
        "anchor": anchor,
        "answers": answers,
        "details": details,
        "digest": _digest,
        "marked": marked,
        "measured": measured,
        "pieces": lambda name: re.split(r"(?<=[/\-_. |])", name),
    }
    return environment


def marked(text: str) -> str:
    """Return a text of Markdown with its code and emphasis as markup.

    >>> print(marked("`bench run` on *rare* words <b>"))
    <code>bench run</code> on <em>rare</em> words &lt;b&gt;
    """
    from markupsafe import Markup, escape

    with_code = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(printable(text))))
    return Markup(re.sub(r"(?<![\w*])\*(\w[^*]*)\*(?!\w)", r"<em>\1</em>", with_code))


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def anchor(table_id: str) -> str:
    """Return the id of a table's section.

    >>> anchor("logicnlg.test.small.100")
    'table-logicnlg.test.small.100'
    """
    return "table-" + re.sub(r"[^\w.-]", "", table_id)


def answers(table: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield for each shown column which objective is best, and whether its difference from the baseline is significant.

    Objectives are rows with a model that are no controls, with three seeds or more where any has them.

    Yields:
        The question with the column; the method with its mean and its difference; the result of the test.
    """
    for column in table["columns"]:
        name, way = column["name"], column["higher_is_better"]
        rows = [
            row
            for row in table["methods"]
            if row["backbone"] and not row["controls"] and not is_trivial(row["method"])
            if row["values"].get(name, {}).get("mean") is not None
        ]
        rows = [row for row in rows if row["n_seeds"] >= MIN_SEEDS] or rows
        if not column["shown"] or way is None or len(rows) < 2:
            continue
        best = (max if way else min)(rows, key=lambda row: row["values"][name]["mean"])
        value, settings = best["values"][name], f" ({best['settings']})" if best["settings"] else ""
        does = next((text for start, text in QUESTIONS.items() if name.startswith(start)), SCORES_BEST)
        numbers, verdict = f"{best['method']}{settings} {value['text']}", "no row of mle that it can be compared with"
        if best["method"] == BASELINE:
            verdict = "no other objective is better"
        elif value["difference"] is not None:
            numbers += f", {signed(value['difference'])} from {BASELINE}"
            verdict = f"not tested: fewer than {MIN_SEEDS} seeds"
            if value["p"] == 0:  # the differences of the seeds have no variance
                verdict = "the difference is the same with every seed, so no test applies"
            elif value["p"] is not None:
                significant = "a significant difference" if value["differs"] else "not a significant difference"
                verdict = f"{significant}: p = {value['p']:.2g} over seeds, after Holm's correction"
        yield f"Which objective {does} ({name})?", numbers, verdict


def about(row: Mapping[str, Any]) -> str:
    """Return the tooltip of the name of a row: its decoding, how it was tuned, and its runs."""
    lines = [
        f"decoding: {row['decoding']}" if row["decoding"] else "",
        f"diverged: {row['diverged']} of {len(row['seeds'])}, which are never numbers" if row["diverged"] else "",
        f"control: it would explain away a gain of {', '.join(row['controls'])}" if row["controls"] else "",
        f"tuned: {row['picked']}" if row["picked"] else "",
        f"not tuned: {row['untuned']}" if row["untuned"] else "",
        row["remark"],
        f"runs: {', '.join(key[:KEY_LETTERS] for key in row['cells'])}",
    ]
    return "\n".join(filter(None, lines))


def details(value: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Return the tooltip of a number in short, for `page.js`: its value of each seed, and the tests.

    `33.1 33.4 -|0.31 -0.2 0.8 0.21 0.03`: a value for each seed of the row, and the difference from the baseline, the
    ends of its interval, and the p-values over seeds and over test items; `-` for what there is not.
    """
    by_seed = [value["by_seed"].get(str(seed)) for seed in row["seeds"]] or list(value["by_seed"].values())
    tests = [value[name] for name in ("difference", "low", "high", "p", "p_items")]
    parts = [
        " ".join("-" if number is None else f"{number:.{digits}g}" for number in part)
        for part, digits in ((by_seed, 4), (tests, 3))
    ]
    return parts[0] if value["difference"] is None else "|".join(parts)


def measured(table: Mapping[str, Any], column: Mapping[str, Any]) -> str:
    """Return what a column measures: its signature, and which way is better."""
    values = (row["values"].get(column["name"]) for row in table["methods"])
    signature = next((value["signature"] for value in values if value), "")
    return "\n".join(filter(None, [signature, WAYS[column["higher_is_better"]]]))
