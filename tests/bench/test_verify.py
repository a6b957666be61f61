"""`bench store verify`: an honest store is right; a flipped value, a changed setting and other weights are found."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.base.keys import canonical, sha256
from bench.metrics.sums import Sums, mean
from bench.store.store import Store
from bench.verify import Verification
from tests.conftest import Bench
from tests.leaderboards.handmade import scored, trained

Content = dict[str, Any]
BOARDS = Path(__file__).parents[2] / "leaderboards" / "runs"
ROWS = 4
FRACTIONS = Sums(mean(), [[0.1 * row, 1] for row in range(ROWS)])


def edit_record(path: Path, change: Callable[[Content], object]) -> None:
    """Change the content of a JSON record, and its hash with it."""
    record = json.loads(path.read_text(encoding="utf-8"))
    change(record["content"])
    record["sha256"] = sha256(canonical(record["content"]))
    path.write_text(json.dumps(record), encoding="utf-8")


def verified(bench: Bench, *words: str) -> tuple[int, dict[str, Any]]:
    ended = bench("store", "verify", *words, "--json")
    found: dict[str, Any] = json.loads(ended.out)
    return ended.code, found


def test_an_honest_store_is_right(bench: Bench, tiny_store: Path) -> None:
    code, found = verified(bench, str(tiny_store))
    assert (code, found["differences"], found["not_checked"]) == (0, [], [])
    assert (found["equal"] > 10, found["keys"]) == (True, 1)


def test_a_flipped_value_is_found(bench: Bench, store_copy: Path) -> None:
    path = next(path for path in store_copy.rglob("scores-*") if "ppl/token" in path.read_text())
    edit_record(path, lambda content: content["values"][0].update(value=1.5))
    code, found = verified(bench, str(store_copy))
    assert code == 1
    (line,) = found["differences"]
    assert "value stored 1.5, its statistics give" in line


def test_a_record_of_another_form_is_a_difference(bench: Bench, store_copy: Path) -> None:
    edit_record(next(store_copy.rglob("scores-*")), lambda content: content["values"][0].update(value="1.5"))
    code, found = verified(bench, str(store_copy))
    assert (code, "has a record of another form (TypeError" in found["differences"][0]) == (1, True)


def test_predictions_that_scores_were_not_computed_from_are_found(bench: Bench, store_copy: Path) -> None:
    path = next(store_copy.rglob("scores-*"))
    edit_record(path, lambda content: content.update(rows_sha256="0" * 64))
    code, found = verified(bench, str(store_copy))
    assert (code, len(found["differences"])) == (1, 1)
    assert "it was computed from other predictions than those stored" in found["differences"][0]


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["config"]["trainer"].update(lr=0.1),
        lambda content: content["config"].update(seed=7),
        lambda content: content["data"]["train"].update(status="official"),
        lambda content: content["method"].update(version=99),
        lambda content: content["config"]["backbone_options"].update(width=32),
    ],
)
def test_a_changed_setting_has_another_key(bench: Bench, store_copy: Path, change: Callable[[Content], object]) -> None:
    (path,) = store_copy.rglob("trained.json")
    edit_record(path, change)
    code, found = verified(bench, str(store_copy))
    assert code == 1
    assert found["keys"] == 0
    assert any(f"but it is stored under {path.parent.name}" in line for line in found["differences"])


def test_changed_settings_of_predictions_have_another_key(bench: Bench, store_copy: Path) -> None:
    """The header is that of the scores: predictions may be gone."""
    (cell,) = Store(store_copy).cells()
    name = cell.names("scores-*")[0]
    rows = (cell.content(name) or {})["rows"]
    cell.rows_path(rows).unlink()
    edit_record(cell.path / name, lambda content: content["of"].update(batch_size=999))
    _, found = verified(bench, str(store_copy))
    assert any(f"the settings of the predictions {rows} have the key" in line for line in found["differences"])


def test_a_run_in_another_folder_and_a_damaged_checkpoint_are_found(bench: Bench, store_copy: Path) -> None:
    (cell,) = Store(store_copy).cells()
    other = cell.path.with_name("0" * 16)
    shutil.copytree(cell.path, other)
    next(other.glob("model-*")).write_bytes(b"other weights")
    code, found = verified(bench, str(store_copy))
    assert code == 1
    moved, weights = sorted(found["differences"], key=lambda line: "checkpoint" in line or "hash" in line)
    assert f"but it lies in ambiguous_template/mle/{other.name}" in moved
    assert "it does not have the hash it was stored with" in weights


# Values -----------------------------------------------------------------------------------------------------------


def check_of(root: Path, value: float | None, column: str = "bleu-1") -> Verification:
    """The check of a run with one value and the statistics of BLEU-1, over four rows."""
    cell = scored(trained(root), {column: value}, ids=list(map(str, range(ROWS))), items={"bleu-1": FRACTIONS})
    check = Verification()
    check.check_scores(cell, [])
    return check


@pytest.mark.parametrize("name", ["grid", "first-screen"])
def test_every_value_of_our_snapshots_is_what_its_sums_come_to(name: str) -> None:
    check = Verification()
    for cell in Store(BOARDS / name).cells():
        check.check_scores(cell, [])
    assert check.differences == []
    assert check.equal > 0


@pytest.mark.parametrize(("change", "differs"), [(1, False), (1 + 1e-14, False), (1 + 1e-11, True), (None, True)])
def test_a_value_differs_by_more_than_rounding(tmp_path: Path, change: float | None, differs: bool) -> None:
    check = check_of(tmp_path, None if change is None else FRACTIONS.value * change)
    assert (check.equal, len(check.differences)) == (1 - differs, differs)
    assert all("x: bleu-1: value stored" in line for line in check.differences)


def test_sums_without_a_value_and_values_without_sums_are_named(tmp_path: Path) -> None:
    check = check_of(tmp_path, 1.0, "kld")
    assert (check.equal, check.without) == (0, {"x": {"kld": 1}})
    (line,) = check.differences
    assert line.endswith(" · x: bleu-1: has statistics and no stored value")
    assert check_of(tmp_path / "none", None, "kld").without == {}, "n/a is no value"


def test_sums_that_are_gone_are_a_difference_but_for_the_split_whose_sums_are_not_kept(tmp_path: Path) -> None:
    for split, differs in (("test", True), ("valid", False)):
        cell = scored(trained(tmp_path / split), {"bleu-1": FRACTIONS.value}, items={"bleu-1": FRACTIONS}, split=split)
        for path in cell.path.glob("items-*"):
            path.unlink()
        check = Verification()
        check.check_scores(cell, [])
        assert bool(check.differences) == differs
        assert check.without == {"x": {"bleu-1": 1}}
