"""Page: a board as one HTML file that needs no network, and no JavaScript to be complete (templates in `page/`)."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.files import write_atomic
from bench.base.printable import printable
from bench.leaderboards.claim.evaluation import WORDS
from bench.leaderboards.claim.report import SHARED
from bench.leaderboards.controls import is_trivial
from bench.leaderboards.render.answers import answers, forgetting
from bench.leaderboards.render.charts import charts

if TYPE_CHECKING:
    from jinja2 import Environment


GROUPS = {"pretrained": "Pretrained models", "tasks": "Tables by task", "systems": "Published systems"}
"""The groups of tables, in the order of the page. The first is of the preset `mid`, the last of imported texts."""
GROUP_OF_PRESET = {"mid": "pretrained", "imported": "systems"}
WAYS = {True: "higher is better", False: "lower is better", None: "neither way is better"}


def write_page(path: Path, board: Mapping[str, Any]) -> None:
    """Write the page of a board, in place of an older one."""
    write_atomic(path, page(board).encode("utf-8", "replace"), replace=True)


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
    forgotten = forgetting(board["tables"])
    sections = {"forgetting": "Forgetting by task"} if forgotten[0] else {}
    if any(table["samples"] for table in board["tables"]):
        sections["samples"] = "Samples side by side"
    drawn = charts(board["tables"], sizes)
    sections |= {kind["id"]: kind["title"] for kind in drawn}
    legend = dict.fromkeys(text for table in board["tables"] for text in table["legend"])
    style, script = _source("page.css"), _source("page.js")
    template = _environment().get_template("page.html")
    return template.render(
        board=board, groups=groups, legend=list(legend), papers=papers, sections=sections, charts=drawn, words=WORDS,
        shared=SHARED, style=style, script=script, forgotten=forgotten,
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
        "is_trivial": is_trivial,
        "marked": marked,
        "measured": measured,
        "pieces": lambda name: re.split(r"(?<=[/\-_. |])", name),
        "without_task": lambda title: title.partition(" · ")[2] or title,
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


def about(row: Mapping[str, Any]) -> str:
    """Return the tooltip of the name of a row. Notes below the table have its tuning, and the methods of a control."""
    lines = [
        f"decoding: {row['decoding']}" if row["decoding"] else "",
        f"diverged: {row['diverged']} of {len(row['seeds'])}, which are never numbers" if row["diverged"] else "",
        f"not tuned: {row['untuned']}" if row["untuned"] else "",
        row["remark"],
    ]
    return "\n".join(filter(None, lines))


def details(value: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    """Return the tooltip of a number in short, for `page.js`: its value of each seed, and the tests.

    `33.1 33.4 -|0.31 0.5 0.21 0.03`: a value for each seed of the row, and the difference from the baseline, half its
    interval, and the p-values over seeds and over test items; `-` for what there is not.
    """
    by_seed = [value["by_seed"].get(str(seed)) for seed in row["seeds"]] or list(value["by_seed"].values())
    values = " ".join(map(in_short, by_seed))
    if value["difference"] is None:
        return values
    half = None if value["high"] is None else value["high"] - value["difference"]
    tests = ((value["difference"], 3), (half or None, 3), (value["p"] or None, 2), (value["p_items"], 2))
    return f"{values}|{' '.join(in_short(*test) for test in tests)}"


def in_short(number: float | None, digits: int = 4) -> str:
    """Return a number in so many digits, `-` for none."""
    return "-" if number is None else f"{number:.{digits}g}"


def measured(table: Mapping[str, Any], column: Mapping[str, Any]) -> str:
    """Return what a column measures: its signature, and which way is better."""
    values = (row["values"].get(column["name"]) for row in table["methods"])
    signature = next((value["signature"] for value in values if value), "")
    return "\n".join(filter(None, [signature, WAYS[column["higher_is_better"]]]))
