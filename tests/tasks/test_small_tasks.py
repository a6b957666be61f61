"""Tasks end to end on their samples: a tiny model trains, writes and is scored."""

import csv
import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.metrics.columns import is_named
from bench.tasks import TASKS
from bench.tasks.samples import sample_rows
from tests.conftest import Bench, call, forget_data

TINY = ("--method", "mle", "--preset", "small", "--limit", "24", "--quiet", "--set", "trainer.steps=1",
        "backbone.width=16", "backbone.vocabulary=400", "trainer.batch_size=4", "evaluation.batch_size=24")  # fmt: skip
METRICS = {
    "writingprompts": {"ppl/word", "kld", "distinct-1"},
    "lyrics": {"ppl/word", "kld", "distinct-1"},
    "wikibio": {"ppl/word", "bleu", "chrf", "rouge-1"},
    "pairs": {"ppl/word", "bleu", "chrf", "rouge-1"},
    "chat": {"ppl/word", "exact-match", "rouge-l"},
}

NEWS = ("xsum", "cnndm", "gigaword", "duc2004", "nyt")

Cell = Callable[..., Path]


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cell]:
    """Train a task once and return the folder of its cell."""
    folder, known = tmp_path_factory.mktemp("small"), dict[tuple[str, ...], Path]()

    def cell(task: str, *settings: str) -> Path:
        if (task, *settings) not in known:
            results = folder / str(len(known))
            ended = call("run", "--task", task, *TINY, *settings, "--results", str(results))
            assert ended.code == 0, ended.err
            (known[task, *settings],) = (results / task / "mle").iterdir()
        return known[task, *settings]

    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, folder / "no-cache")
        yield cell


def scores(folder: Path) -> dict[str, Any]:
    files = [json.loads(path.read_text())["content"] for path in folder.glob("scores-*.json")]
    return {score["name"]: score["value"] for content in files for score in content["values"]}


def rows(folder: Path, field: str) -> list[dict[str, Any]]:
    """Rows of the likelihood (`nll_sum`) or of what was written (`token_ids`)."""
    found = []
    for path in folder.glob("rows-*.jsonl.gz"):
        every = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
        found += [row for row in every if field in row]
    return found


@pytest.mark.parametrize("task", sorted(METRICS))
def test_a_sample_trains_writes_and_is_scored(cell: Cell, task: str) -> None:
    found = scores(cell(task))
    assert {name for name in METRICS[task] if isinstance(found.get(name), float)} == METRICS[task], found


def test_each_news_task_is_scored_in_every_column(bench: Bench, tmp_path: Path) -> None:
    ended = bench("run", "--task", ",".join(NEWS), "--method", "mle", "--preset", "small", "--limit", "16", "--quiet",
                  "--set", "trainer.steps=2", "backbone.width=16", "trainer.batch_size=4", "trainer.max_target=8",
                  "--metrics", "diversity", "--results", str(tmp_path / "results"))  # fmt: skip
    assert ended.code == 0, ended.err
    for name in NEWS:
        found = [json.loads(path.read_bytes()) for path in (tmp_path / "results" / name).rglob("scores-*.json")]
        scored = {score["name"] for one in found for score in one["content"]["values"]}
        assert all(any(is_named(column, wanted) for column in scored) for wanted in TASKS[name].columns), name


def test_korean_pairs_have_no_rouge_in_place_of_nothing(cell: Cell, tmp_path: Path) -> None:
    path = tmp_path / "chat.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        table = csv.writer(file)
        table.writerow(["질문", "답"])
        for number, song in enumerate(sample_rows("lyrics", "train")[:80]):
            table.writerow([f"{song['lines'][1]} 어땠어요? ({number})", song["lines"][0]])
    found_in = cell("pairs", f"task.path={path}", "task.source=질문", "task.target=답")
    found = scores(found_in)
    rouge = [name for name in found if name.startswith("rouge")]
    assert len(rouge) >= 3
    assert all(found[name] is None for name in rouge)
    assert found["chrf"] is not None
    assert found["bleu"] is not None
    assert all(row["n_words"] >= 1 for row in rows(found_in, "nll_sum"))


def test_a_running_text_that_is_too_short_to_be_continued_is_not_trained_on(bench: Bench, tmp_path: Path) -> None:
    ended = bench("run", "--task", "lyrics", *TINY, "task.columns=5000", "--results", str(tmp_path / "results"))
    expected = r"lyrics, test: expected more than 50 tokens in each of task\.columns=5000, found [\d,]+ in all"
    assert ended.code == 3
    assert re.search(expected + "; set fewer columns, or take more text", ended.err)
    assert not list(tmp_path.rglob("trained.json"))


@pytest.mark.parametrize("task", [name for name in TASKS if TASKS[name].load().info.open_ended])
def test_a_block_of_the_paper_fits_with_the_token_it_begins_with(task: str) -> None:
    recipe = TASKS[task].load().recipes["paper"]
    positions = recipe.get("f2-decoder:backbone.context", 1024)
    assert recipe["trainer.max_target"] + 1 <= positions
    assert recipe["trainer.max_source"] + 1 <= positions
