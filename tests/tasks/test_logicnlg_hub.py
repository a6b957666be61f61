"""LogicNLG's hub rows become the publisher's files; the download itself is a stand-in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pytest

from bench.errors import DataError, MissingError
from bench.tasks.logicnlg import LogicNLG
from bench.tasks.logicnlg_hub import fetch
from bench.tasks.sources import Source

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


def served(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    def load_dataset(repository: str, split: str) -> Iterator[dict[str, Any]]:
        assert repository == "kasnerz/logicnlg"
        return iter([row(f"{split}.csv"), row(f"{split}.csv", ref="new vale is larger"), row("b.csv", **changes)])

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)


def test_rows_of_the_hub_read_back_as_published_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served(monkeypatch)
    folder = tmp_path / "logicnlg"
    assert "kasnerz/logicnlg" in fetch(folder)
    task = LogicNLG()
    task.load(Source(folder, "test"))
    first = task.split("test").examples[0]
    assert first.fields["table"].rows == (("osterby", "12"), ("new   vale", "30"))
    assert (first.fields["columns"], first.fields["title"]) == ((0, 1), "cities")
    assert first.references == ("osterby is smaller than new vale", "new vale is larger")
    assert task.split("train").status == "subset", "three rows are not the official split"


@pytest.mark.parametrize("changes", [{"table": "not a list"}, {"linked_columns": "x"}, {"table_id": "../../etc.csv"}])
def test_a_malformed_row_is_named_and_nothing_half_done_stays(
    changes: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served(monkeypatch, **changes)
    with pytest.raises(DataError, match="kasnerz/logicnlg, train, row 2"):
        fetch(tmp_path / "logicnlg")
    assert not (tmp_path / "logicnlg").exists()


def test_a_hub_that_cannot_give_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def load_dataset(repository: str, split: str) -> None:
        raise ConnectionError("Couldn't reach the Hub")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(MissingError, match="Couldn't reach the Hub"):
        fetch(tmp_path / "logicnlg")
