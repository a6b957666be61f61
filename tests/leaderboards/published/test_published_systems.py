"""The kept rows of other authors' systems have the figures that came with the published texts."""

import pandas as pd
import pytest

from tools.regenerate import RUNS

SENTENCE_BLEU = {
    "gpt2-wenhuchen": (48.84, 27.14, 12.65),
    "gpt2-coarse-to-fine-wenhuchen": (46.64, 26.76, 13.35),
    "bart-large-plog-repo": (54.48, 34.64, 20.57),
    "plog-bart-large": (54.85, 34.96, 20.98),
    "plog-t5-base": (51.66, 32.26, 18.88),
    "t5-large-plog-repo": (53.44, 34.07, 20.38),
}
"""BLEU-1, 2 and 3; BLEU-3 of the first two is in the names of their files, the rest are nltk's."""
ROUGE = {
    "lead-narayan": (16.30, 1.60, 11.95),
    "ext-oracle-narayan": (29.79, 8.81, 22.66),
    "ptgen-narayan": (29.70, 9.21, 23.24),
}
"""F-scores of ROUGE-1, 2 and L in the authors' logs."""


@pytest.fixture(scope="module")
def kept() -> dict[str, dict[str, float]]:
    folder = RUNS / "published-systems"
    methods = pd.read_parquet(folder / "runs.parquet").set_index("run").method
    scores = pd.read_parquet(folder / "scores.parquet")
    found: dict[str, dict[str, float]] = {}
    for run, metric, value in zip(scores.run, scores.metric, scores.value, strict=True):
        found.setdefault(str(methods[run]), {})[metric] = value
    return found


def test_nine_systems_are_kept(kept: dict[str, dict[str, float]]) -> None:
    assert set(kept) == {*SENTENCE_BLEU, *ROUGE}


@pytest.mark.parametrize("system", SENTENCE_BLEU)
def test_sentence_bleu(kept: dict[str, dict[str, float]], system: str) -> None:
    found = [kept[system][f"sentence-bleu-{n}"] for n in (1, 2, 3)]
    assert found == pytest.approx(SENTENCE_BLEU[system], abs=0.0051)


@pytest.mark.parametrize("system", ROUGE)
def test_rouge_of_the_authors_logs(kept: dict[str, dict[str, float]], system: str) -> None:
    found = [kept[system][f"rouge-{kind}/1.5.5"] for kind in ("1", "2", "l")]
    assert found == pytest.approx(ROUGE[system], abs=0.02)
