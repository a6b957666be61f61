"""LogicNLG's hub rows become the publisher's files; the hub is one on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.errors import DataError, MissingError
from bench.tasks.fetch.logicnlg import COPY, fetch
from bench.tasks.fetch.sources import Source
from bench.tasks.logicnlg import LogicNLG
from tests.tasks.fake_hub import FakeHub, parquet, serving

TABLE = [["city", "area"], ["osterby", "12"], ["new # vale", "30"]]


def row(name: str, **changes: Any) -> dict[str, Any]:
    made = {
        "table_id": name,
        "table": str(TABLE),
        "linked_columns": "[0, 1]",
        "title": "cities",
        "ref": "osterby is smaller than new vale",
        "template": "[ENT] is smaller than [ENT]",
    }
    return {**made, **changes}


def files(**changes: Any) -> dict[str, bytes]:
    return {
        f"data/{split}-00000-of-00001-0a1b2c.parquet": parquet(
            [row(f"{split}.csv"), row(f"{split}.csv", ref="new vale is larger"), row("b.csv", **changes)]
        )
        for split in ("train", "validation", "test")
    }


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    made = FakeHub(files(), COPY.repository, branches={"main": COPY.revision})
    with serving(made, tmp_path / "hf", monkeypatch):
        yield made


def test_rows_of_the_hub_read_back_as_published_files(hub: FakeHub, tmp_path: Path) -> None:
    folder = tmp_path / "logicnlg"
    assert f"kasnerz/logicnlg at {COPY.revision[:12]}" in fetch(folder)
    assert not list(folder.glob("*.parquet"))
    task = LogicNLG()
    task.load(Source(folder, "test"))
    first = task.split("test").examples[0]
    assert first.fields["table"].rows == (("osterby", "12"), ("new   vale", "30"))
    assert (first.fields["columns"], first.fields["title"]) == ((0, 1), "cities")
    assert first.references == ("osterby is smaller than new vale", "new vale is larger")
    assert task.split("train").status == "subset", "three rows are not the official split"


@pytest.mark.parametrize("changes", [
    {"table": "not a list"}, {"linked_columns": "x"}, {"table": None}, {"table": "[" * 5000},
    *({"table_id": name} for name in ("../../etc.csv", "..", "", "a\0b", "a\\b", "x" * 300)),
])  # fmt: skip
def test_a_malformed_row_is_named_and_nothing_half_done_stays(
    changes: dict[str, str], hub: FakeHub, tmp_path: Path
) -> None:
    hub.files = files(**changes)
    with pytest.raises(DataError, match="kasnerz/logicnlg, [a-z]+, row 2") as caught:
        fetch(tmp_path / "cache" / "logicnlg")
    assert "\n" not in str(caught.value)
    assert [path.name for path in (tmp_path / "cache").iterdir()] in ([], [".logicnlg.lock"])


def test_a_hub_that_cannot_give_it_says_so(hub: FakeHub, tmp_path: Path) -> None:
    hub.refuse = {"list": (503, "")}
    with pytest.raises(MissingError, match="it answers 503; by hand: https://github.com/wenhuchen/LogicNLG") as caught:
        fetch(tmp_path / "logicnlg")
    assert str(caught.value).endswith("from DIR/logicnlg/, as published")
