"""Decoding settings: what users type, what keys contain, and what is refused."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from bench.base.keys import key_of
from bench.config.decoding import parse
from bench.decodings.core.decoding import Decoding
from bench.decodings.samplers import TopK
from bench.decodings.searches import Beam, Greedy
from bench.errors import UsageError

GOLDEN = Path(__file__).parents[2] / "golden" / "decodings"
NAMES = [
    "greedy", "topk=3", "nucleus=0.95", "beam=4", "sample", "sample+temperature=0.7", "decoupled:greedy",
    "decoupled:topk=3", "decoupled:nucleus=0.9", "decoupled:beam=4+length_penalty=2.0", "posterior:topk=3",
    "greedy+no_repeat_ngram=3", "topk=20+temperature=0.5+no_repeat_ngram=4+max_new_tokens=100",
    "beam=4+length_penalty=2.0+no_repeat_ngram=3", "beam=5+length_penalty=-0.5+early_stopping+max_new_tokens=60",
    "nucleus=0.30000000000000004",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_round_trip(name: str) -> None:
    (decoding,) = parse(name)
    assert decoding.text == decoding.spec == name
    assert parse(decoding.text) == [decoding]


def test_many_at_once() -> None:
    assert [decoding.text for decoding in parse(",".join(NAMES))] == NAMES
    drawn = ["topk=3", "nucleus=0.95", "sample", "decoupled:topk=3"]
    assert [decoding.samples for decoding in parse("greedy,beam=4," + ",".join(drawn))] == [False] * 2 + [True] * 4


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        (" greedy ", "greedy"),
        ("model:topk=3", "topk=3"),
        ("beam=4+length_penalty=2", "beam=4+length_penalty=2.0"),
        ("beam=4+length_penalty=1+early_stopping=false", "beam=4"),
        ("beam=4+early_stopping=True", "beam=4+early_stopping"),
        ("topk=3 + temperature=1.0 + no_repeat_ngram=0", "topk=3"),
    ],
)
def test_other_spellings(typed: str, name: str) -> None:
    assert parse(typed)[0].text == name


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("", "a decoding is missing"),
        ("greedy,", "a decoding is missing"),
        ("greedi", "did you mean 'greedy'"),
        ("nuclues=0.9", "did you mean 'nucleus'"),
        ("decopled:topk=3", "did you mean 'decoupled'"),
        ("beam=4+lenght_penalty=2", "did you mean 'length_penalty'"),
        ("greedy+temperature=2", "no option of greedy decoding 'temperature'"),
        ("topk", "topk needs a value: type topk=k, where k is a whole number of at least 1"),
        ("greedy=3", "greedy takes no value"),
        ("topk=0", "decoding 'topk' option 'k' must be at least 1, not 0"),
        ("topk=2.5", "option 'k' must be a whole number, not '2.5'"),
        ("nucleus=95", "option 'p' must be above 0 and below 1, not 95"),
        ("nucleus=nan", "option 'p' must be a finite number, not 'nan'"),
        ("beam=1", "option 'beams' must be at least 2, not 1"),
        ("sample+temperature=inf", "option 'temperature' must be a finite number, not 'inf'"),
        ("beam=4+length_penalty=nan", "option 'length_penalty' must be a finite number"),
        ("greedy+max_new_tokens=0", "option 'max_new_tokens' must be at least 1, not 0"),
        ("beam=4+early_stopping=maybe", "option 'early_stopping' must be true or false, not 'maybe'"),
        ("topk=3+temperature=2+temperature=3", "temperature is given twice"),
        ("topk=3,greedy,topk=3", "'topk=3' is given twice"),
        ("decoupled:sample", "decoupled decoding is not for sample: without a cut it is posterior:sample"),
        ("decoupled:topk=3+temperature=2", "temperature cannot be combined"),
        ("decoupled:greedy+no_repeat_ngram=3", "no_repeat_ngram cannot be combined"),
        ("decoupled:min_p=0.1", "decoupled decoding is not for min_p"),
        ("f2_released:nucleus=0.9", "f2_released:topk=1 for what it calls greedy"),
        ("f2_released:topk=3+temperature=0.5", "temperature cannot be combined with f2_released decoding"),
        ("beam=4+gnmt=1+length_penalty=2", "beam takes length_penalty or gnmt, not both"),
    ],
)
def test_refused(typed: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(typed)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (Beam, {"beams": 4, "gnmt": 1.0, "length_penalty": 2.0}),
        (TopK, {"k": 2.5}),
        (Greedy, {"distribution": "magic"}),
        (Greedy, {"no_repeat_ngram": -1}),
    ],
)
def test_objects_are_checked_too(kind: type[Decoding], settings: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        kind(**settings)


def test_equal_decodings_have_equal_keys() -> None:
    first, second = Beam(beams=4, length_penalty=2), parse("beam=4+length_penalty=2.0")[0]
    assert first == second
    assert repr(first.as_dict()) == repr(second.as_dict())
    assert "temperature" not in first.as_dict()


def test_stored_keys_stay() -> None:
    """Rows of these decodings are stored: name and content enter their keys, the name the seeds of samples too."""
    stored = json.loads((GOLDEN / "keys.json").read_text(encoding="utf-8"))
    assert len(stored) == 17
    for text, key in stored.items():
        (decoding,) = parse(text)
        assert key_of({"name": decoding.text, **decoding.as_dict()}) == key


OWN = """
from dataclasses import dataclass

from bench.decodings.searches import Greedy


@dataclass(frozen=True, kw_only=True)
class Mine(Greedy):
    name = "mine"
"""


def test_a_file_below_a_folder_with_a_sign_in_its_name_is_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by the process of a cell, which is given what to type and starts in the same folder."""
    folder = tmp_path / "c++, mine"
    folder.mkdir()
    (folder / "own_greedy.py").write_text(OWN)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.path", list(sys.path))
    monkeypatch.delitem(sys.modules, "own_greedy", raising=False)
    [decoding] = parse("own_greedy.py:Mine+no_repeat_ngram=2")
    monkeypatch.setitem(sys.modules, "own_greedy", sys.modules["own_greedy"])  # forgotten after the test
    assert parse(decoding.spec) == [decoding]
