"""What others have named or written moves no cursor where it is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.base.keys import key_of
from bench.base.printable import one_line, printable
from bench.store.store import Store
from tests.bench.board.test_samples import written
from tests.leaderboards.handmade import PROVENANCE, config, ready

HOSTILE = "\x1b[31mred\x1b[2J \x1b]8;;http://x.invalid\x07link\x9b1A \u202egnp.exe a\rb\x00\x85c\ud83d"
SHOWN = "red link gnp.exe a b c\ufffd"


def active(text):
    """The characters of a text that a terminal may obey; ends of lines and tabs may stand."""
    return {c for c in text if (not c.isprintable() and c not in "\n\t") and c not in "\u200d\xa0"}


@given(st.text(st.characters(codec=None), max_size=40))
def test_no_control_character_stays_and_printable_text_stays_as_it_is(text):
    assert not {c for c in printable(text) if (c < " " and c not in "\n\t") or "\x7f" <= c <= "\x9f"}
    assert len(one_line(text).splitlines()) <= 1
    assert not active(one_line(text))
    assert one_line(HOSTILE) == SHOWN, "commands of a terminal go whole"
    if text.isprintable():
        assert printable(text) == one_line(text) == text


@pytest.fixture
def hostile(tmp_path):
    """A results folder whose names, settings, errors, ids and texts would like to be something else."""
    results = tmp_path / "results"
    name = f"{HOSTILE} [red]x[/red] <script>hurt()</script>".replace("\ud83d", "")
    content = {"key": "1", "status": "failed", "error": name, "config": config("mle", 0, backbone=name)}
    Store(results).cell("logicnlg", "mle", key_of([1])).write_record("failed.json", content, PROVENANCE)
    for method in ("mle", "trime"):
        ready(results, method, backbone=name, task_options={"style": name})
        written(results, method, {f"r {name}": f"{method} {name}"})
    return results


@pytest.mark.parametrize(
    "command",
    [("report", "--format", form) for form in ("terminal", "markdown", "latex", "csv")]
    + [("samples",), ("store", "status")],
    ids=" ".join,
)
def test_texts_of_others_are_shown_and_not_obeyed(bench, hostile, command):
    ended = bench(*command, "--results", str(hostile))
    assert (ended.code, ended.complaints) == (0, [])
    assert not active(ended.out + ended.err)
    if command[-1] in ("terminal", "samples"):
        assert "[red]x[/red]" in ended.out


def test_the_page_has_no_script_of_others(bench, hostile, tmp_path):
    path = tmp_path / "page.html"
    ended = bench("report", "--results", str(hostile), "--format", "html", "--output", str(path))
    assert ended.code == 0, ended.err
    assert "<script>hurt()" not in path.read_text()
