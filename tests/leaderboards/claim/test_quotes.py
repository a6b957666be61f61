"""Quotes of claims against the papers' own text, letter by letter. Only where BENCH_PAPERS has the texts."""

import re
from functools import cache

import pytest

from bench.leaderboards.claim.claim_files import Claim, names, read
from tests.leaderboards.published.test_papers_text import FOLDER, text_of

PART = 20
"""Letters that a part of a sentence has at least, where a figure or a page break stands in it."""
CLAIMS = [(name, claim) for name in names() for claim in read(name).claims]


def letters(text: str) -> str:
    """Letters and digits alone: copies of papers differ in spaces, hyphens at line ends, and marks of fonts."""
    plain = re.sub(r"<sup>.*?</sup>", "", text.replace("^2", "2").replace("²", "2"))
    return re.sub(r"[^a-z0-9]", "", plain.lower())


@cache
def paper(name: str) -> str:
    return letters(text_of(name))


def is_in(quote: str, text: str) -> bool:
    """Whether a text has a quote, whole or in two parts, one behind the other."""
    if quote in text:
        return True
    for cut in range(PART, len(quote) - PART + 1):
        first = text.find(quote[:cut])
        if first < 0:
            return False
        if text.find(quote[cut:], first + cut) >= 0:
            return True
    return False


def test_a_quote_may_be_interrupted_and_not_changed() -> None:
    text = letters(
        "We find that the model is good at the first of these tasks [Figure 2] and at the last one of them too."
    )
    assert is_in(letters("the model is good at the first of these tasks and at the last one of them too"), text)
    assert not is_in(letters("the model is best at the first of these tasks and at the last one of them too"), text)
    assert not is_in(letters("and at the last one of them too the model is good at the first of these tasks"), text)


@pytest.mark.skipif(not FOLDER, reason="BENCH_PAPERS does not name a folder with the papers' texts")
@pytest.mark.parametrize(("name", "claim"), CLAIMS, ids=[f"{name}: {claim.text}" for name, claim in CLAIMS])
def test_every_quote_is_the_papers(name: str, claim: Claim) -> None:
    assert is_in(letters(claim.quote), paper(name)), claim.quote
