"""LogicNLG as a task: what a model reads, what is cut, what the splits are called."""

from __future__ import annotations

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


def test_both_architectures_learn_the_same_targets(sample: LogicNLG) -> None:
    tokenizer = sample.tokenizer(500)
    examples = sample.split("test").examples[:5]
    for architecture in ("decoder-only", "encoder-decoder"):
        rows = sample.encode(examples, Codec(tokenizer, architecture, 100, 40))
        texts = [tokenizer.decode(row.target, skip_special_tokens=True).strip() for row in rows]
        assert texts == [example.target for example in examples]
        assert all(row.target[-1] == tokenizer.eos_token_id for row in rows)


def test_plog_markers_are_one_token_each_and_compact_has_none(sample: LogicNLG) -> None:
    plog = LogicNLG(style="plog")
    tokenizer = plog.tokenizer(800)
    ids = [tokenizer(marker, add_special_tokens=False)["input_ids"] for marker in plog.markers]
    assert all(len(one) == 1 for one in ids)
    assert sample.markers == ()


def test_references_of_a_row_are_all_sentences_of_its_table(sample: LogicNLG) -> None:
    examples = sample.split("test").examples
    gold = sample.gold(examples)
    for example in examples:
        same = [e.target for e in examples if e.fields["table_id"] == example.fields["table_id"]]
        assert gold[example.id]["references"] == same
        assert example.target in same
