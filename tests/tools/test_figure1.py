"""The picture of the next word: that of the stored models, and refused where their checkpoints are gone."""

import re
from pathlib import Path

import pytest

from bench.cli import main as bench
from bench.errors import MissingError
from bench.store.store import Store
from tools import figure1


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of small models after two steps."""
    folder = tmp_path_factory.mktemp("figure1") / "results"
    command = ["run", "--task", "ambiguous_template", "--method", ",".join(figure1.METHODS), "--no-controls"]
    few = ["trainer.steps=2", "trainer.batch_size=4", "evaluation.rows=4", "evaluation.spectrum_rows=4"]
    sets = [word for setting in few for word in ("--set", setting)]
    assert bench([*command, *sets, "--limit", "64", "--results", str(folder), "--quiet"]) == 0
    return folder


def test_each_method_has_the_probability_of_each_word(
    results: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(figure1, "PICTURE", tmp_path / "figure1.svg")
    assert figure1.main(str(results)) == 0
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:-1]]
    assert [row[0] for row in rows] == list(figure1.METHODS.values())
    numbers = [[float(number) for number in row[1:]] for row in rows]
    assert all(0 <= number <= 1 for of_row in numbers for number in of_row)
    exact = [figure1.next_words(figure1.stored_cell(Store(results), method)) for method in figure1.METHODS]
    assert [[round(number, 3) for number in of_row.values()] for of_row in exact] == numbers
    assert len({tuple(of_row.values()) for of_row in exact}) == len(rows), "each method is asked with its own weights"
    picture = (tmp_path / "figure1.svg").read_text()
    assert all(title in picture for title in figure1.METHODS.values())
    assert len(re.findall(r">0\.\d\d<", picture)) >= len(rows) * len(figure1.WORDS)


def test_a_model_without_a_checkpoint_is_refused(results: Path) -> None:
    for checkpoint in results.glob("ambiguous_template/mle/*/model-*.safetensors"):
        checkpoint.unlink()
    with pytest.raises(MissingError, match="expected a checkpoint of mle in .*run: make real"):
        figure1.main(str(results))
