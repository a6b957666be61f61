"""Samples of the article on decoding: a row each, and no text is markup."""

import json
from pathlib import Path

from tests.decoding_samples import lines


def test_each_text_is_a_row_behind_its_prompt_and_no_mark(tmp_path: Path) -> None:
    kept = {"id": "a", "length": 64, "prompt": "in the", "human": "beginning | *was*",
            "texts": {"mle, topk=3": "the the <b>", "ul_token, topk=3": "a word"}}  # fmt: skip
    (tmp_path / "kept.json").write_text(json.dumps(kept), encoding="utf-8")
    made = lines(tmp_path / "kept.json")
    assert made[0] == "## What they wrote"
    assert "64 tokens at most" in made[2]
    assert "| **people** | beginning \\| \\*was\\* |" in made
    assert "| `mle, topk=3` | the the \\<b\\> |" in made
    assert made[-1] == "| `ul_token, topk=3` | a word |"
