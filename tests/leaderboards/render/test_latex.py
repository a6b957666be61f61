"""LaTeX tables: marks, escapes, and texts that try to be commands."""

import re

import pytest

from bench.leaderboards.render.latex import escaped, latex
from bench.store.store import Store
from tests.leaderboards.boards import LATEX
from tests.leaderboards.handmade import leaderboards_of, ready, scored, trained

PAYLOADS = [
    r"\input{/etc/passwd}", r"\write18{id}", r"\immediate\write18{id}", r"\def\x{y}", "a & b", r"a \\ b", "50 %", "#1",
    "$x$", "x_1^2", "{", "}", "~", "|", "<a>", '"q"', "`id`", "--", "\n\\end{table}", r"\catcode`\%=12", "\x1b[31m",
    r"\textbf{", r"^^5cinput", "\u202eabc", r"\end{tabular}", "%", "\\",
]  # fmt: skip


@pytest.mark.parametrize("payload", PAYLOADS)
def test_no_text_is_a_command(tmp_path, payload):
    cell = trained(tmp_path, "mle", backbone=payload, task_options={"note": payload})
    scored(cell, {"bleu-1": 20.0})
    ready(tmp_path, "trime")
    text = latex(leaderboards_of(Store(tmp_path)))
    assert set(re.findall(r"\\([a-zA-Z]+)", text)) <= LATEX
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert all(line.endswith(r" \\") for line in body)
    unescaped = re.sub(r"\\[{}$&#%_]", "", text)
    assert {line.count("&") for line in re.sub(r"\\[{}$&#%_]", "", "\n".join(body)).splitlines()} == {
        unescaped.split(r"\toprule")[1].split(r"\midrule")[0].count("&")}  # fmt: skip
    assert unescaped.count("{") == unescaped.count("}")
    assert "%" not in unescaped
    assert "#" not in unescaped
    assert unescaped.count("$") % 2 == 0


def test_best_and_second_are_marked(tmp_path):
    for method, bleu in (("mle", 30.0), ("trime", 31.0), ("histalign", 29.0)):
        for seed in (0, 1, 2):
            ready(tmp_path, method, seed, bleu=bleu + seed / 50)
    text = latex(leaderboards_of(Store(tmp_path)))
    assert (
        r"trime & small{-}encdec & 3 & \textbf{31.02 $\pm$0.05}$^\dagger$ & \textbf{15.51 $\pm$0.02}$^\dagger$" in text
    )
    assert r"mle & small{-}encdec & 3 & \underline{30.02 $\pm$0.05}" in text
    assert r"29.02 $\pm$0.05" in text
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 1
    assert r"\quad HistAlign Table 7" in text


def test_escapes_stand_for_themselves():
    assert escaped("a_b") == r"a\_b"
    assert escaped("±") == r"$\pm$"
    assert escaped("\\") == r"\textbackslash{}"
