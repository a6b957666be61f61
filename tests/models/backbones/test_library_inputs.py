"""What a model of transformers is given: ready masks, its cache by name, no more tokens than positions."""

import pytest
import torch
from torch import Tensor, nn

from bench.errors import UsageError
from bench.generation.row_cache import new_cache
from bench.models.backbones import causal, encoder_decoder
from bench.models.backbones.backbone import Backbone, Step, decoder_inputs
from bench.models.backbones.causal import positions
from bench.models.backbones.library_inputs import NEW, OLD, cache_keyword, library_keyword, takes_ready_masks
from bench.models.mle import MLE
from tests.bench.generation import tiny_decoders as tiny
from tests.models import still

KINDS = [*still.KINDS, "llama"]


def rows(backbone: Backbone, lengths: tuple[int, ...] = ()) -> Tensor:
    """States at positions that carry a target, [n, D]: of a full pass or, given lengths, token groups on a cache."""
    batch = still.batch(backbone.model.config.model_type)
    states = backbone.states(batch)
    carries = states.targets >= 0
    if not lengths:
        return states.hidden[carries]
    ids, mask, labels = batch["input_ids"], batch["attention_mask"], batch["labels"]
    cache, found, encoded, read = new_cache(backbone.model.config), [], None, ids
    if backbone.architecture == "encoder-decoder":
        read = decoder_inputs(labels, backbone.model.config)
        encoded = backbone.model.get_encoder()(input_ids=ids, attention_mask=mask, return_dict=True)
    start = 0
    for length in lengths:
        stop = start + length
        if encoded is None:
            places = positions(mask)[:, start:stop]
            step = Step(ids=read[:, start:stop], cache=cache, mask=mask[:, :stop], positions=places)
        else:
            step = Step(ids=read[:, start:stop], cache=cache, mask=mask, source=ids, encoded=encoded)
        found.append(backbone.extend(step).hidden)
        start = stop
    ends = torch.tensor(lengths).cumsum(0) - 1
    return torch.stack(found, 1)[carries[:, ends]]


@pytest.mark.parametrize("kind", KINDS)
def test_states_are_those_of_a_mask_of_tokens(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal in every bit, over rows of uneven length."""
    backbone = still.backbone(kind, dtype=torch.float32)
    assert takes_ready_masks(backbone.model.config)
    ready = rows(backbone)
    for module in (causal, encoder_decoder):
        monkeypatch.setattr(module, "takes_ready_masks", lambda config: False)
    assert torch.equal(ready, rows(backbone))


@pytest.mark.parametrize("kind", KINDS)
def test_several_tokens_on_top_of_a_cache(kind: str) -> None:
    """Each new token reads those before it, in the cache and beside it, and none behind."""
    backbone, lengths = still.backbone(kind), (4, 3, 1, 2)
    whole, batch = backbone.states(still.batch(kind)), still.batch(kind)
    ends = torch.tensor(lengths).cumsum(0) - 1
    assert batch["labels"].shape[1] > int(ends[-1])
    expected = whole.hidden[:, ends][(whole.targets >= 0)[:, ends]]
    assert len(expected) > 4
    torch.testing.assert_close(rows(backbone, lengths), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("forward", "name"),
    [
        (lambda self, ids, past_key_values=None: None, OLD),
        (lambda self, ids, past_key_values=None, cache=None: None, NEW),
        (lambda self, *ids, **named: None, library_keyword()),
    ],
)
def test_the_name_of_the_cache_is_the_models_own(forward, name):
    assert cache_keyword(type("Model", (nn.Module,), {"forward": forward})()) == name


@pytest.mark.parametrize(("kind", "what"), [("gpt2", "rows"), ("bart", "sources")])
def test_a_long_row_is_refused(kind: str, what: str) -> None:
    objective = MLE(tiny.backbone(kind, 0))
    batch = still.batch(kind)
    length = batch["input_ids"].shape[1]
    assert objective.backbone.max_positions is not None
    assert objective.backbone.max_positions >= length
    objective.step_loss(batch)
    objective.backbone.__dict__["max_positions"] = length - 1
    with pytest.raises(UsageError, match=f"a batch has {what} of {length} tokens, and the backbone has positions for"):
        objective.step_loss(batch)


def test_positions_that_are_computed_have_no_end() -> None:
    llama = tiny.backbone("llama", 0)
    assert llama.max_positions is None
    llama.refuse_longer(10**6, "rows")
