"""LogicNLG as a task: what a model reads, what is cut, what the splits are called."""

import pytest

from bench.tasks.encode.codec import Codec
from bench.tasks.logicnlg import LogicNLG


@pytest.fixture(scope="module")
def sample() -> LogicNLG:
    return LogicNLG(style="compact")


def test_a_source_fits_its_budget_and_what_is_dropped_is_counted(sample: LogicNLG) -> None:
    tokenizer = sample.tokenizer(500)
    examples = sample.split("test").examples[:20]
    wide, narrow = (Codec(tokenizer, "encoder-decoder", most, 40) for most in (10_000, 30))
    whole, cut = sample.encode(examples, wide), sample.encode(examples, narrow)
    assert all(row.truncated == 0 for row in whole)
    assert all(len(row.source) <= 30 + 1 for row in cut), "the end token is not counted"
    assert all(row.truncated > 0 for row in cut)
    assert [row.target for row in whole] == [row.target for row in cut]


def test_plog_markers_are_one_token_each_and_compact_has_none(sample: LogicNLG) -> None:
    plog = LogicNLG(style="plog")
    tokenizer = plog.tokenizer(800)
    ids = [tokenizer(marker, add_special_tokens=False)["input_ids"] for marker in plog.markers]
    assert all(len(one) == 1 for one in ids)
    assert sample.markers == ()
