"""Gigaword's written form: cased text becomes like the published sentences, and those stay as they are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.tasks.files.gigaword_form import gigaword_form, one_unknown


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("The Bridge is closed.", "the bridge is closed ."),
        ("It cost 1,200.50 at 10:30, twice.", "it cost #,###.## at ##:## , twice ."),
        ('"Curly," she said, "isn\'t here."', "`` curly , '' she said , `` is n't here . ''"),
        ("“Curly” isn’t", "`` curly '' is n't"),
        ("an ``excuse'' to launch", "an `` excuse '' to launch"),
        ("the parties' demands and John's dog", "the parties ' demands and john 's dog"),
        ("'No' means no, and 'em, '90s", "` no ' means no , and 'em , '##s"),
        ("they've we'll I'd I'm you're", "they 've we 'll i 'd i 'm you 're"),
        ("rock 'n' O'Neal d'etat", "rock 'n ' o'neal d'etat"),
        ("cannot won't", "can not wo n't"),
        ("(AP) [x] {y}", "-lrb- ap -rrb- -lsb- x -rsb- -lcb- y -rcb-"),
        ("AT&T &AMP; 1/2 a*b", r"at&amp;t &amp; #\/# a\*b"),
        ("$5, US$10 and 2.5%", "$ # , us$ ## and #.# %"),
        ("Dr. X of Acme Corp. in the U.S.", "dr. x of acme corp. in the u.s. ."),
        ("He works for Acme Corp.", "he works for acme corp ."),
        ("wait... what--now; really?!", "wait ... what -- now ; really ? !"),
        ("a 12-year-old, U.S.-led", "a ##-year-old , u.s.-led"),
        ("Zürich  \t ¥5 三", "zürich ¥# 三"),
        ("a <unk> and UNKs", "a <unk> and unks"),
        ("", ""),
    ],
)
def test_a_text_becomes_like_the_published_ones(text: str, form: str) -> None:
    assert gigaword_form(text) == form


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("abt us.nm'`\"()[]&;$%,:-/\\*#1 2…“’<>!?A"), max_size=30))
def test_the_form_has_no_capitals_or_digits_and_is_quick(text: str) -> None:
    found = gigaword_form(text)
    assert found == found.lower()
    assert not any(letter.isdigit() for letter in found)
    assert found == " ".join(found.split())


def test_only_a_whole_word_is_the_unknown_one() -> None:
    assert one_unknown("UNK UNKs aUNK UNK, UNK") == "<unk> UNKs aUNK UNK, <unk>"
