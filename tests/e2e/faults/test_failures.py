"""What goes wrong in one cell stays in that cell, is said in one line, and is made good by the same command."""

import gzip
import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from bench.config.config import TrainerConfig
from bench.models.core.objective import Objective
from bench.training.execution import Execution
from bench.training.training import train
from tests.conftest import Bench, Ended
from tests.e2e import stores
from tests.e2e.methods import Nan, NanGradient, Raises
from tests.e2e.tiny import SHORT, fed, small

OURS = "tests.e2e.methods"


def outcome(ended: Ended) -> dict[str, Any]:
    """What `bench run --json` says."""
    found: dict[str, Any] = json.loads(ended.out)
    assert found["exit_code"] == ended.code
    return found


def short(labels: Any) -> list[str]:
    """Methods of cell labels."""
    return [label.split(" · ")[1] for label in labels]


class TestOneCellFails:
    METHODS = f"mle,{OURS}:Raises,{OURS}:Nan,trime"

    def arguments(self, results: Path) -> list[str]:
        return stores.arguments(results, task="ambiguous_template", method=self.METHODS)

    def test_the_others_finish_and_a_rerun_does_what_is_missing(
        self, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        results = tmp_path / "results"
        first = bench(*self.arguments(results))
        found = outcome(first)
        assert first.code == 1
        assert short(found["ok"]) == ["mle", "trime"]
        assert short(found["diverged"]) == ["nan"]
        assert short(found["failed"]) == ["raises"]
        assert list(found["failed"].values()) == ["RuntimeError: the second step went wrong"]
        assert sum("raises" in line for line in first.complaints) == 1
        (note,) = results.glob("*/raises/*/failed.json")
        assert "the second step went wrong" in json.loads(note.read_text())["content"]["traceback"]
        before = stores.contents(results)

        again = outcome(bench(*self.arguments(results)))
        assert (short(again["stored"]), short(again["failed"])) == (["mle", "trime"], ["raises"])
        assert (again["ok"], short(again["diverged"])) == ([], ["nan"])
        assert stores.contents(results) == before

        monkeypatch.setattr(Raises, "healed", True)
        last = outcome(bench(*self.arguments(results)))
        assert (short(last["ok"]), last["failed"]) == (["raises"], {})
        assert not note.exists()
        after = stores.contents(results)
        assert {name: content for name, content in after.items() if "/raises/" not in name} == {
            name: content for name, content in before.items() if "/raises/" not in name
        }

    def test_a_diverged_cell_is_never_a_number(self, bench: Bench, tmp_path: Path) -> None:
        results = tmp_path / "results"
        arguments = stores.arguments(results, task="ambiguous_template", method=f"mle,{OURS}:Nan")
        arguments.remove("--json")
        ended = bench(*arguments)
        assert ended.code == 1
        (line,) = [line for line in ended.out.splitlines() if "nan" in line]
        name, _, seeds, *numbers = (cell.strip() for cell in line.strip("│").split("│"))
        assert (name, seeds) == ("nan", "0 (div 1/1)")
        assert not any(numbers)
        (folder,) = results.glob("*/nan/*")
        record = json.loads((folder / "trained.json").read_text())["content"]
        assert record["status"] == "diverged"
        assert record["train"]["diverged_at"] == 2
        assert not [*folder.glob("rows-*"), *folder.glob("scores-*")]
        assert "diverged" in bench("store", "status", "--results", str(results)).out


STEPS = 20


class TestNotANumber:
    """Any step may go wrong, also one between two points of the curve, and also in the gradient alone."""

    @pytest.fixture(autouse=True)
    def a_point_of_the_curve_every_second_step(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("bench.training.recorder.CURVE_POINTS", STEPS // 2)

    def trained(self, kind: type[Objective], accumulate: int = 1, **options: Any) -> dict[str, Any]:
        objective, task, codec = small(kind, **options)
        config = TrainerConfig(steps=STEPS, batch_size=2, **SHORT)
        return train(objective, fed(task, codec, config), config, Execution(accumulate=accumulate))

    @pytest.mark.parametrize("value", ["nan", "inf"])
    @pytest.mark.parametrize("at", [1, 2, 7, STEPS - 1, STEPS])
    def test_loss(self, at: int, value: str) -> None:
        """The step is named exactly, and the run ends at the next point of the curve."""
        found = self.trained(Nan, at=at, value=value)
        assert (found["status"], found["diverged_at"]) == ("diverged", at)
        assert found["steps"] == at + at % 2
        assert all(math.isfinite(loss) for _, loss in found["curve"])

    def test_one_micro_batch(self) -> None:
        """The seventh micro-batch of two belongs to the fourth step."""
        assert self.trained(Nan, accumulate=2, at=7)["diverged_at"] == 4

    @pytest.mark.parametrize("value", ["nan", "inf"])
    @pytest.mark.parametrize("at", [1, 2, 7, STEPS])
    def test_gradient(self, at: int, value: str) -> None:
        """A loss stays finite in the step that spoils the weights: they are looked at, or the next loss tells."""
        found = self.trained(NanGradient, at=at, value=value)
        assert found["status"] == "diverged"
        assert at <= found["diverged_at"] <= at + 1
        assert found["steps"] <= at + 2

    def test_nothing_wrong(self) -> None:
        found = self.trained(Nan, at=10**6)
        assert (found["status"], found["diverged_at"], found["steps"]) == ("ok", None, STEPS)
        assert len(found["curve"]) == STEPS // 2


def damage(path: Path, how: str) -> None:
    """Spoil a file in one of the ways disks do, or as somebody who edits it."""
    data = bytearray(path.read_bytes())
    if how == "missing":
        path.unlink()
        return
    if how == "one bit":
        data[len(data) // 2] ^= 1
    elif how == "truncated":
        del data[len(data) // 2 :]
    elif how == "zero page":
        data[-4096:] = bytes(4096)
    elif how == "fewer rows":
        data = bytearray(gzip.compress(gzip.decompress(data)[:-40]))
    else:
        data = data.replace(b'"content"', b'"konten"')
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("kind", "how"),
    [*(("model-*", how) for how in ("missing", "one bit", "truncated", "zero page")),
     ("rows-*", "fewer rows"), ("scores-*", "renamed"), ("trained.json", "renamed")],
)  # fmt: skip
def test_a_damaged_file_fails_its_cell_only(bench: Bench, matrix: Path, copied: Path, kind: str, how: str) -> None:
    """It is named, and left for a person to look at; the other cell gets its missing rows, and removing heals."""
    folders = [next(copied.glob(f"ambiguous_template/{method}/*")) for method in ("mle", "trime")]
    if kind == "model-*":  # is read where predictions are missing
        for folder in folders:
            next(folder.glob("rows-*")).unlink()
    path = next(folders[0].glob(kind))
    damage(path, how)
    before = path.read_bytes() if path.exists() else None
    arguments = stores.arguments(copied, task="ambiguous_template", method="mle,trime")
    ended = bench(*arguments)
    assert ended.code == 1
    found = outcome(ended)
    assert (short(found["failed"]), short(found["ok"] + found["stored"])) == (["mle"], ["trime"])
    assert str(path) in next(iter(found["failed"].values()))
    assert (path.read_bytes() if path.exists() else None) == before
    if kind == "model-*":
        assert f"remove '{folders[0]}'" in next(iter(found["failed"].values()))
        shutil.rmtree(folders[0])
    else:
        path.unlink()
    assert bench(*arguments).code == 0
    assert stores.contents(copied) == stores.contents(matrix)
