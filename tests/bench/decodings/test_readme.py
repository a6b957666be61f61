"""The classes of bench/decodings/README.md decode, and are stored by their names."""

import re
from pathlib import Path

import pytest
import torch

from bench.base.keys import key_of
from bench.config.decoding import parse
from bench.errors import UsageError
from bench.models.mle import MLE
from tests.bench.generation.test_generation import run
from tests.bench.generation.tiny_decoders import KINDS, backbone, texts
from tests.bench.own import Own

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "bench" / "decodings" / "README.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture
def written(own: Own) -> Own:
    """The page's files where they can be imported."""
    for name, text in FILES.items():
        own.write(name, text)
    return own


@pytest.mark.parametrize("kind", KINDS)
def test_top_a_draws_among_what_it_keeps(written: Own, kind: str) -> None:
    found = run(MLE(backbone(kind)), texts(4), "top_a:TopA=0.2+temperature=0.9", 6, seeds=range(4))
    assert found == run(MLE(backbone(kind)), texts(4), "top_a:TopA=0.2+temperature=0.9", 6, seeds=range(4))
    (decoding,) = parse("top_a:TopA=1")
    scores = torch.tensor([[0.6, 0.37, 0.03]]).log()
    assert decoding.kept(scores).tolist() == [[True, True, False]]  # type: ignore[attr-defined]


def test_a_loop_of_its_own(written: Own) -> None:
    for kind in KINDS:
        objective, given = MLE(backbone(kind)), texts(4)
        first, second = run(objective, given, "greedy", 6), run(objective, given, "second_best:SecondBest", 6)
        assert all(one[:1] != other[:1] for one, other in zip(first, second, strict=True))


def test_it_is_stored_by_its_name_and_asked_for_by_its_place(written: Own) -> None:
    (decoding,) = parse("top_a:TopA=0.2+no_repeat_ngram=3")
    assert decoding.text == "top_a=0.2+no_repeat_ngram=3"
    assert decoding.spec == "top_a:TopA=0.2+no_repeat_ngram=3"
    assert parse(decoding.spec) == [decoding]
    (decoding,) = parse("posterior:top_a:TopA=0.2")
    assert (decoding.text, decoding.spec) == ("posterior:top_a=0.2", "posterior:top_a:TopA=0.2")


def test_its_source_is_in_its_key(own: Own) -> None:
    own.write("mine", FILES["top_a"])
    before = parse("mine:TopA=0.2")[0].as_dict()
    assert before["code"]["class"] == "mine:TopA"
    own.write("mine", FILES["top_a"].replace("** 2", "** 3"))
    after = parse("mine:TopA=0.2")[0].as_dict()
    assert key_of({**before, "code": ""}) == key_of({**after, "code": ""})
    assert before["code"]["source_sha256"] != after["code"]["source_sha256"]


@pytest.mark.parametrize(
    ("text", "typed", "says"),
    [
        ("class TopA:\n    pass\n", "bad:TopA=1", "is not a subclass of bench.decodings.core.decoding.Decoding"),
        (FILES["top_a"], "bad:TopA", "top_a needs a value: type top_a=a, where a is a number above 0 and of at most 1"),
        (FILES["top_a"], "postrior:bad:TopA=1", "there is no distribution 'postrior'; did you mean 'posterior'?"),
    ],
)
def test_refused(own: Own, text: str, typed: str, says: str) -> None:
    own.write("bad", text)
    with pytest.raises(UsageError) as error:
        parse(typed)
    assert says in str(error.value)
