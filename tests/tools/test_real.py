"""`make real`: which rows it trains on, and what it says where it cannot get them."""

from pathlib import Path

import pytest

from bench.tasks.ambiguous_template import AmbiguousTemplate
from bench.tasks.fetch.sources import Source
from tests.conftest import forget_data
from tools import real

SECTIONS = ("family", "capital-common-countries", "capital-world", "city-in-state")


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """The commands that are run, in a cache without data."""
    forget_data(monkeypatch, tmp_path)
    found: list[list[str]] = []
    monkeypatch.setattr(real, "bench", lambda words: found.append(list(words)) or 0)
    lines = [f": {name}\n" + "\n".join(f"a{i} A{i} b{i} B{i}" for i in range(8)) for name in SECTIONS]
    monkeypatch.setattr(real, "word_pairs", lambda: "\n".join(lines).encode())
    return found


def test_rows_of_a_machine_without_data_are_a_proxy(commands: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    assert real.main(["--quiet"]) == 0
    get, run = commands
    assert get == ["models", "get", "smollm2-135m-instruct-q4"]
    assert run[-1] == "--quiet"
    folder = Path(run[run.index("--data-dir") + 1]) / "ambiguous_template"
    task = AmbiguousTemplate(split="clean")
    task.load(Source(folder, "test"))
    assert task.split("train").status == "proxy"
    monkeypatch.setattr(real, "word_pairs", lambda: pytest.fail("downloaded twice"))
    real.main([])


def test_published_rows_are_taken_where_they_are(
    commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "data" / "ambiguous_template").mkdir(parents=True)
    monkeypatch.setenv("BENCH_DATA", str(tmp_path / "data"))
    real.main([])
    assert "--data-dir" not in commands[-1]
