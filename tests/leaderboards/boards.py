"""Boards made by hand, of any size, with texts that try to be markup or code."""

from typing import Any

from bench.leaderboards.row import number

COLUMNS = [("bleu-1", True), ("bleu-2", True), ("bleu-3", True), ("ppl/word", False), ("rep", None), ("uniq", True),
           ("distinct-2", True)]  # fmt: skip
ATTACKS = (
    "<script>window.hit = 1</script>", "</script><script>window.hit = 1</script>", "<!--<script>", "--><b>x</b>",
    "<img src=x onerror=window.hit=1>", "<svg onload=window.hit=1>", '"><svg/onload=window.hit=1>',
    "' onmouseover='window.hit=1", "javascript:window.hit=1", "{{script}}", "]]><x>", "\u2028window.hit=1\u2029",
    "<style>*{display:none}</style>", "</title><script>hit=1</script>", "<base href=//x.invalid>",
    "<iframe srcdoc='<script>parent.hit=1</script>'>", "<meta http-equiv=refresh content='0;url=//x.invalid'>",
    "<a href=javascript:hit=1>x</a>",
    "&lt;script&gt;hit=1&lt;/script&gt;", "${window.hit=1}", "\\u003cscript\\u003ehit=1", "<math><mtext></form><form>",
    "</textarea><script>hit=1</script>", "<details open ontoggle=window.hit=1>", "../../../etc/passwd",
    *(f"{end}<{tag} {event}=window.hit=1 autofocus tabindex=0 src=x>" for end in ("", "'>", '">', "-->", "</table>")
      for tag, event in (("img", "onerror"), ("body", "onload"), ("input", "onfocus"), ("video", "onerror"),
                         ("div", "onmouseenter"), ("object", "onerror"), ("marquee", "onstart"))),
)  # fmt: skip

LATEX = {"label", "usepackage", 
    "begin", "end", "centering", "caption", "toprule", "midrule", "bottomrule", "textbf", "underline", "quad", "par",
    "footnotesize", "textbackslash", "textasciicircum", "textasciitilde", "textless", "textgreater", "textbar",
    "textquotedbl", "textquotesingle", "textasciigrave", "dagger", "pm", "cdot",
}  # fmt: skip
"""Commands that a LaTeX table of ours has."""


def value(mean: float | None, seeds: int = 3, half: float | None = 1.0, **changes: Any) -> dict[str, Any]:
    """One value of a row."""
    by_seed = {} if mean is None else {str(s): mean + (s - (seeds - 1) / 2) / 3 for s in range(seeds)}
    half = half if mean is not None else None
    text = "n/a" if mean is None else number(mean)
    return {"text": "conflict" if changes.get("conflict") else text, "interval": number(changes.get("half", half)),
            "fewer": "", "mean": mean, "half": half, "n_seeds": len(by_seed), "by_seed": by_seed,
            "signature": "bleu|scale:corpus|version:1", "conflict": False, "why": "" if mean is not None else "no text",
            "best": False, "second": False, "p": None, "p_items": None, "differs": False, "difference": None,
            "low": None, "high": None, "against": "", **changes}  # fmt: skip


def row(method: str, values: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """One row."""
    marks = [mark for mark, why in (("control", "controls"), ("untuned", "untuned")) if changes.get(why)]
    return {"id": f"{method}-0abc12", "method": method, "label": method, "marks": marks, "settings": "",
            "backbone": "small-encdec", "decoding": "greedy", "seeds": [0, 1, 2], "n_seeds": 3, "seeds_text": "3",
            "diverged": 0, "controls": [], "untuned": "", "tried": 0, "picked": "",
            "remark": "", "cells": ["0123456789abcdef", "fedcba9876543210"], "folder": f"logicnlg/{method}",
            "parameters": None, "values": values, **changes}  # fmt: skip


def table(methods: list[dict[str, Any]], table_id: str = "logicnlg.test.small.100", **changes: Any) -> dict[str, Any]:
    """One table with the columns of `COLUMNS`, the last two not shown at first."""
    return {"id": table_id, "name": "LogicNLG", "legend": ["† differs from mle"],
            "title": "logicnlg · test split, 100 rows · preset small", "task": "logicnlg", "split": "test",
            "rows": 100, "preset": "small", "status": {"train": "sample", "test": "sample"},
            "watermark": "test data: sample", "remarks": ["a remark"],
            "columns": [{"name": c, "higher_is_better": way, "shown": i < 5} for i, (c, way) in enumerate(COLUMNS)],
            "methods": methods, "human": [], "published": [],
            "samples": [], **changes}  # fmt: skip


def board(*tables: dict[str, Any]) -> dict[str, Any]:
    """A board of tables."""
    return {"schema": "objective-bench/board/3", "notes": ["2 runs failed and have no number"],
            "tables": list(tables)}  # fmt: skip


def example() -> dict[str, Any]:
    """Two tables with everything a page can show."""
    ids = [f"{m}-0abc12" for m in ("mle", "trime", "histalign")]
    methods = [
        row("mle", {"bleu-1": value(33.125), "bleu-2": value(20.0), "ppl/word": value(19.5),
                    "uniq": value(7000.0)}),
        row("trime", {"bleu-1": value(41.5, best=True, p=0.01, p_items=0.02, differs=True, difference=8.375, low=2.25,
                                                 high=14.5, against=ids[0]), "bleu-2": value(None),
                      "ppl/word": value(25.0, 2, None, fewer="n=2")}, backbone="bart", controls=["histalign"],
            untuned="lr"),
        row("histalign", {"bleu-1": value(9.75), "bleu-2": value(21.0, best=True),
                          "ppl/word": value(None, conflict=True, why="")}, diverged=1, seeds_text="3 (div 1/3)"),
    ]  # fmt: skip
    paper = {"paper": "HistAlign", "table": "Table 7", "name": "HistAlign Table 7", "method": "mle",
             "backbone": "bart-large",
             "values": {"bleu-1": 56.27}, "texts": {"bleu-1": "56.27"}, "deltas": {},
             "comparable": False, "why_not": "test data: sample", "note": ""}  # fmt: skip
    samples = [
        {"id": f"test/{i}", "prompt": f"the old mill number {i} stood by the river", "reference": "It stood.",
         "texts": {name: f"the old mill by the sea by the sea {name} {i}" for name in ids}}
        for i in range(3)
    ]  # fmt: skip
    people = row("human", {"uniq": value(9000.0)}, id="human", backbone="", seeds_text="")
    first = table(methods, published=[paper], human=[people],
                  samples=samples,
                  samples_note="Texts of the first seed.")  # fmt: skip
    other = table([row("face", {"bleu-1": value(1.0)}, folder="text/face")], "text.test.paper.9", task="text",
                  name="Your text",
                  title="text · test split, 9 rows · preset paper", preset="paper", watermark="",
                  remarks=[])  # fmt: skip
    claim = {"claim": "HistAlign beats MLE", "quote": "the best", "where": "Table 7", "paper": "+0.62", "here": "+3.20",
             "verdict": "seen here", "scale": "459k parameters from scratch, 300 steps, LogicNLG, 3 seeds",
             "verdict_text": "seen here (459k parameters from scratch, 300 steps, LogicNLG, 3 seeds)",
             "evidence": ["bleu-3: +3.20"], "parts": [{"values": [5.2, 2.0]}]}  # fmt: skip
    untested = {**claim, "claim": "AdaDec beats Seq2Seq", "here": "", "parts": [], "verdict": "not run", "scale": "",
                "verdict_text": "not run: adadec"}  # fmt: skip
    papers = [{"paper": name, "abstract": ["Models: large"], "counts": {one["verdict"]: 1}, "claims": [one]}
              for name, one in (("HistAlign", claim), ("AdaDec", untested))]  # fmt: skip
    return {**board(first, other), "claims": papers}


def hostile() -> dict[str, Any]:
    """A board whose every text is an attack; one row and one sample for each."""
    methods = [
        row(text, {"bleu-1": value(float(i), signature=text, why=""), "bleu-2": value(None, why=text)},
            id=text, label=text, settings=text, backbone=text, decoding=text, controls=[text], untuned=text,
            remark=text, cells=[text], folder=f"{text}/{text}")
        for i, text in enumerate(ATTACKS)
    ]  # fmt: skip
    papers = [{"paper": text, "table": text, "name": text, "method": text, "backbone": text, "values": {"bleu-1": 1.0},
               "texts": {"bleu-1": text}, "deltas": {}, "comparable": False, "why_not": text,
               "note": text} for text in ATTACKS]  # fmt: skip
    samples = [{"id": text, "prompt": text, "reference": text, "texts": dict.fromkeys(ATTACKS, text)}
               for text in ATTACKS]  # fmt: skip
    bad = "".join(ATTACKS)
    made = table(methods, bad, title=bad, task=bad, preset=bad, watermark=bad, remarks=list(ATTACKS), published=papers,
                 samples=samples, samples_note=bad)  # fmt: skip
    made["columns"].append({"name": bad, "higher_is_better": True, "shown": True})
    return {**board(made), "notes": list(ATTACKS)}
