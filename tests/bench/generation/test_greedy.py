"""bench/generation/greedy.py and growing.py: the library's texts, without waiting for the device at every token."""

from __future__ import annotations

import pytest
import torch

from bench.config.decoding import parse
from bench.config.resolve import find_method
from bench.generation import greedy as module
from bench.generation.generation import Generator, generate
from bench.generation.growing import Growing
from bench.models.backbones.backbone import Batch
from bench.models.core.objective import Objective
from tests.drawn import in_turn
from tests.models import still
from tests.operations import counted

METHODS = ["mle", "trime", "histalign"]
KINDS = [*still.KINDS, "llama"]
GREEDY = parse("greedy")[0]


def made(kind: str, name: str) -> Objective:
    return find_method(name).objective(still.backbone(kind, dtype=torch.float32)).eval()


def prompts(kind: str) -> Batch:
    """Uneven rows, padded on the side that the architecture wants."""
    ids = torch.randint(5, 40, (5, 7), generator=torch.Generator().manual_seed(3))
    mask = torch.ones_like(ids)
    mask[0, :4], mask[2, :1] = 0, 0
    if kind == "bart":
        mask = mask.flip(1)
    return {"input_ids": ids, "attention_mask": mask}


@pytest.mark.parametrize("look", [1, 16])
@pytest.mark.parametrize(("kind", "name"), in_turn(KINDS, METHODS))
def test_texts_of_the_library(kind: str, name: str, look: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever one looks, the texts are those of the library's own loop over the same adapter."""
    monkeypatch.setitem(module.LOOK, "cpu", look)
    objective, batch = made(kind, name), prompts(kind)
    monkeypatch.setattr(objective.backbone.model.config, "eos_token_id", None)
    endless = generate(objective, batch, GREEDY, 12)
    monkeypatch.setattr(objective.backbone.model.config, "eos_token_id", endless[1][6])  # a text that will end
    found = generate(objective, batch, GREEDY, 40)
    continued = []

    def library(generator: Generator, *of: object) -> torch.Tensor:
        continued.append(Generator.continued(generator, *of))  # type: ignore[arg-type]
        return continued[-1]

    keep = [lambda ids, scores: scores]  # any processor: the library writes
    monkeypatch.setattr("bench.generation.generation.Generator", type("Watched", (Generator,), {"continued": library}))
    assert generate(objective, batch, GREEDY, 40, processors=keep) == found
    assert len(continued) == 1, "the library has written"
    assert min(map(len, found)) <= 6, "some text has ended"


@pytest.mark.parametrize(("kind", "name"), in_turn(KINDS, METHODS))
def test_hardly_waits(kind: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most every tenth token asks the device for anything."""
    monkeypatch.setitem(module.LOOK, "cpu", 16)
    objective, batch = made(kind, name), prompts(kind)
    monkeypatch.setattr(objective.backbone.model.config, "eos_token_id", None)
    waits = {}
    for tokens in (8, 40):
        with counted() as operations:
            texts = generate(objective, batch, GREEDY, tokens)
        assert {len(text) for text in texts} == {tokens}
        waits[tokens] = operations.waits["_local_scalar_dense"] + operations.waits["nonzero"]
    assert (waits[40] - waits[8]) / 32 <= 0.1


class TestGrowing:
    def test_equals_joining(self) -> None:
        growing, pieces, found = Growing(1), [torch.randn(2, n, 3) for n in (5, 1, 1, 90, 1, 200)], None
        for at, piece in enumerate(pieces):
            found = growing.appended(found, piece)
            assert torch.equal(found, torch.cat(pieces[: at + 1], 1))

    def test_room_is_used(self) -> None:
        """Most tokens are written behind the others, in the same memory."""
        growing, found, places = Growing(-2), None, set()
        for _ in range(300):
            found = growing.appended(found, torch.ones(2, 4, 1, 3))
            places.add(found.data_ptr())
        assert len(places) <= 5

    def test_rows_that_were_moved(self) -> None:
        """What the caller made of the tensor counts, not what the buffer holds."""
        growing = Growing(1)
        found = growing.appended(None, torch.tensor([[1], [3]]))
        found = growing.appended(found, torch.tensor([[2], [4]]))
        found = growing.appended(found.flip(0), torch.tensor([[5], [6]]))
        assert found.tolist() == [[3, 4, 5], [1, 2, 6]]
