"""The new task of tasks/README.md runs from its code alone, and its saved data set is read."""

import json
import re
import shlex
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.errors import DataError
from bench.tasks import find_task
from bench.tasks.core.task import Task
from bench.tasks.fetch.hub import library
from bench.tasks.fetch.sources import Source
from tests.bench.own import Own
from tests.conftest import Bench, call
from tests.shipped import ROOT
from tools.site.pages import page

PAGE = (ROOT / "tasks" / "README.md").read_text(encoding="utf-8")


def commands() -> Iterator[str]:
    for block in page("tasks/README.md").blocks:
        yield from block.commands


def test_the_saved_data_set_is_read_as_the_page_says(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = next(block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "save_to_disk" in block)
    library()
    exec(compile(code, "saved", "exec"), {})
    show = next(line for line in commands() if "./capitals" in line and line.startswith("bench list"))
    ended = bench(*shlex.split(show)[1:])
    assert ended.code == 0, ended.err
    assert re.findall(r"(\w+) +own +(\d+) rows", ended.out) == [("train", "40"), ("valid", "10"), ("test", "10")]
    assert "the capital of country 50?" in ended.out
    run = next(line for line in commands() if "run" in line and "./capitals" in line)
    ended = bench(*shlex.split(run)[1:], "--dry-run")
    assert ended.code == 0, ended.err
    assert "train 40 (own), test 10 (own)" in ended.err


@pytest.fixture
def capitals() -> type[Task]:
    code = next(block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "class Capitals" in block)
    module = types.ModuleType("capitals")
    exec(compile(code, "capitals", "exec"), module.__dict__)
    kind: Any = module.__dict__["Capitals"]
    return kind


def test_the_new_task_reads_its_files_and_names_a_broken_row(capitals: type[Task], tmp_path: Path) -> None:
    rows = [{"country": "Norway", "capital": "Oslo"}, {"country": "Peru"}]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = capitals()
    task.load(Source(tmp_path, "test"))
    with pytest.raises(DataError, match=r"train\.jsonl, line 2: has no field 'capital'"):
        task.split("train")
    (tmp_path / "train.jsonl").write_text(json.dumps(rows[0]))
    split = task.split("train")
    assert [(e.source, e.target) for e in split.examples] == [("the capital of Norway is", "Oslo")]
    assert split.status == "subset"


def test_the_new_task_is_found_as_a_file(own: Own) -> None:
    code = next(block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "class Capitals" in block)
    own.write("capitals", code)
    found = find_task(f"{own.folder}/capitals.py:Capitals")
    assert (found.name, found.code["class"]) == ("capitals", "capitals:Capitals")
    assert found.value.info.primary in found.value.info.columns
    asked = f"{own.folder}/capitals.py:Capitals"
    ended = call("run", "--task", asked, "--method", "mle", "--preset", "small", "--dry-run")
    assert (ended.code, "capitals · mle · small-encdec" in ended.out) == (0, True), ended.err
