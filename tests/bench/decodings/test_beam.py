"""Beam search with either length penalty: against the library, every text there is, and a plain loop."""

from __future__ import annotations

import pytest

from bench.decodings.searches import Beam
from tests.bench.generation.decoding_oracle import decode
from tests.bench.generation.test_generation import one, run
from tests.bench.generation.tiny_decoders import END, KINDS, CacheLM, backbone, texts


def test_two_forms_of_the_length_disagree_on_headlines() -> None:
    """-6 at 5 tokens or -10 at 10: over n the longer one wins, after Wu et al. the shorter."""
    plain, gnmt = Beam(beams=5), Beam(beams=5, gnmt=1.0)
    assert -6 / plain.length(5) < -10 / plain.length(10)
    assert -6 / gnmt.length(5) > -10 / gnmt.length(10)
    assert [gnmt.length(n) for n in (1, 7, 13)] == [1.0, 2.0, 3.0]
    assert Beam(beams=5, gnmt=0.5).length(19) == 2.0


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
