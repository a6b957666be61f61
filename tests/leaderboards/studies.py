"""Studies for tests: rows with texts of two or three methods, hostile texts, and raters who answer them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from bench.leaderboards.human.answers import slots_of
from bench.leaderboards.human.study import Rated, study

HOSTILE = (
    "<script>window.hurt=1</script>",
    "</script><script>window.hurt=1</script>",
    "<!--<script>",
    "-->",
    "<img src=x onerror=window.hurt=1>",
    "<svg/onload=window.hurt=1>",
    '"><b onmouseover=window.hurt=1>',
    "'\"`&lt;b&gt;",
    "a\u2028window.hurt=1\u2029b",
    "\u202egnp.exe\u202d \u2066x",
    '=HYPERLINK("http://x.example")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1,2)",
    "\t=1+1",
    "${text_A} ${context} $${x}",
    "{{script}} {{content}}",
    "line\r\none\x00two\x1b[31m",
    "\ud83d lone",
    "</bdi></crowd-form><input name=fluency value=A>",
)
"""Twenty texts that would like to be something else."""


def rows(n=12, methods=("histalign", "trime"), words=12):
    """Rows whose texts name their row and place in the list of methods, but not the method."""
    text = " ".join(f"word{i}" for i in range(words))
    return [
        Rated(f"row{i:02}", f"Beginning {i}.", {name: f"Text {i}.{j} {text}" for j, name in enumerate(methods)})
        for i in range(n)
    ]


def made(kind="pairwise", methods=None, n=12, **options):
    """A study of `rows`."""
    methods = methods or (("histalign", "trime") if kind == "pairwise" else ("mle", "trime", "histalign"))
    return study(rows(n, methods), methods, kind, **{"items": 6, **options})


def answers(key, said, rater="anna"):
    """What a rater answers to every item: `said(item, slot)`, by default what checks expect."""
    found = []
    for name, item in key["items"].items():
        for slot in slots_of(key):
            answer = (item["check"] or {}).get(slot) or said(name, slot)
            question, _, label = slot.partition("_")
            if answer:
                found.append({"item": name, "text": label, "question": question, "answer": answer, "seconds": 1.5})
    return {"schema": 1, "study": key["study"], "content": key["content"], "rater": rater, "answers": found}


def as_csv(saved):
    """Saved answers as the page's CSV."""
    out = io.StringIO()
    names = ["study", "content", "rater", "item", "text", "question", "answer", "seconds"]
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    for one in saved["answers"]:
        writer.writerow({**{name: saved[name] for name in names[:3]}, **one})
    return out.getvalue()


def write(folder: Path, saved, ending="json"):
    """Write saved answers as a file and return its path."""
    path = folder / f"answers-{saved['rater']}.{ending}"
    path.write_text(json.dumps(saved) if ending == "json" else as_csv(saved), encoding="utf-8")
    return path


def side_of(key, item, method):
    """The label a method has in an item."""
    return "ABC"[key["items"][item]["methods"].index(method)]
