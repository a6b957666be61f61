"""Words for ROUGE: rouge-score's tokenizer as oracle, irregular forms, bytes, and what is not applicable."""

import importlib.metadata
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score import tokenize

from bench.metrics.overlap import rouge_tokens
from bench.metrics.overlap.rouge_tokens import (
    TOKENIZERS,
    WordTokenizer,
    count_letters,
    count_words,
    first_bytes,
    irregular_forms,
    is_applicable,
    name_of,
)
from tests.metrics.rouge_cases import TEXT, needs_forms


@given(TEXT)
def test_words_are_those_of_rouge_score(text):
    words = WordTokenizer("unstemmed").tokenize(text)
    assert words == tokenize.tokenize(text, None)
    for tokenizer in TOKENIZERS[:3]:
        assert count_words(text, tokenizer) == len(words)
    assert count_words(text, "unicode") == len(WordTokenizer("unicode").tokenize(text))


@needs_forms
def test_irregular_forms_meet_as_in_rouge_155():
    assert len(irregular_forms()) == 5930
    split = WordTokenizer("rouge-1.5.5").tokenize
    assert split("said says saying men were running") == ["say", "sai", "sai", "men", "be", "run"]
    assert split("were women agreed") == ["be", "women", "agre"]


@needs_forms
def test_three_letters_are_not_looked_up():
    assert irregular_forms()["has"] == "have"
    assert WordTokenizer("rouge-1.5.5").tokenize("has") == ["has"]


def test_without_its_list_rouge_155_says_what_to_do(monkeypatch, tmp_path):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    class Other:
        def locate_file(self, name):
            (tmp_path / "list").write_text("said|says\n")
            return tmp_path / "list"

    for found, said in ((absent, "it is not installed; pip install py-rouge==1.1"), (lambda _: Other(), "that differ")):
        irregular_forms.cache_clear()
        monkeypatch.setattr(rouge_tokens, "distribution", found)
        with pytest.raises(ImportError, match=said):
            irregular_forms()
    irregular_forms.cache_clear()


def test_unicode_words():
    split = WordTokenizer("unicode").tokenize
    assert split("Ça va? 안녕하세요, 세계! x_1 don't") == ["ça", "va", "안녕하세요", "세계", "x_1", "don", "t"]
    decomposed = unicodedata.normalize("NFD", "Ça va 세계")
    assert len(decomposed) > len("Ça va 세계")
    assert split(decomposed) == ["ça", "va", "세계"]


@given(st.text(max_size=12), st.integers(1, 20))
def test_first_bytes_are_whole_characters(text, n):
    cut = first_bytes(text, n)
    assert text.startswith(cut)
    assert len(cut.encode()) <= n
    rest = text[len(cut) :]
    assert not rest or len(cut.encode()) + len(rest[0].encode()) > n


def test_first_bytes_take_what_is_no_character():
    assert first_bytes("a\ud800b", 2) == "a?"


@given(st.lists(TEXT, max_size=4))
def test_letters_are_counted_one_by_one(texts):
    lowered = "".join(texts).lower()
    letters = [c for c in lowered if c.isalpha()]
    assert count_letters(texts) == (len(letters), sum(c not in "abcdefghijklmnopqrstuvwxyz" for c in letters))


def test_half_of_the_letters_is_enough():
    assert is_applicable(4, 2, "stemmed")
    assert not is_applicable(4, 3, "stemmed")
    assert not is_applicable(4, 3, "rouge-1.5.5")
    assert is_applicable(4, 4, "unicode")
    assert is_applicable(0, 0, "unstemmed"), "digits only"


def test_names():
    assert len({name_of(tokenizer) for tokenizer in TOKENIZERS}) == 4
    for act in (name_of, WordTokenizer):
        with pytest.raises(ValueError, match="there are: stemmed, unstemmed, rouge-1.5.5, unicode"):
            act("13a")
