"""Words as tokens, and embeddings in which analogies are parallelograms."""

import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import UsageError
from bench.tasks.encode.tokenizers import analogy_embeddings, word_tokenizer

TEXTS = ["The king, the queen.", "Is it king? It's a well-known (old) king!", "café naïve 日本語", "the the 3.5%"]
PAIRS = {
    "capital": [("Oslo", "Norway"), ("Lima", "Peru"), ("Rome", "Italy")],
    "city": [("Dallas", "Texas"), ("Austin", "Texas"), ("Houston", "Texas")],
}
KNOWN = word_tokenizer(TEXTS)


@pytest.fixture(scope="module")
def tokenizer():
    return KNOWN


@pytest.fixture(scope="module")
def places():
    return word_tokenizer([word for pairs in PAIRS.values() for pair in pairs for word in pair])


def test_the_vocabulary_is_sorted_by_count_then_spelling(tokenizer):
    words = tokenizer.convert_ids_to_tokens(range(4, len(tokenizer)))
    assert words[:3] == ["king", "the", "."]  # 3, 3, 2
    assert words[3:] == sorted(words[3:])
    shuffled = TEXTS * 2
    random.Random(0).shuffle(shuffled)
    assert word_tokenizer(iter(shuffled)).get_vocab() == tokenizer.get_vocab()


@pytest.mark.parametrize("vocabulary", [5, 6, 9])
def test_a_vocabulary_holds_the_most_frequent_words_and_no_more(tokenizer, vocabulary):
    small = word_tokenizer(TEXTS, vocabulary)
    assert len(small) == vocabulary
    assert small.convert_ids_to_tokens(range(vocabulary)) == tokenizer.convert_ids_to_tokens(range(vocabulary))
    assert small("king queen", add_special_tokens=False)["input_ids"] == [4, 3]


@given(st.lists(st.sampled_from(["The", "king", "well-known", "It's", "日本語"]), min_size=1, max_size=9), st.data())
def test_decoding_gives_any_usual_sentence_back(words, data):
    marks = [data.draw(st.sampled_from(["", "", ".", "?", "!", ")", ","])) for _ in words]
    text = " ".join(word + mark for word, mark in zip(words, marks, strict=True))
    assert KNOWN.decode(KNOWN(text)["input_ids"], skip_special_tokens=True) == text


# Embeddings


def row_of(embeddings, tokenizer, word):
    return embeddings[tokenizer.convert_tokens_to_ids(word)]


def test_without_noise_pairs_differ_by_one_vector_a_category(places):
    embeddings = analogy_embeddings(places, PAIRS, width=32, noise=0.0).double()
    shifts = {
        category: torch.stack([row_of(embeddings, places, b) - row_of(embeddings, places, a) for a, b in pairs])
        for category, pairs in PAIRS.items()
    }
    for shift in shifts.values():
        torch.testing.assert_close(shift, shift[:1].expand_as(shift), rtol=0, atol=1e-6)
    assert (shifts["capital"][0] - shifts["city"][0]).norm() > 0.5
    assert shifts["capital"][0].norm() == pytest.approx(1.0, abs=0.4)


def test_noise_and_scale_are_as_stated():
    words = [(f"first{i}", f"second{i}") for i in range(400)]
    known = word_tokenizer(word for pair in words for word in pair)
    width = 64
    embeddings = analogy_embeddings(known, {"x": words}, width) * width**0.5
    first, second = (torch.stack([row_of(embeddings, known, pair[i]) for pair in words]) for i in (0, 1))
    assert first.std().item() == pytest.approx(1.0, abs=0.03)
    shift = second - first
    assert (shift - shift.mean(dim=0)).std().item() == pytest.approx(0.5, abs=0.02)
    assert shift.mean(dim=0).std().item() == pytest.approx(1.0, abs=0.3)
    states = torch.nn.functional.layer_norm(
        torch.randn(200, width, generator=torch.Generator().manual_seed(0)), (width,)
    )
    logits = states @ (first / width**0.5).T
    assert logits.std().item() == pytest.approx(1.0, abs=0.1)


def test_embeddings_depend_on_the_seed_and_not_on_the_order_of_pairs(places):
    first = analogy_embeddings(places, PAIRS, 16, seed=1)
    turned = {category: PAIRS[category][::-1] for category in reversed(PAIRS)}
    assert torch.equal(first, analogy_embeddings(places, turned, 16, seed=1))
    assert not torch.equal(first, analogy_embeddings(places, PAIRS, 16, seed=2))
    torch.manual_seed(0)
    before = torch.rand(1)
    torch.manual_seed(0)
    analogy_embeddings(places, PAIRS, 16)
    assert torch.equal(before, torch.rand(1))  # the global generator is left alone


@pytest.mark.parametrize("word", ["Bergen", "New York", ""])
def test_a_word_that_is_not_one_token_is_named(places, word):
    with pytest.raises(UsageError, match=f"'{word}' of capital"):
        analogy_embeddings(places, {"capital": [("Oslo", word)]}, 8)
