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
from bench.base.printable import printable
from bench.leaderboards.claim.evaluation import WORDS
from bench.leaderboards.claim.report import SHARED
from bench.leaderboards.controls import is_trivial
from bench.leaderboards.render.charts import charts
from bench.leaderboards.row import signed
from bench.leaderboards.statistics.baseline import BASELINE
from bench.leaderboards.statistics.constants import MIN_SEEDS

if TYPE_CHECKING:
    from jinja2 import Environment


GROUPS = {"pretrained": "Pretrained models", "tasks": "Tables by task", "systems": "Published systems"}
"""The groups of tables, in the order of the page. The first is of the preset `mid`, the last of imported texts."""
GROUP_OF_PRESET = {"mid": "pretrained", "imported": "systems"}
WAYS = {True: "higher is better", False: "lower is better", None: "neither way is better"}
QUESTIONS = {
    "rep": "repeats least",
    "seq-rep": "repeats least",
    "self-bleu": "writes the most diverse texts",
    "distinct": "writes the most varied words",
    "uniq": "uses the most different words",
    "ppl": "has the lowest perplexity",
    "kld": "has the word frequencies nearest to those of people",
    "ms-jaccard": "has the n-grams nearest to those of people",
    "forgetting/nll": "forgets least: NLL of 200 passages of WikiText-103 in nats per token",
    "forgetting/kl": "stays nearest to the model before fine-tuning",
    "acc@": "names the right words most often",
    "bleu": "is nearest to the references",
    "sentence-bleu": "is nearest to the references",
    "rouge": "is nearest to the references",
}
"""What the best objective does, by the beginning of a metric's name; of all others it `SCORES_BEST`."""
SCORES_BEST = "scores best"
NAMED = 4
"""How many further objectives an answer names."""
MORE = 0.1
"""By this share the best objective may have more parameters than the baseline before an answer states it."""


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
    sections = {}
    if any(table["samples"] for table in board["tables"]):
        sections["samples"] = "Samples side by side"
    drawn = charts(board["tables"], sizes)
    sections |= {kind["id"]: kind["title"] for kind in drawn}
    legend = dict.fromkeys(text for table in board["tables"] for text in table["legend"])
    style, script = _source("page.css"), _source("page.js")
    template = _environment().get_template("page.html")
    return template.render(
        board=board, groups=groups, legend=list(legend), papers=papers, sections=sections, charts=drawn, words=WORDS,
        shared=SHARED, style=style, script=script,
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


def answers(table: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield for each shown column which objective is best, and whether its difference from the baseline is significant.

    Objectives are rows with a model that are neither controls nor trivial, with three seeds or more where any has them.

    Yields:
        The question with the column; for each backbone the best method with its mean and difference, and the result of
        the test with other objectives and controls that a reader should know of.
    """
    has_texts = any(row["decoding"] for row in table["methods"])
    is_measured = not has_texts or any(column["name"].startswith(("rep", "seq-rep")) for column in table["columns"])
    for column in table["columns"]:
        name, way = column["name"], column["higher_is_better"]
        rows = [row for row in table["methods"] if row["values"].get(name, {}).get("mean") is not None]
        rows.sort(key=lambda row: row["values"][name]["mean"], reverse=bool(way))
        objectives = [row for row in rows if row["backbone"] and not _is_control(row)]
        objectives = [row for row in objectives if row["values"][name]["n_seeds"] >= MIN_SEEDS] or objectives
        if not column["shown"] or way is None or len(objectives) < 2:
            continue
        if not is_measured:
            yield "Which objective repeats least?", [("This table has no metric of repetition", "")]
            is_measured = True
        found = []
        backbones = list(dict.fromkeys(row["backbone"] for row in objectives))
        for backbone in backbones:
            ranked = [row for row in objectives if row["backbone"] == backbone]
            controls = [row for row in rows if row["backbone"] in (backbone, "") and _is_control(row)]
            of_mle = [row["decoding"] for row in rows if (row["method"], row["backbone"]) == (BASELINE, backbone)]
            numbers, verdict = _best(ranked, controls, of_mle, name, way)
            found.append((f"{backbone}: {numbers}" if len(backbones) > 1 else numbers, verdict))
        does = next((text for start, text in QUESTIONS.items() if name.startswith(start)), SCORES_BEST)
        yield f"Which objective {does} ({name})?", found


def _best(ranked: Sequence[Any], controls: Sequence[Any], of_mle: list[str], name: str, way: bool) -> tuple[str, str]:
    """Return the best of objectives with one backbone, and what a reader should know of its place.

    Args:
        ranked, controls: rows with a value, the best first.
        of_mle: the decodings of the rows of the baseline with a value.
        name, way: of the column, and whether higher is better.
    """

    def stated(row: Mapping[str, Any]) -> str:
        return f"{row['method']} {row['values'][name]['text']}"

    best, value = ranked[0], ranked[0]["values"][name]
    alike = dict.fromkeys(row["method"] for row in ranked if row["values"][name]["text"] == value["text"])
    if len(alike) > 1 and all(row["values"][name]["text"] == value["text"] for row in ranked):
        return f"{value['text']} for each of {len(alike)} objectives", "no difference in the digits shown"
    del alike[best["method"]]
    numbers, notes = stated(best), [f"without a row of {BASELINE} to compare it with"]
    if best["settings"]:
        numbers = f"{best['method']} ({best['settings']}) {value['text']}"
    if best["method"] == BASELINE:
        with_seeds = f" with {MIN_SEEDS} seeds or more" if value["n_seeds"] >= MIN_SEEDS else ""
        notes = [f"no other objective{with_seeds} is better"]
    elif value["difference"] is None and value["against"]:
        notes = [f"not tested, without a seed in common with {BASELINE}"]
    elif value["difference"] is None and (n := of_mle.count(best["decoding"])) > 1:
        notes = [f"not tested, since {n} rows of {BASELINE} fit and none of them was chosen"]
    elif value["difference"] is not None:
        numbers += f" ({signed(value['difference'])} from {BASELINE})"
        notes = [f"not tested, with fewer than {MIN_SEEDS} seeds in common"]
        if value["p"] == 0:  # the differences of the seeds have no variance
            notes = ["exactly the same difference with every seed"]
        elif value["p"] is not None:
            notes = [f"{'significant' if value['differs'] else 'not significant'} (p = {value['p']:.2g})"]
        size = next((row["parameters"] for row in ranked if row["id"] == value["against"]), None)
        if size and best["parameters"] and (share := best["parameters"] / size - 1) > MORE:
            notes.append(f"with {100 * share:.0f} % more parameters than the {BASELINE} of the comparison")
    notes += [f"the same number: {', '.join(alike)}"] if alike else []
    others: dict[str, str] = {}  # the best row of each method
    for row in (row for row in ranked[1:] if row["method"] not in alike):
        theirs = row["values"][name]
        if theirs["differs"] and (theirs["difference"] > 0) == way and row["method"] != best["method"]:
            same = theirs["against"] in (value["against"] or theirs["against"], best["id"])
            of = "" if same else f" from another row of {BASELINE}"
            others.setdefault(row["method"], f"{stated(row)} ({signed(theirs['difference'])}{of})")
    if others:
        more = f" and {len(others) - NAMED} more" if len(others) > NAMED else ""
        notes.append(f"others beat {BASELINE} significantly: {', '.join([*others.values()][:NAMED])}{more}")
    if name.startswith("forgetting"):
        notes += [f"the highest: {stated(row)}" for row in ranked[2:][-1:]]
        before = [row["values"][name]["text"] for row in controls if row["method"].endswith(".untrained")]
        notes += [f"before fine-tuning: {text}" for text in before]
    elif controls:
        ahead = round(controls[0]["values"][name]["mean"], 2) - round(value["mean"], 2)
        if ahead and (ahead > 0) == way:
            kind = "trivial" if is_trivial(controls[0]["method"]) else "control"
            notes.append(f"better still: {stated(controls[0])} ({kind})")
    return numbers, "; ".join(notes)


def _is_control(row: Mapping[str, Any]) -> bool:
    return bool(row["controls"]) or is_trivial(row["method"])


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
