"""The catalogue: every method, task, metric, backbone and decoding, read from its entry, class and docstring."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from bench.base.options import words_of
from bench.base.registry import load
from bench.decodings import DECODINGS
from bench.decodings.core.decoding import Decoding
from bench.decodings.core.sampler import Sampler
from bench.leaderboards.published.papers import papers
from bench.leaderboards.render.text_table import markdown_table
from bench.metrics import METRICS, MetricEntry
from bench.metrics.columns import expand
from bench.metrics.requirements import describe
from bench.models import METHODS, MethodEntry
from bench.models.backbones import BACKBONES
from bench.tasks import TASKS, TaskEntry
from tools.catalogue.docstrings import Docstring, cell, code, prose, read_docstring, sentence
from tools.catalogue.options import default_of, option_table

FOLDER = "docs/catalogue"
GROUPS = {"papers": "Methods of the papers", "modern": "Other objectives"}
SIGNS = {"+": "higher is better", "-": "lower is better", "=": "neither is better"}
SAME_ARGUMENTS = re.compile(r"Args: as `(\w+)`.*")
"""What a docstring says where its arguments are those of another function of the file."""


def pages() -> dict[str, Iterator[str]]:
    """Return the lines of every page of the catalogue, by its path in the repository."""
    found = {
        "methods": method_table(),
        "tasks": task_table(),
        "metrics": metric_page(),
        "backbones": backbone_page(),
        "decodings": decoding_page(),
    }
    found |= {f"methods/{name}": method_page(name, entry) for name, entry in METHODS.items()}
    found |= {f"tasks/{name}": task_page(name, entry) for name, entry in TASKS.items()}
    return {f"{FOLDER}/{name}.md": lines for name, lines in found.items()}


def text_of(*docstrings: Docstring) -> Iterator[str]:
    """Yield the paragraphs of docstrings; shapes belong to the code of a file and are left out."""
    for docstring in docstrings:
        for block in [docstring.lead, *docstring.blocks]:
            if block and not block.startswith("Shapes:"):
                yield from [block, ""]


def without_lead(docstring: Docstring) -> Docstring:
    """Return a docstring without its first paragraph, which the summary of an entry repeats."""
    return Docstring("", docstring.blocks, docstring.sections)


def section(title: str, table: list[str]) -> Iterator[str]:
    """Yield a heading and a table; nothing for a table without rows."""
    if len(table) > 2:
        yield from [f"## {title}", "", *table, ""]


def published(name: str, kind: str) -> list[str]:
    """Return a table of the papers' tables that have a method or a task.

    Args:
        name: of the method or task.
        kind: `method` or `task`.
    """
    rows = []
    for paper in papers():
        for table in paper.tables:
            if name in {getattr(one, kind).partition(".")[0] for row in table.rows for one in row}:
                title = f"{paper.name}, {table.name}: {table.title}"
                rows.append([code(table.address), cell(prose(title))])
    return markdown_table(["`bench reproduce`", "table"], rows)


# Methods ----------------------------------------------------------------------------------------------------------


def method_table() -> Iterator[str]:
    """Yield the page with the table of all methods."""
    yield from ["# Methods", "", "`--method NAME` runs one."]
    for group, title in [*GROUPS.items(), ("", "Baselines and trivial controls")]:
        rows = []
        for name, entry in METHODS.items():
            if entry.baseline != (not group) or (group and entry.group != group):
                continue
            controls = ", ".join(map(code, entry.controls))
            rows.append([f"[{code(name)}](methods/{name}.md)", cell(prose(entry.summary)), entry.paper, controls])
        yield from ["", f"## {title}", "", *markdown_table(["method", "what it is", "source", "controls"], rows)]


def method_page(name: str, entry: MethodEntry) -> Iterator[str]:
    """Yield the page of a method with its variants."""
    yield from [f"# {name}", "", sentence(entry.summary, entry.paper), ""]
    yield from class_text(entry.load())
    variants = []
    for variant, given in (entry.variants or {}).items():
        settings = {key: value for key, value in given.items() if key not in ("class", "summary")}
        variants.append([code(f"{name}.{variant}"), cell(prose(given.get("summary", ""))), cell(typed(settings))])
    yield from section("Variants", markdown_table(["method", "what it is", "settings"], variants))
    if entry.controls:
        shown = ", ".join(f"[{code(control)}]({control.partition('.')[0]}.md)" for control in entry.controls)
        yield from ["## Controls", "", f"They could explain a gain, and run with `--method all`: {shown}.", ""]
    yield from section("Tables of papers", published(name, "method"))
    for variant, given in (entry.variants or {}).items():
        if "class" in given:
            yield from [f"## {name}.{variant}", "", *class_text(load(given["class"]), "###")]


def class_text(kind: type[Any], level: str = "##") -> Iterator[str]:
    """Yield what the class of a method says: equations, text, options and facts.

    Args:
        kind: the class.
        level: the mark of its headings.
    """
    module, docstring = read_docstring(inspect.getmodule(kind).__doc__), read_docstring(kind.__doc__)
    for equation in kind.equations:
        yield from ["$$", equation, "$$", ""]
    yield from text_of(without_lead(module), docstring)
    meanings: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        meanings |= read_docstring(base.__doc__ or "").arguments
    options = option_table(kind, meanings, "method")
    if options:
        yield from [f"{level} Options", "", *options, ""]
    or_pretrained = ", or from pretrained weights" if getattr(kind, "starts_pretrained", False) else ""
    facts = {
        "class": code(f"{kind.__module__}:{kind.__name__}"),
        "version": str(kind.version),
        "fields of a row": ", ".join(map(code, sorted(kind.fields))),
        "architectures": ", ".join(getattr(kind, "architectures", ())),
        "starts from a trained": code(kind.parent) + or_pretrained if getattr(kind, "parent", "") else "",
        "reads a frozen": code(kind.reference) if getattr(kind, "reference", "") else "",
        "decodes by": code(kind.own_decoding) if getattr(kind, "own_decoding", "") else "",
        "fixed settings": typed(getattr(kind, "settings", {})),
    }
    yield from [*markdown_table(["", ""], [[name, cell(fact)] for name, fact in facts.items() if fact]), ""]


def typed(settings: Mapping[str, Any]) -> str:
    """Return settings as they are typed after `--set`."""
    return ", ".join(code(f"{name}={value}") for name, value in settings.items())


# Tasks ------------------------------------------------------------------------------------------------------------


def task_table() -> Iterator[str]:
    """Yield the page with the table of all tasks."""
    rows = []
    for name, entry in TASKS.items():
        info = entry.load().info
        shown = f"[{code(name)}](tasks/{name}.md)"
        rows.append([shown, cell(prose(entry.summary)), cell(prose(entry.paper)), info.language, code(entry.primary)])
    heading = ["task", "what it is", "source", "language", "ordered by"]
    yield from ["# Tasks", "", "`--task NAME` runs one.", "", *markdown_table(heading, rows)]


def task_page(name: str, entry: TaskEntry) -> Iterator[str]:
    """Yield the page of a task."""
    kind = entry.load()
    info, docstring = kind.info, read_docstring(kind.__doc__)
    yield from [f"# {name}", "", sentence(entry.summary, entry.paper), ""]
    yield from text_of(without_lead(read_docstring(sys.modules[kind.__module__].__doc__)), docstring)
    facts = {
        "publisher": f"<{info.source}>" if info.source.startswith("https://") else prose(info.source),
        "licence": prose(info.licence),
        "official rows": ", ".join(f"{split} {rows:,}" for split, rows in info.sizes.items()),
        "language": info.language,
        "fields of a row": ", ".join(map(code, sorted(info.fields))),
        "evaluations": ", ".join(info.evaluations),
        "metrics": ", ".join(map(code, info.metrics)),
        "class": code(f"{kind.__module__}:{kind.__name__}"),
    }
    yield from [*markdown_table(["", ""], [[fact, cell(text)] for fact, text in facts.items() if text]), ""]
    yield from section("Options", option_table(kind, docstring.arguments, "task"))
    for preset, recipe in kind.recipes.items():
        yield f"- {code(preset)}: {typed(recipe)}"
    yield ""
    yield from section("Tables of papers", published(name, "task"))


# Metrics, backbones, decodings ------------------------------------------------------------------------------------


def metric_page() -> Iterator[str]:
    """Yield the page of all metrics."""
    yield from ["# Metrics", "", "`bench report --json` has the signature of every column: how it is computed.", ""]
    rows = [[f"[{code(name)}](#{name})", cell(prose(one.summary)), one.kind] for name, one in METRICS.items()]
    yield from [*markdown_table(["family", "what it is", "reads"], rows), ""]
    for name, metric in METRICS.items():
        yield from metric_family(name, metric)


def metric_family(name: str, metric: MetricEntry) -> Iterator[str]:
    """Yield the part of a family of metrics."""
    scorer = metric.load()
    yield from [f"## {name}", "", sentence(metric.summary, metric.paper), ""]
    if inspect.isfunction(scorer):
        yield from text_of(read_docstring(scorer.__doc__))
    yield from text_of(without_lead(read_docstring(sys.modules[metric.target.partition(":")[0]].__doc__)))
    if metric.requires:
        yield from [f"It needs {prose(describe(metric.requires))}.", ""]
    columns = {column: SIGNS[pattern[0]] for pattern in metric.columns for column in expand(pattern[1:])}
    yield from [*markdown_table(["column", "direction"], [[code(column), way] for column, way in columns.items()]), ""]


def backbone_page() -> Iterator[str]:
    """Yield the page of all backbones."""
    yield from [
        "# Backbones",
        "",
        "`--backbone NAME` takes one, the id of a model on the hub or a folder with one.",
        "",
    ]
    rows, makers = [], dict[str, list[str]]()
    for name, entry in BACKBONES.items():
        rows.append([code(name), cell(prose(entry.summary)), entry.architecture, cell(prose(entry.paper))])
        makers.setdefault(entry.target, []).append(name)
    yield from [*markdown_table(["backbone", "what it is", "architecture", "source"], rows), ""]
    for target, names in makers.items():
        make = BACKBONES[names[0]].load()
        docstring = read_docstring(make.__doc__)
        arguments, shown = docstring.arguments, [docstring.lead]
        for block in docstring.blocks:
            same = SAME_ARGUMENTS.fullmatch(block)
            if same:
                arguments = read_docstring(getattr(sys.modules[make.__module__], same[1]).__doc__).arguments
            else:
                shown.append(block)
        yield from [f"## {', '.join(names)}", "", f"Made by {code(target)}.", ""]
        yield from text_of(Docstring("", shown))
        yield from [*option_table(make, arguments, "backbone"), ""]


def decoding_page() -> Iterator[str]:
    """Yield the page of all decodings."""
    yield from ["# Decodings", "", "`--decode` takes several with commas between them, and options after `+`.", ""]
    rows = [[code(name), cell(prose(one.summary)), cell(prose(one.paper))] for name, one in DECODINGS.items()]
    yield from markdown_table(["decoding", "what it is", "source"], rows)
    for name, entry in DECODINGS.items():
        kind = entry.load()
        yield from ["", f"## {name}", "", *text_of(read_docstring(kind.__doc__)), *decoding_options(kind, Decoding)]
    yield from ["", "## Options of every decoding", "", *decoding_options(Decoding)]


def decoding_options(kind: type[Decoding], without: type[Decoding] | None = None) -> list[str]:
    """Return a table of the options of a decoding but those of another class."""
    meanings = {**read_docstring(Sampler.__doc__).arguments, **read_docstring(kind.__doc__).arguments}
    left_out = without.options() if without else {}
    rows = []
    for name, (annotation, default) in kind.options().items():
        if name not in left_out:
            typed = f"{kind.name}={name}" if name == kind.main_option else f"+{name}="
            rows.append([code(typed), words_of(annotation), default_of(default), cell(meanings.get(name, ""))])
    if not rows:
        return []
    return markdown_table(["typed", "values", "default", "what it is"], rows)
