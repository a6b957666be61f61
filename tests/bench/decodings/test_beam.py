"""Beam search with either length penalty: against the library, every text there is, and a plain loop."""

from functools import cache
from itertools import product

import pytest

from bench.decodings.searches import Beam
from bench.models.mle import MLE
from tests.bench.generation.decoding_oracle import decode, next_token
from tests.bench.generation.test_generation import one, run
from tests.bench.generation.tiny_decoders import END, KINDS, CacheLM, backbone, texts
from tests.drawn import in_turn


def test_two_forms_of_the_length_disagree_on_headlines() -> None:
    """-6 at 5 tokens or -10 at 10: over n the longer one wins, after Wu et al. the shorter."""
    plain, gnmt = Beam(beams=5), Beam(beams=5, gnmt=1.0)
    assert -6 / plain.length(5) < -10 / plain.length(10)
    assert -6 / gnmt.length(5) > -10 / gnmt.length(10)
    assert [gnmt.length(n) for n in (1, 7, 13)] == [1.0, 2.0, 3.0]
    assert Beam(beams=5, gnmt=0.5).length(19) == 2.0


@pytest.mark.parametrize(("kind", "power"), in_turn(KINDS, [0.0, 0.6, 1.0, 3.0]))
def test_brute_force(kind: str, power: float) -> None:
    """A beam that is as wide as there are texts finds the best of all texts over a vocabulary of six."""
    objective = MLE(backbone(kind, vocab_size=6, seed=4)).eval()
    given, limit = [[3, 4, 5], [5, 5, 3, 4, 3]], 3
    decoding = f"beam=36+gnmt={power}"
    for text, found in zip(given, run(objective, given, decoding, limit), strict=True):
        predict = next_token(objective, text, one(decoding))
        told = cache(lambda new, predict=predict: predict(list(new)))
        scores: dict[tuple[int, ...], float] = {}
        for length in range(1, limit + 1):
            for new in product(range(6), repeat=length):
                whole = END in new or length == limit
                if not whole or END in new[:-1]:
                    continue
                log_prob = sum(float(told(new[:at])[token]) for at, token in enumerate(new))
                scores[new] = log_prob / ((5 + length) / 6) ** power
        best = max(scores, key=lambda new: scores[new])
        assert found == [token for token in best if token != END]


class FewWords:
    """A tokenizer with so few words that texts repeat them."""

    def decode(self, ids: list[int], skip_special_tokens: bool) -> str:
        return " ".join("abcdefghijkl"[token % 12] for token in ids if not (skip_special_tokens and token == END))


@pytest.mark.parametrize(
    "kind", ["gpt2", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS if kind != "gpt2")]
)
def test_the_first_beam_that_repeats_no_trigram(kind: str) -> None:
    """As the released AdaDec takes it: over all finished texts, the best first; else the best of all."""
    model = backbone(kind)
    model.tokenizer = FewWords()
    objective, given = CacheLM(model).eval(), texts(8, 10)
    written = [run(objective, given, "beam=4+gnmt=1", 6)]
    for size in (1, 2, 3):
        decoding = f"beam=4+gnmt=1+unrepeated_ngram={size}"
        written.append(run(objective, given, decoding, 6))
        assert written[-1] == [decode(objective, text, one(decoding), 6, END) for text in given]
    assert any(texts_of != written[0] for texts_of in written[1:])
