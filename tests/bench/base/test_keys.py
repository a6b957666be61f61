"""Keys and seeds: stable for ever, and different for everything that differs."""

import hashlib
import math
import os

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.base.keys import canonical, key_of, sha256
from bench.base.machine import cores
from bench.base.seeds import seed_of, seed_torch

KNOWN = {"b": [1, 2.5, None, True], "a": "é\n", "c": {"y": 1, "x": "\ud800"}}
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


def test_a_known_content_keeps_its_key():
    text = b'{"a":"\xc3\xa9\\n","b":[1,2.5,null,true],"c":{"x":"\xed\xa0\x80","y":1}}'
    assert canonical(KNOWN) == text
    assert key_of(KNOWN) == hashlib.sha256(text).hexdigest()[:16] == "f5a23b5be4aa060d"


def test_a_known_purpose_keeps_its_seed():
    digest = hashlib.sha256(b"0\x1forder\x1f1").digest()
    assert seed_of(0, "order", 1) == int.from_bytes(digest[:8], "big") // 2 == 3_560_704_936_019_802_908


@settings(max_examples=30)
@given(st.dictionaries(st.text(), SCALARS, min_size=2))
def test_the_order_of_a_mapping_does_not_matter(content):
    turned = dict(reversed(content.items()))
    assert key_of({"inner": [content]}) == key_of({"inner": [turned]})


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_has_no_key(bad):
    with pytest.raises(ValueError, match="not JSON compliant"):
        key_of({"a": [bad]})


def test_the_hash_of_parts_is_the_hash_of_the_whole():
    assert sha256([b"ab", b"", b"c"]) == sha256(b"abc") == hashlib.sha256(b"abc").hexdigest()


def test_seeds_fit_generators_and_differ_by_purpose():
    seeds = [seed_of(*parts) for parts in [(0, 1), (1, 0), ("01",), (0, "1"), (0, 1, ""), (0,), (), ("0\x1f1",)]]
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert len(set(seeds)) == len(seeds) - 2  # a part counts by its text, and the separator is a text too


@pytest.mark.parametrize("is_available", [False, True])
def test_the_draws_are_those_of_torch(is_available, monkeypatch):
    """Every accelerator is seeded where there is one, and none is looked for where there is none."""
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: is_available)
    seeded, manual_seed = [], torch.manual_seed
    torch.manual_seed(5)
    expected = torch.rand(3)
    monkeypatch.setattr(torch, "manual_seed", lambda seed: seeded.append(seed) or manual_seed(seed))
    seed_torch(5)
    assert torch.equal(torch.rand(3), expected)
    assert seeded == [5] * is_available


def test_a_process_counts_the_cores_it_is_bound_to(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 5, 6}, raising=False)
    assert cores() == 3
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert cores() == 1
