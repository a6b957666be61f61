"""Attached objectives: losses, gradients, likelihoods and texts are the suite's, and nothing bypasses them."""

import copy
import inspect
import pickle  # noqa: TID251

import pytest
import torch
from torch import Tensor
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

from bench.decodings.searches import Greedy
from bench.errors import UsageError
from bench.generation.generation import generate
from bench.integrations.attach import STATE, attach, attached_to, detach
from bench.models.backbones.causal import Causal
from bench.models.backbones.encoder_decoder import EncoderDecoder
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice
from tests.bench.integrations.trainers import COUNTS, VOCABULARY, attached, batch, in_the_suite, llama

ON_STATES = ("mle", "face", "ul_token", "trime", "trime.released", "histalign", "histalign.released", "f2softmax",
             "simctg", "ct", "label_smoothing", "confidence_penalty", "gem", "entmax", "emo", "mtp", "gold", "eaft",
             "asft", "scalegrad", "tailr", "tailr.dft", "loss_truncation")  # fmt: skip
CACHES = ("trime", "histalign")


def bart() -> BartForConditionalGeneration:
    """An encoder-decoder, without dropout."""
    torch.manual_seed(0)
    config = BartConfig(vocab_size=VOCABULARY, d_model=16, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=32,
                        decoder_ffn_dim=32, encoder_attention_heads=2, decoder_attention_heads=2, dropout=0.0,
                        attention_dropout=0.0, max_position_embeddings=64, pad_token_id=0, bos_token_id=1,
                        eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None)  # fmt: skip
    return BartForConditionalGeneration(config).train()


def t5() -> T5ForConditionalGeneration:
    """T5, whose encoder and decoder are in the model with a head."""
    torch.manual_seed(0)
    config = T5Config(vocab_size=VOCABULARY, d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, dropout_rate=0.0,
                      pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)  # fmt: skip
    return T5ForConditionalGeneration(config).train()


BACKBONES = {llama: Causal, bart: EncoderDecoder, t5: EncoderDecoder}


@pytest.mark.parametrize(
    ("make", "method"), [*((llama, name) for name in ON_STATES), *((each, m) for each in (bart, t5) for m in CACHES)]
)
def test_loss_gradients_and_likelihood_are_those_of_the_suite(make, method: str) -> None:
    model, objective = attached(make(), method), in_the_suite(method, BACKBONES[make](make(), None))
    torch.manual_seed(6)
    loss = model(**batch()).loss
    loss.backward()
    torch.manual_seed(6)
    summed = objective.loss(objective.states(batch()))
    mean = summed.total / summed.n_target_tokens
    mean.backward()
    torch.testing.assert_close(loss, mean, rtol=1e-6, atol=1e-6)
    found = {name: p.grad for name, p in model.named_parameters() if not name.startswith(STATE)}
    for name, parameter in objective.backbone.model.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, rtol=1e-6, atol=1e-6)
    model.eval()
    objective.eval()
    output = model(**batch())
    assert not output.loss.requires_grad  # the likelihood of evaluation cannot be trained
    with torch.no_grad():
        nll = torch.cat([part for _, part in objective.nll(objective.states(batch()))]).mean()
    torch.testing.assert_close(output.loss, nll, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("method", ON_STATES)
def test_logits_in_evaluation_are_what_the_likelihood_is_of(method: str) -> None:
    model = attached(llama(), method).eval()
    with torch.no_grad():
        output = model(**batch())
    assert output.logits.shape == (3, 9, VOCABULARY)
    labels = batch()["labels"][:, 1:]
    log_probs = output.logits[:, :-1].double().log_softmax(-1)
    nll = -log_probs.gather(2, labels.clamp(min=0)[..., None]).squeeze(2)[labels != -100].mean()
    torch.testing.assert_close(output.loss.double(), nll, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("make", [llama, bart])
@pytest.mark.parametrize("method", ["mle", *CACHES, "f2softmax", "entmax"])
def test_generate_writes_what_the_suite_writes(make, method: str) -> None:
    model = attached(make(), method).eval()
    ids = batch()["input_ids"][:2, :5]
    mask = torch.ones_like(ids)
    mask[0, :2] = 0
    if make is bart:
        mask = mask.flip(1)
    given = {"input_ids": ids, "attention_mask": mask}
    ours = generate(attached_to(model).objective, {**given, "labels": torch.full_like(ids, -100)}, Greedy(), 12)
    theirs = model.generate(**given, max_new_tokens=12, min_new_tokens=None, do_sample=False, num_beams=1)
    start = ids.shape[1] if make is llama else 1
    for row, written in zip(theirs[:, start:].tolist(), ours, strict=True):
        assert row[: len(written)] == written
        assert len(written) > 3 or len(row) > len(written)


@pytest.mark.parametrize("method", ["f2softmax", "entmax", "histalign"])
def test_sampling_draws_from_the_methods_own_distribution(method: str) -> None:
    model = attached(llama(), method).eval()
    ids = batch()["input_ids"][:1]
    with torch.no_grad():
        expected = model(input_ids=ids).logits[0, -1].softmax(-1)
    torch.manual_seed(3)
    drawn = model.generate(input_ids=ids.expand(2000, -1), max_new_tokens=1, do_sample=True, top_k=0)[:, -1]
    found = torch.bincount(drawn, minlength=VOCABULARY) / 2000
    assert (found - expected).abs().max() < 0.05
    assert (found > 0).sum() > 15 or method == "entmax"


def test_sampling_stays_within_the_support_that_likelihoods_raise() -> None:
    model = attached(llama(), "entmax", eps=1.0).eval()  # likelihoods are of a nearly uniform distribution
    with torch.no_grad():
        model.lm_head.weight.mul_(10)
        ids = batch()["input_ids"][:1]
        log_probs = model(input_ids=ids).logits[0, -1]
    drawn = model.generate(input_ids=ids.expand(200, -1), max_new_tokens=1, do_sample=True, top_k=0)[:, -1]
    outside = log_probs == log_probs.min()
    assert 1 < (~outside).sum() < VOCABULARY / 2
    assert not outside[drawn].any()
    model.generate(input_ids=ids, max_new_tokens=60, do_sample=True, top_k=0, no_repeat_ngram_size=1)  # blocks them all


@pytest.mark.parametrize("method", [*CACHES, "f2softmax", "entmax"])
def test_a_loop_over_tokens_goes_on_from_the_cache_that_it_got(method: str) -> None:
    model, past = attached(llama(), method).eval(), None
    ids = new = batch()["input_ids"]
    for _ in range(4):
        with torch.no_grad():
            output, whole = model(input_ids=new, past_key_values=past, use_cache=True), model(input_ids=ids)
        torch.testing.assert_close(output.logits, whole.logits if past is None else whole.logits[:, -1:])
        new, past = output.logits[:, -1:].argmax(-1), output.past_key_values
        ids = torch.cat([ids, new], 1)


def test_texts_are_the_same_in_training_mode_and_need_the_cache() -> None:
    model = attach(llama(), "histalign")
    given = {"input_ids": batch()["input_ids"], "max_new_tokens": 6, "do_sample": False}
    in_training = model.train().generate(given["input_ids"], None, None, max_new_tokens=6, do_sample=False)
    assert torch.equal(model.eval().generate(**given), in_training)
    for refused, remedy in (({"use_cache": False}, "use_cache"), ({"num_beams": 2}, "num_beams=1")):
        with pytest.raises(UsageError, match=remedy):  # the memory would not follow
            model.generate(**given, **refused)


def test_arguments_may_come_by_position_and_outputs_as_a_tuple() -> None:
    model, given = attach(llama(), "histalign"), batch()
    loss, *rest = model(given["input_ids"], given["attention_mask"], labels=given["labels"], return_dict=False)
    assert loss == model(**given).loss
    assert not rest
    with pytest.raises(TypeError, match="input_ids"):
        model(given["input_ids"], **given)


def test_a_reference_model_is_another_model_of_the_same_vocabulary() -> None:
    model = llama()
    with pytest.raises(UsageError, match="deepcopy"):
        attach(model, "gold", reference=model)
    assert all(parameter.requires_grad for parameter in model.parameters())


def test_losses_over_written_texts_take_one_pass_a_step() -> None:
    model = attach(llama(), "ditto")
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for _ in range(2):
        model(**batch()).loss.backward()
        optimizer.step()
    assert int(getattr(model, STATE).steps) == 2
    for _ in range(2):  # batches without a step, as a GradScaler leaves one out
        optimizer.zero_grad()
        model(**batch()).loss.backward()
    with torch.no_grad():
        model(**batch())
    with pytest.raises(UsageError, match="gradient_accumulation_steps=1"):
        model(**batch())
    optimizer.step()
    optimizer.zero_grad()
    with pytest.raises(UsageError, match="gradient_accumulation_steps=1"):
        model(**batch()).loss + model(**batch()).loss


def test_losses_over_written_texts_take_the_tokens_of_their_own_process() -> None:
    model, given = attach(llama(), "ditto"), batch()
    tokens = int((given["labels"][:, 1:] != -100).sum())
    with pytest.raises(UsageError, match="average_tokens_across_devices=False"):
        model(**given, num_items_in_batch=2 * tokens)  # as a Trainer on two processes counts them by default
    model(**given, num_items_in_batch=tokens).loss.backward()


@pytest.mark.parametrize("method", ["mle", "histalign.released", "ul_seq"])
def test_a_step_without_targets_changes_nothing_and_labels_of_another_shape_are_refused(method: str) -> None:
    model, given = attach(llama(), method), batch()
    empty = {**given, "labels": torch.full_like(given["labels"], -100)}
    model(**empty, num_items_in_batch=torch.tensor(0)).loss.backward()
    assert not any(parameter.grad.any() for parameter in model.parameters() if parameter.grad is not None)
    with pytest.raises(UsageError, match="expected labels of .*, not shifted"):
        model(**{**given, "labels": given["labels"][:, 1:]})
    with pytest.raises(UsageError, match="expected a loaded model, got 'gpt2'"):
        attach("gpt2", method)


def test_a_training_pass_that_bypasses_the_objective_is_refused() -> None:
    model = attach(llama(), "histalign")
    model(**batch()).loss.backward()
    given = batch()
    labels = given.pop("labels")
    for bypass in (lambda: model(**given), lambda: model.model(**given), lambda: copy.deepcopy(model)(**given)):
        with pytest.raises(UsageError, match="bypasses it"):
            bypass()
    with torch.no_grad():
        model(**given)
    model.eval()(**given)
    detach(copy.deepcopy(model)).train()(**given)
    detach(model).train()(**given, labels=labels)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"position_ids": torch.tensor([[0, 1, 2, 0, 1, 2, 3, 4, 5]] * 3)}, "packed"),
        ({"inputs_embeds": torch.zeros(3, 9, 16)}, "inputs_embeds"),
        ({"shift_labels": torch.zeros(3, 9, dtype=torch.long)}, "shift_labels"),
        ({"attention_mask": torch.ones(3, 1, 9, 9)}, "mask"),
        ({"attention_mask": torch.tensor([[1, 1, 1, 1, 2, 2, 2, 2, 2]] * 3)}, "packing"),
    ],
)
def test_what_the_objective_does_not_read_is_refused(given, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        attach(llama(), "mle")(**{**batch(), **given})


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("f2softmax", {}, "token_counts"), ("f2softmax", {"token_counts": COUNTS}, "batches"),
        ("asft", {"reference": "folder"}, "expected reference=MODEL"),
        ("mle", {"token_counts": COUNTS}, "does not use token_counts"), ("gold", {}, "reference"),
        ("adadec", {}, "bilstm"), ("mle.cache", {}, "trains no weights"), ("lead", {}, "trains no weights"),
        ("histalign", {"alhpa": 1.0}, "alpha"), ("histalgn", {}, "histalign"), ("dft", {}, "tailr.dft"),
        ("mle", {"reference": "a model"}, "does not use reference"),
        ("mle", {"alpha": 1.0}, "'mle' has no option 'alpha'"),
    ],
)  # fmt: skip
def test_what_cannot_be_attached_says_why(method: str, options, message: str) -> None:
    model = llama()
    with pytest.raises(UsageError, match=message):
        attach(model, method, **options)
    assert type(model) is LlamaForCausalLM
    model(**batch())


def test_detach_gives_the_model_back() -> None:
    model, plain = attach(llama(), "mtp"), llama()
    assert type(model).__name__ == "LlamaForCausalLM"
    assert inspect.signature(model.forward) == inspect.signature(plain.forward)
    with pytest.raises(UsageError, match="attached already"):
        attach(model, "mle")
    detach(model)
    assert type(model) is LlamaForCausalLM
    assert list(model.state_dict()) == list(plain.state_dict())
    torch.testing.assert_close(model(**batch()).loss, plain(**batch()).loss)
    with pytest.raises(UsageError, match="nothing is attached"):
        detach(model)


def test_detach_lets_a_head_be_trained_again_that_the_method_replaced() -> None:
    model = bart()
    model.set_output_embeddings(torch.nn.Linear(16, VOCABULARY, bias=False))  # no longer tied to the embedding
    head = model.get_output_embeddings().weight
    attach(model, "f2softmax", token_counts=COUNTS, batches=())
    assert not head.requires_grad
    with pytest.warns(UserWarning, match="the model's own head was not trained"):
        detach(model)
    assert head.requires_grad
    with pytest.raises(UsageError, match="token counts"):
        attach(model, "f2softmax", token_counts=COUNTS[1:], batches=())
    assert head.requires_grad
    assert type(model) is BartForConditionalGeneration


class Focal(Objective):
    """An objective of a user's own."""

    name = "focal"

    def token_loss(self, log_probs: Tensor, tokens: TokenSlice, targets: Tensor) -> Tensor:
        nll = -log_probs.gather(1, targets[:, None]).squeeze(1)
        return (1 - torch.exp(-nll)) ** 2 * nll


class Mean(Focal):
    """Returns a mean by mistake."""

    name = "mean"

    def token_loss(self, *given) -> Tensor:
        return super().token_loss(*given).mean()


def test_a_class_of_the_users_own_is_attached() -> None:
    model, given = attach(llama(), Focal), batch()
    log_p = llama()(given["input_ids"], given["attention_mask"]).logits[:, :-1].log_softmax(-1)
    targets = given["labels"][:, 1:]
    nll = -log_p.gather(2, targets.clamp_min(0)[..., None]).squeeze(-1)[targets != -100]
    torch.testing.assert_close(model(**given).loss, ((1 - torch.exp(-nll)) ** 2 * nll).mean())
    with pytest.raises(UsageError, match="should return the loss of each position"):
        attach(llama(), Mean)(**given)


def test_new_weights_are_fitted_to_the_model_and_loaded_again() -> None:
    """Without `batches` the head of F2-Softmax would be random; `load_state_dict` brings a trained one back."""
    given = batch()
    fitted = attach(llama(), "f2softmax", token_counts=COUNTS, batches=[given])
    random = attach(llama(), "f2softmax", token_counts=COUNTS, batches=())
    nll = {name: model.eval()(**given).loss.item() for name, model in (("fitted", fitted), ("random", random))}
    own = llama().eval()(**given).loss.item()
    assert abs(nll["fitted"] - own) < 0.5 * abs(nll["random"] - own)
    random.load_state_dict(fitted.state_dict())
    assert random(**given).loss.item() == nll["fitted"]


def test_what_is_copied_from_the_model_depends_on_the_seed() -> None:
    first, again, other = (getattr(attach(llama(), "emo.shuffled", seed=seed), STATE).directions for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_an_encoder_decoder_needs_labels_and_makes_its_own_inputs() -> None:
    model, given = attach(bart(), "histalign").eval(), batch()
    right = model.prepare_decoder_input_ids_from_labels(given["labels"])
    torch.testing.assert_close(model(**given, decoder_input_ids=right).loss, model(**given).loss)
    with pytest.raises(UsageError, match="decoder_input_ids"):
        model(**given, decoder_input_ids=right + 1)
    del given["labels"]
    with pytest.raises(UsageError, match="give labels"):
        model(**given, decoder_input_ids=right)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_has_an_objective_of_its_own(copied) -> None:
    model = attached(llama(), "f2softmax")
    other = copied(model)
    other(**batch()).loss.backward()
    objective = attached_to(other).objective
    assert objective.backbone.model is other
    assert objective.token_weight.grad is not None
    assert objective.token_weight is getattr(other, STATE).token_weight
    assert all(parameter.grad is None for parameter in model.parameters())
    model = attach(llama(), "ul_seq", mix=1.0, ngram=1)
    other = copied(model)
    expected = model(**batch()).loss
    model.model.norm.weight.data.neg_()  # it writes other texts now
    torch.testing.assert_close(other(**batch()).loss, expected)


def test_what_a_method_counts_is_in_the_checkpoint(tmp_path) -> None:
    """FACE counts targets over steps; its counts go on from a checkpoint."""
    model = attach(llama(), "face")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(2):
        model(**batch()).loss.backward()
        optimizer.step()
    stored = model.state_dict()
    assert int(stored[f"{STATE}.steps"]) == 2
    other = attach(llama(), "face")
    other.load_state_dict(stored)
    torch.testing.assert_close(other(**batch()).loss, model(**batch()).loss)
    fresh = attach(llama(), "face")
    fresh.load_state_dict(stored | {name: value for name, value in fresh.state_dict().items() if STATE in name})
    assert not torch.allclose(fresh(**batch()).loss, model(**batch()).loss)


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft asks for it
@pytest.mark.parametrize("method", ["f2softmax", "mtp"])
@pytest.mark.parametrize("first", ["attach", "get_peft_model"])
def test_weights_of_a_method_are_trained_and_saved_with_adapters(first: str, method: str, tmp_path) -> None:
    peft = pytest.importorskip("peft")
    settings = {"r": 2, "target_modules": ["q_proj"], "task_type": "CAUSAL_LM"}
    if first == "attach":
        config = peft.LoraConfig(**settings, modules_to_save=[STATE])
        model = peft.get_peft_model(attached(llama(), method), config)
    else:
        model = attached(peft.get_peft_model(llama(), peft.LoraConfig(**settings)), method)
    optimizer = torch.optim.SGD(model.parameters(), 1.0)
    for _ in range(2):
        before = model(**batch()).loss
        before.backward()
        optimizer.step()
    assert model(**batch()).loss < before
    model.save_pretrained(tmp_path)
    again = peft.PeftModel.from_pretrained(attached(llama(), method, seed=1), tmp_path, is_trainable=True)
    for mode in (True, False):
        torch.testing.assert_close(again.train(mode)(**batch()).loss, model.train(mode)(**batch()).loss)
    if first == "get_peft_model" and method == "mtp":
        assert not detach(model).peft_config["default"].modules_to_save, "peft has its own list again"


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft asks for it
def test_a_model_of_peft_trains_its_adapters_alone() -> None:
    peft = pytest.importorskip("peft")
    settings = peft.LoraConfig(r=2, target_modules=["q_proj"], task_type="CAUSAL_LM")
    before = attach(peft.get_peft_model(llama(), settings), "histalign")
    after = peft.get_peft_model(attach(llama(), "histalign"), settings)
    after.load_state_dict(before.state_dict())
    losses = [model(**batch()).loss for model in (before, after)]
    torch.testing.assert_close(*losses)
    torch.testing.assert_close(losses[0], attach(llama(), "histalign")(**batch()).loss)
    frozen = peft.get_peft_model(attached(llama(), "f2softmax"), settings)
    with pytest.raises(UsageError, match="modules_to_save"):
        frozen(**batch())
    losses[0].backward()
    assert {name.rpartition("lora_")[1] for name, p in before.named_parameters() if p.grad is not None} == {"lora_"}
