"""No secret leaves the program, and what others have named or written moves no cursor where it is shown."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.base.keys import key_of
from bench.base.redaction import guarded, one_line, printable, redacted, secret_in
from bench.store.store import Store
from tests.bench.board.test_samples import written
from tests.bench.own import FOCAL
from tests.conftest import TINY
from tests.leaderboards.handmade import PROVENANCE, config, ready

SECRET = "canary-5f2c-never-to-be-seen"
HOSTILE = "\x1b[31mred\x1b[2J \x1b]8;;http://x.invalid\x07link\x9b1A \u202egnp.exe a\rb\x00\x85c\ud83d"
SHOWN = "red link gnp.exe a b c\ufffd"


def active(text):
    """The characters of a text that a terminal may obey; ends of lines and tabs may stand."""
    return {c for c in text if (not c.isprintable() and c not in "\n\t") and c not in "\u200d\xa0"}


@pytest.fixture
def secret(monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", SECRET)


# Texts --------------------------------------------------------------------------------------------------------------


@given(st.text(st.characters(codec=None), max_size=40))
def test_no_control_character_stays_and_printable_text_stays_as_it_is(text):
    assert not {c for c in printable(text) if (c < " " and c not in "\n\t") or "\x7f" <= c <= "\x9f"}
    assert len(one_line(text).splitlines()) <= 1
    assert not active(one_line(text))
    assert one_line(HOSTILE) == SHOWN, "commands of a terminal go whole"
    if text.isprintable():
        assert printable(text) == one_line(text) == text


@pytest.mark.parametrize("name", ["HF_TOKEN", "WANDB_API_KEY", "MY_SECRET", "DB_PASSWORD", "KEY"])
def test_values_of_secret_variables_are_replaced_wherever_they_stand(monkeypatch, name):
    monkeypatch.setenv(name, SECRET)
    assert redacted(f"x{SECRET}y") == "x***y"
    assert redacted({"a": [SECRET, 5, None], SECRET: True}) == {"a": ["***", 5, None], "***": True}
    assert secret_in(f"x{SECRET}") == secret_in(SECRET) == name


@pytest.mark.parametrize(
    ("name", "value"),
    [("SOME_TOKEN", "short-1"), ("SOME_TOKEN", "disabled"), ("SSH_KEY", "/home/me/.ssh/id"), ("TOKENIZERS", SECRET)],
)
def test_ordinary_words_stay(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    assert redacted(f"it is {value}.") == f"it is {value}."


def test_of_two_secrets_the_longer_one_goes_first(monkeypatch):
    monkeypatch.setenv("A_TOKEN", "12345678-a")
    monkeypatch.setenv("B_TOKEN", "12345678-a-and-more")
    assert redacted("12345678-a-and-more") == "***"


# Streams ------------------------------------------------------------------------------------------------------------


def test_what_is_printed_has_no_secret(secret, capsys):
    with guarded():
        guard = sys.stdout
        with guarded():
            assert sys.stdout is guard
        print("so", SECRET)
        print(SECRET, file=sys.stderr)
    print("after", SECRET)
    assert capsys.readouterr() == (f"so ***\nafter {SECRET}\n", "***\n")


def test_the_trace_of_a_whole_process(tmp_path, secret):
    """What Python itself prints when a process dies."""
    code = ("import os, sys, bench.commands.list as m; from bench.cli import program\n"
            "def listing(*_): raise RuntimeError('token ' + os.environ['SOME_TOKEN'])\n"
            "m.listing = listing; sys.argv[1:] = ['list']; sys.exit(program())")  # fmt: skip
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "RuntimeError: token ***" in ended.stderr
    assert SECRET not in ended.stdout + ended.stderr


# What is stored -----------------------------------------------------------------------------------------------------


def test_records_lose_secrets(tmp_path, secret):
    cell = Store(tmp_path).cell("t", "m", key_of("k"))
    cell.write_record(
        "failed.json", {"key": "k", "status": "failed", "error": f"x {SECRET}", "n_tokens": 7}, PROVENANCE
    )
    assert cell.content("failed.json") == {"key": "k", "status": "failed", "error": "x ***", "n_tokens": 7}


def test_a_run_that_raises_and_is_mirrored_leaves_no_secret(bench, own, tmp_path, secret):
    start = "        super().__init__(backbone)\n"
    own.write("leaky", FOCAL.replace(start, f"{start}        raise RuntimeError('text {SECRET}')\n"))
    arguments = [word for word in TINY if word != "--quiet"]
    arguments[arguments.index("mle")] = "mle,leaky:Focal"
    more = ["--results", str(tmp_path / "results"), "--logger", "lightning.pytorch.loggers:CSVLogger"]
    more += ["--set", f"execution.log_dir={tmp_path / 'logs'}"]
    ended = bench(*arguments, *more)
    assert ended.code == 1
    assert "RuntimeError: text ***" in ended.err
    assert SECRET not in ended.out + ended.err
    left = [path for folder in ("results", "logs") for path in (tmp_path / folder).rglob("*") if path.is_file()]
    assert any(path.name == "failed.json" for path in left)
    assert not [path for path in left if SECRET.encode() in path.read_bytes()]


@pytest.mark.parametrize(("default", "sets"), [("", ["--set", f"method.note={SECRET}"]), (SECRET, [])])
def test_a_setting_that_holds_a_secret_is_refused(bench, own, tmp_path, secret, default, sets):
    """Before anything is trained, also where the plug-in has read the variable itself."""
    own.write("leaky", FOCAL.replace("gamma: float = 2", f"gamma: float = 2, note: str = {default!r}"))
    given = ["--method", "leaky:Focal", *sets, "--results", str(tmp_path / "results")]
    ended = bench("run", "--task", "ambiguous_template", "--preset", "small", *given)
    assert ended.code == 2
    assert "a setting holds the value of the environment variable 'SOME_TOKEN'" in ended.err
    assert SECRET not in ended.err
    assert not (tmp_path / "results").exists()


# What is shown ------------------------------------------------------------------------------------------------------


@pytest.fixture
def hostile(tmp_path):
    """A results folder whose names, settings, errors, ids and texts would like to be something else."""
    results, name = (
        tmp_path / "results",
        f"{HOSTILE} [red]x[/red] <script>hurt()</script> {SECRET}".replace("\ud83d", ""),
    )
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
def test_texts_of_others_are_shown_and_not_obeyed(bench, hostile, monkeypatch, command):
    monkeypatch.setenv("SOME_TOKEN", SECRET)
    ended = bench(*command, "--results", str(hostile))
    assert (ended.code, ended.complaints) == (0, [])
    assert not active(ended.out + ended.err)
    assert SECRET not in ended.out
    if command[-1] in ("terminal", "samples"):
        assert "[red]x[/red]" in ended.out


def test_the_page_has_no_secret_and_no_script_of_others(bench, hostile, tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", SECRET)
    path = tmp_path / "page.html"
    ended = bench("report", "--results", str(hostile), "--format", "html", "--output", str(path))
    assert ended.code == 0, ended.err
    assert SECRET not in path.read_text()
    assert "<script>hurt()" not in path.read_text()
