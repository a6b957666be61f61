"""Word vectors of a cell: named by their content in key and record, and how to get them where they are not there."""

import hashlib
import re

import pytest

from bench.cells.cell import described
from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments
from bench.errors import MissingError
from bench.models.backbones.recurrent.glove import HOW_TO_GET

pytestmark = pytest.mark.usefixtures("sample_data")


def cell(glove):
    sets = ("backbone.tokens=words", "backbone.tied=false", "backbone.embedding_width=3", f"backbone.glove={glove}")
    (found,) = make_plan(RunArguments(("wikibio",), ("seq2seq",), sets=sets, limit=4)).cells
    return found


def test_vectors_are_in_the_key_and_the_record_by_their_content(tmp_path):
    first, second = tmp_path / "one.txt", tmp_path / "two.txt"
    for file in (first, second):
        file.write_bytes(b"the 1 2 3\n")
    one = cell(first)
    assert described(one)["backbone_options"]["glove"] == hashlib.sha256(b"the 1 2 3\n").hexdigest()
    assert one.key == cell(second).key
    first.write_bytes(b"the 1 2 30\n")
    changed = cell(first)
    assert described(changed)["backbone_options"]["glove"] == hashlib.sha256(b"the 1 2 30\n").hexdigest()
    assert changed.key != one.key


def test_vectors_that_are_not_there_come_with_how_to_get_them(tmp_path):
    with pytest.raises(MissingError, match=f"^backbone.glove names .*no file; the paper's: {re.escape(HOW_TO_GET)}$"):
        cell(tmp_path / "nowhere.txt")
