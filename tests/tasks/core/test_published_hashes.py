"""Official: as many rows as published are not enough where their hash is known."""

from __future__ import annotations

from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.published_hashes import ROWS, as_published


def test_other_rows_of_the_right_number_are_a_proxy() -> None:
    rows = [Example(f"test/{i}", "", "words") for i in range(60)]
    split = as_published("wikitext103", Split("test", rows, "official", "file"))
    assert (split.status, split.origin) == ("proxy", "file; as many rows as published, but others")
    assert as_published("wikitext103", Split("test", rows, "subset", "file")).status == "subset"
    assert as_published("xsum", Split("test", rows, "official", "file")).status == "official"


def test_known_rows_are_official() -> None:
    rows = [Example("test/0", "", "words")]
    split = Split("test", rows, "official", "file")
    hashes = ROWS["wikitext103", "test"]
    try:
        ROWS["wikitext103", "test"] = (split.manifest().sha256,)
        assert as_published("wikitext103", split).status == "official"
    finally:
        ROWS["wikitext103", "test"] = hashes
