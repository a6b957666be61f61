"""Streams: rows that the tokenizer cuts are the same ones, each once, from one process and from two."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.tasks.lyrics import Lyrics
from bench.tasks.nsmc import NSMC
from tests.conftest import Ended

TINY = ("run", "--task", "wikitext103", "--method", "mle", "--preset", "small", "--limit", "12", "--quiet", "--json",
        "--decode", "greedy+max_new_tokens=4", "--set", "trainer.steps=1", "backbone.width=16", "backbone.layers=1",
        "backbone.vocabulary=400", "trainer.batch_size=4", "evaluation.batch_size=7", "evaluation.rows=23")  # fmt: skip


def rows_of(results: Path) -> dict[str, list[dict[str, Any]]]:
    found = {}
    for path in results.rglob("rows-*.jsonl.gz"):
        header, *rows, _ = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
        found[header["content"]["kind"]] = rows
        assert (header["content"]["cut"], header["content"]["whole_split"]) == (23, False)
    return found


@pytest.mark.slow
@pytest.mark.ddp
def test_two_processes_make_the_rows_of_one(bench: Callable[..., Ended], tmp_path: Path) -> None:
    made = {}
    for devices in ("1", "2"):
        ended = bench(*TINY, "--devices", devices, "--results", str(tmp_path / devices))
        assert ended.code == 0, ended.err
        made[devices] = rows_of(tmp_path / devices)
    for kind in ("likelihood", "generation"):
        one, two = made["1"][kind], made["2"][kind]
        assert len(one) == 23
        assert [row["id"] for row in one] == [row["id"] for row in two]
    likelihood = [made[devices]["likelihood"] for devices in ("1", "2")]
    counts = [[(row["n_tokens"], row["n_words"], row["n_bytes"]) for row in rows] for rows in likelihood]
    assert counts[0] == counts[1]
    one, two = ([row["nll_sum"] for row in rows] for rows in likelihood)
    assert one == pytest.approx(two, rel=1e-4)


def test_korean_recipes_have_the_numbers_of_the_paper() -> None:
    for kind in (Lyrics, NSMC):  # F2-Softmax Tables 6 and 7
        recipe = kind.recipes["paper"]
        assert recipe["backbone.vocabulary"] == 40_000
        assert (recipe["trainer.batch_size"], recipe["trainer.lr"], recipe["trainer.clip"]) == (16, 2e-4, 0.25)
        assert recipe["trainer.max_target"] + 1 == 512
