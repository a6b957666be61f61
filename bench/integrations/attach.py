"""Attach: any model of `transformers` is trained by an objective of this suite, in whatever trainer trains it.

    bench.attach(model, "histalign", tokenizer)
    Trainer(model, ...).train()  # or TRL, Accelerate, a plain loop

The model gets a subclass of its own class. With labels, `forward` returns the objective's loss in training mode, and
the negative log-likelihood under its distribution in evaluation mode. `generate` uses this distribution. The model
keeps its name, its parameters and `save_pretrained`; those of the objective are in its submodule `objective_state`.

Shapes: B rows, T tokens of a row, N new tokens of a generation step, V vocabulary, D width of a state.
"""

import inspect
import warnings
from collections.abc import Iterable, Mapping
from functools import cache, partial, wraps
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad
from torch.optim.optimizer import register_optimizer_step_pre_hook

from bench.base.lightning import use_lightning
from bench.base.seeds import seed_of, seed_torch
from bench.cells.build import check_exact, continued
from bench.cells.make import name_of
from bench.config.resolve import find_method
from bench.decodings.core.decoding import Decoding
from bench.decodings.samplers import Sample
from bench.decodings.searches import Greedy
from bench.errors import UsageError
from bench.generation.row_cache import RowCache, new_cache
from bench.models import METHODS
from bench.models.backbones.backbone import Backbone, Batch, Step, decoder_inputs
from bench.models.backbones.causal import Causal, positions
from bench.models.backbones.encoder_decoder import EncoderDecoder
from bench.models.backbones.library_inputs import OLD, library_keyword
from bench.models.core.head import sum_dtype
from bench.models.core.objective import Objective
from bench.models.core.run_context import RunContext
from bench.models.core.states import IGNORED, slices
from bench.models.mle import MLE

KEY = "_bench_attached"
FLOOR = -1e4  # a log-probability whose probability is 0 in float32
STATE = "objective_state"
"""Submodule of a model that holds the objective's own parameters and buffers, so that checkpoints have them."""

PREDICTS = ("logits", "log_probs", "decode_log_probs")
"""Methods of an objective that decide what it predicts."""

IGNORED_ARGUMENTS = ("use_cache", "return_dict", "logits_to_keep", "decoder_attention_mask", "skip_logits")
"""Arguments of `forward` that have no effect on a loss."""
READ_ARGUMENTS = ("input_ids", "attention_mask", "labels", "position_ids", "decoder_input_ids", "num_items_in_batch")


class OwnState(nn.Module):
    """The objective's own parameters, buffers and modules, as a part of the model: the very same dictionaries."""

    def __init__(self, objective: Objective) -> None:
        super().__init__()
        self._parameters, self._buffers = objective._parameters, objective._buffers
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))  # of the optimiser so far
        for name, module in objective.named_children():
            if name != "backbone":
                self.add_module(name, module)
        self.trained = [name for name, parameter in self.named_parameters() if parameter.requires_grad]

    def give_to(self, objective: Objective) -> None:
        """Let the objective read this state, which may be the copy that peft trains in place of its own."""
        objective._parameters, objective._buffers = self._parameters, self._buffers
        objective._modules.update(self._modules)
        for name, parameter in self.named_parameters():
            parameter.requires_grad &= name in self.trained


class Attached:
    """What a model knows of its objective and its own class. It is no module, because the objective holds the model."""

    def __init__(self, objective: Objective, kind: Any) -> None:
        self.objective, self.kind = objective, kind
        self.inside = False  # whether the objective itself runs the model
        self.frozen: list[nn.Parameter] = []  # parameters that it does not train, such as a head that it replaces
        self.hook: Any = None  # by which `guard` is called
        self.passes = 0  # training passes since the last step of the optimiser, of objectives that count steps
        self.went_back = True  # whether the last of them has had its backward pass
        self.saved: Any = None  # a configuration of peft with the modules that it saved before
        self.source: Tensor | None = None  # [B, S] that `generate` of an encoder-decoder has read
        self.decoding: Decoding | None = None  # of `generate`, while it runs

    def guard(self, body: nn.Module, arguments: tuple[Any, ...]) -> None:
        """Refuse a training pass that bypasses the objective, by a UsageError; called before the model's body runs."""
        if body.training and torch.is_grad_enabled() and not self.inside:
            raise UsageError(
                f"'{self.objective.name}' is attached to this model, and a training pass bypasses it: expected "
                f"model(..., labels=...). Options of trainers that compute a loss of their own do this "
                f"(use_liger_kernel, label_smoothing_factor, compute_loss_func, TRL's own loss): switch them off, or "
                f"call bench.detach(model) and train with bench.trainer_for(YourTrainer, '{self.objective.name}')"
            )

    def __enter__(self) -> None:
        self.inside = True

    def __exit__(self, *_: object) -> None:
        self.inside = False


def attach(
    model: Any,
    method: str | type[Objective] = "mle",
    tokenizer: Any = None,
    *,
    reference: Any = None,
    token_counts: Tensor | None = None,
    batches: Iterable[Any] | None = None,
    seed: int = 0,
    max_target: int = 64,
    **options: Any,
) -> Any:
    """Let a model be trained by an objective, wherever it is trained; return the model.

    In training mode `model(..., labels=...)` returns the objective's loss: the mean over the target tokens of the
    batch, or their sum divided by `num_items_in_batch`. It is computed in slices of positions, as in `bench run`. In
    evaluation mode the loss is the negative log-likelihood under the method's own distribution, in nats per target
    token, which may be compared between methods; the softmax of the logits is that distribution. A training pass that
    bypasses the objective raises an error.

    Args:
        model: a causal or an encoder-decoder model of `transformers`, or a model of `peft` around one. A method that
            starts from a trained model starts from this one's weights.
        method: a name of `bench list methods`, such as `histalign.released`; `file.py:Class`, or a class.
        tokenizer: the model's, where a loss of your own needs it, or its end token is not in the model's configuration.
        reference: the frozen model that a method such as `asft` compares with, e.g. `copy.deepcopy(model)`; of the
            same vocabulary.
        token_counts: [V] how often each token is a target of the training data, for methods that ask for it.
        batches: a few batches of training data, to which the new weights of a method such as `f2softmax` are fitted, so
            that it starts from what the model predicts; `()` to begin with random ones.
        seed: of what the method draws, its own initial weights among them.
        max_target: longest text that a method writes while it is trained.
        options: of the method, as after `--set method.`.

    Raises:
        UsageError: the method or an option is unknown, something that the method needs is missing, the method cannot
            be trained this way, or the states of the model are not those of its own logits.
    """
    inner = inner_model(model)
    refuse_model(inner)
    use_lightning()
    method = name_of(method, "method")
    found = find_method(method)
    if reason := why_not(found):
        raise UsageError(f"'{method}' cannot be attached to a model: {reason}")
    backbone = backbone_of(inner, tokenizer)
    check_exact(backbone, type(inner).__name__)
    with torch.random.fork_rng(devices=[]):
        seed_torch(seed_of(seed, "method"))
        objective = found.objective(backbone, **options)
    check_given(objective, method, inner, reference, token_counts)
    counts = None if token_counts is None else torch.as_tensor(token_counts)
    context = RunContext(
        seed=seed,
        max_target=max_target,
        token_counts=None if counts is None else partial(torch.as_tensor, counts),
        continue_prompts=partial(continued, objective),
        reference=None if reference is None else MLE(backbone_of(inner_model(reference), tokenizer)),
    )
    objective.setup_run(context)
    trained = [parameter for parameter in inner.parameters() if parameter.requires_grad]
    try:
        fit_own_weights(objective, method, counts, batches, seed)
    except BaseException:
        for parameter in trained:
            parameter.requires_grad_(True)
        raise
    attached = Attached(objective, type(inner))
    attached.frozen = [parameter for parameter in trained if not parameter.requires_grad]
    state = OwnState(objective).to(inner.device)
    for parameter in state.parameters():
        parameter.data = parameter.data.to(inner.dtype)
    body = backbone.body if isinstance(backbone, Causal) else inner.get_decoder()
    attached.hook = body.register_forward_pre_hook(attached.guard)
    if state.trained and hasattr(model, "get_base_model"):  # adapters are saved with the modules that they name alone
        from peft.utils import ModulesToSaveWrapper

        config = model.peft_config[model.active_adapter]
        attached.saved = config, config.modules_to_save
        config.modules_to_save = [*(config.modules_to_save or ()), STATE]
        state = ModulesToSaveWrapper(state, model.active_adapter)
    inner.add_module(STATE, state)
    inner.__dict__[KEY] = attached
    inner.__class__ = attached_class(attached.kind)
    return model


def refuse_model(model: Any) -> None:
    """Refuse a model whose loss or weights another library has replaced already.

    Raises:
        UsageError: naming whose, and what to do.
    """
    if not isinstance(model, nn.Module):
        raise UsageError(f"expected a loaded model, got {model!r:.60}; load it with its class's from_pretrained")
    if KEY in model.__dict__:
        raise UsageError(f"'{attached_to(model).objective.name}' is attached already; call bench.detach(model) first")
    if any(hasattr(parameter, "ds_id") for parameter in model.parameters()):
        raise UsageError("expected whole parameters, found some that DeepSpeed's ZeRO-3 has split; use FSDP2")
    if "forward" in model.__dict__:
        raise UsageError("this model's forward was replaced: attach before a library such as accelerate prepares it")
    if getattr(getattr(model, "config", None), "output_router_logits", False):
        raise UsageError("the loss of a router of experts would be left out: set config.output_router_logits=False")


def fit_own_weights(
    objective: Objective, method: str, counts: Tensor | None, batches: Iterable[Any] | None, seed: int
) -> None:
    """Make the parameters of the objective and fit them to the predictions of the model.

    Raises:
        UsageError: the objective has parameters to fit, and `batches` is None.
    """
    if counts is not None:
        with torch.random.fork_rng(devices=[]):
            seed_torch(seed_of(seed, "weights"))
            objective.prepare(counts.cpu())
    if batches is None and objective.own_parameters() and type(objective).warm_start is not Objective.warm_start:
        raise UsageError(
            f"'{method}' has weights of its own, which are to be fitted to what the model predicts: pass "
            f"batches=[...], a few batches of training data, or batches=() to begin with random ones"
        )
    if batches or not objective.own_parameters():  # such as a copy of the embedding, which needs no batches
        objective.warm_start(batches or ())


def detach(model: Any) -> Any:
    """Undo `attach`: the model has its own class and loss again, with the weights that it has now; return it.

    Warns where the method has predicted by other weights than the model's head, which was not trained then.

    Raises:
        UsageError: nothing is attached.
    """
    inner = inner_model(model)
    attached = attached_to(inner)
    if getattr(inner, STATE).trained and not predicts_by_head(attached.objective):
        warnings.warn(
            f"'{attached.objective.name}' predicts by weights of its own, which detach removes; the model's own head "
            f"was not trained",
            stacklevel=2,
        )
    if type(inner) is not attached_class(attached.kind):
        raise UsageError("another library has changed the class of this model since; detach before it does, or save it")
    attached.hook.remove()
    for parameter in attached.frozen:
        parameter.requires_grad_(True)
    if attached.saved:
        config, config.modules_to_save = attached.saved
    delattr(inner, STATE)
    del inner.__dict__[KEY]
    inner.__class__ = attached.kind
    return model


def check_given(objective: Objective, method: str, model: Any, reference: Any, token_counts: Tensor | None) -> None:
    """Refuse a missing argument that the method needs, and a given one that it does not read.

    Raises:
        UsageError: naming the argument.
    """
    for name, is_read, given, what in (
        ("reference", objective.reference, reference, "a frozen model, copy.deepcopy(model)"),
        ("token_counts", objective.uses_token_counts, token_counts, "[V], how often each token is a target"),
    ):
        if bool(is_read) != (given is not None):
            fault = f"needs {name}={what}" if is_read else f"does not use {name}: leave it out"
            raise UsageError(f"'{method}' {fault}")
    if reference is not None:
        other = inner_model(reference)
        if not hasattr(other, "get_output_embeddings"):
            raise UsageError(f"expected reference=MODEL, a model of transformers, got {type(reference).__name__}")
        if other is model:
            raise UsageError("the reference model is frozen, and the model is to be trained: give copy.deepcopy(model)")
        sizes = [each.get_output_embeddings().weight.shape[0] for each in (model, other)]
        if sizes[0] != sizes[1]:
            raise UsageError(f"expected a reference model of {sizes[0]} tokens, got one of {sizes[1]}")


def attached_to(model: Any) -> Attached:
    """Return what is attached to a model of `transformers`; raise a UsageError where nothing is."""
    if KEY not in model.__dict__:
        raise UsageError(f"nothing is attached to this {type(model).__name__}: call bench.attach(model, METHOD) first")
    attached: Attached = model.__dict__[KEY]
    return attached


def inner_model(model: Any) -> Any:
    """Return the model of `transformers` itself, without the adapters of `peft` around it."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def why_not(method: Any) -> str:
    """Return why a method cannot be attached, or nothing."""
    baseline = method.base in METHODS and METHODS[method.base].baseline
    if baseline or method.only_reads or method.untrained or method.chooses_after_training:
        return "it trains no weights by a loss; evaluate it with bench run"
    if method.own_backbone:
        return f"it has a model of its own ({method.own_backbone}); train it with bench run"
    return ""


# The backbone ---------------------------------------------------------------------------------------------------------


def backbone_of(model: Any, tokenizer: Any) -> Backbone:
    """Return a model as states and a head.

    Raises:
        UsageError: it is no language model of `transformers`.
    """
    config = getattr(model, "config", None)
    if config is None or not hasattr(model, "get_output_embeddings") or model.get_output_embeddings() is None:
        raise UsageError(f"expected a language model of transformers with a head, got {type(model).__name__}")
    return (EncoderDecoder if config.is_encoder_decoder else Causal)(model, tokenizer)


# The forward ----------------------------------------------------------------------------------------------------------


def new_attached(kind: Any) -> Any:
    """Return an attached model without content, of which `pickle` and `copy` make a model."""
    return nn.Module.__new__(attached_class(kind))


@cache
def attached_class(kind: Any) -> Any:
    """Return a subclass of a model's class whose `forward` goes through the objective; it has the same name."""
    from transformers.utils.generic import can_return_tuple

    own_forward = kind.forward
    signature = inspect.signature(own_forward)

    @wraps(own_forward)
    def forward(self: Any, *values: Any, **named: Any) -> Any:
        attached: Attached | None = self.__dict__.get(KEY)
        if attached is None:
            return own_forward(self, *values, **named)
        objective = attached.objective
        if objective.backbone.model is not self:
            raise UsageError(
                f"'{objective.name}' is attached to another copy of this model, such as torch.nn.DataParallel "
                f"makes: start one process for each GPU (torchrun or accelerate launch), or let the program see one "
                f"(CUDA_VISIBLE_DEVICES=0)"
            )
        signature.bind(self, *values, **named)  # refuses what the model does not take
        arguments = {**dict(zip(list(signature.parameters)[1:], values, strict=False)), **named}
        objective.training = self.training
        getattr(self, STATE).give_to(objective)
        if arguments.get("labels") is not None:
            return with_labels(self, attached, arguments)
        if predicts_by_head(objective) or (self.training and torch.is_grad_enabled()):  # there `guard` raises
            return own_forward(self, *values, **named)
        return without_labels(self, attached, arguments)

    @wraps(kind.generate)
    def generate(self: Any, inputs: Any = None, generation_config: Any = None, *rest: Any, **named: Any) -> Any:
        attached: Attached | None = self.__dict__.get(KEY)
        if attached is None or predicts_by_head(attached.objective):
            return kind.generate(self, inputs, generation_config, *rest, **named)

        def setting(name: str) -> Any:
            places = (generation_config, self.generation_config)
            found = [named.get(name), *(getattr(place, name, None) for place in places)]
            return next((value for value in found if value is not None), None)

        if (setting("num_beams") or 1) > 1:
            raise UsageError(f"'{attached.objective.name}' cannot use beam search: set num_beams=1")
        if setting("use_cache") is False:
            raise UsageError(f"'{attached.objective.name}' generates with the cache only: leave use_cache=False out")
        attached.source = named.get("input_ids") if inputs is None else inputs
        attached.decoding = Sample() if setting("do_sample") else Greedy()
        try:
            named = {library_keyword(): new_cache(self.config), **named}
            return kind.generate(self, inputs, generation_config, *rest, **named)
        finally:
            attached.source = attached.decoding = None

    untraced = torch.compiler.disable(can_return_tuple(forward))  # its slices depend on the data
    members = {"forward": untraced, "generate": generate, "__module__": kind.__module__}
    made: Any = type(kind.__name__, (kind,), members)
    made.__reduce_ex__ = lambda self, protocol: (new_attached, (kind,), self.__dict__)
    return made


def batch_of(arguments: Mapping[str, Any], model: Any, name: str) -> Batch:
    """Return the batch of a call.

    Raises:
        UsageError: an argument is given that the objective does not read, or that asks for other inputs than it makes.
    """
    for argument, value in arguments.items():
        if argument not in (*READ_ARGUMENTS, *IGNORED_ARGUMENTS) and value is not None and value is not False:
            raise UsageError(f"'{name}' reads {', '.join(READ_ARGUMENTS)}; got `{argument}` too: leave it out")
    ids = arguments.get("input_ids")
    if ids is None:
        raise UsageError(f"'{name}' needs `input_ids`")
    mask = arguments.get("attention_mask")
    if mask is None:
        mask = torch.ones_like(ids)
    if mask.shape != ids.shape:
        raise UsageError(f"expected an attention mask of {tuple(ids.shape)}, got {tuple(mask.shape)}")
    of_decoder = arguments.get("decoder_attention_mask")
    if bool((mask > 1).any()) or (of_decoder is not None and not bool((of_decoder > 0).all())):
        raise UsageError(f"'{name}' takes masks of 0 and 1, and none of the decoder: switch packing off")
    given = arguments.get("position_ids")
    if given is not None and not bool((given == positions(mask))[mask > 0].all()):
        raise UsageError(
            f"expected position_ids that count each row's tokens from 0, got others; '{name}' does not take packed "
            f"rows: switch packing off, or leave position_ids out"
        )
    labels, decoder_ids = arguments.get("labels"), arguments.get("decoder_input_ids")
    if model.config.is_encoder_decoder:
        if labels is None:
            raise UsageError(f"'{name}' predicts with source and target: give labels, or call model.generate")
        if decoder_ids is not None and not torch.equal(decoder_ids, decoder_inputs(labels, model.config)):
            raise UsageError("expected decoder_input_ids that are the labels moved right by one; leave them out")
    elif labels is None:
        labels = torch.full_like(ids, IGNORED)
    elif labels.shape != ids.shape:
        raise UsageError(f"expected labels of {tuple(ids.shape)}, not shifted, got {tuple(labels.shape)}")
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def with_labels(model: Any, attached: Attached, arguments: Mapping[str, Any]) -> Any:
    """Return the loss of the objective in training, the method's own negative log-likelihood in evaluation."""
    batch, n_items = batch_of(arguments, model, attached.objective.name), arguments.get("num_items_in_batch")
    targets, logits = batch["labels"], None  # [B, T]
    if not model.config.is_encoder_decoder:  # each token is the target of the position before it
        targets = pad(targets[:, 1:], (0, 1), value=IGNORED)
    with attached, torch.set_grad_enabled(model.training and torch.is_grad_enabled()):
        if model.training:
            total, n_tokens = training_loss(model, attached, batch, targets, n_items)
        else:
            logits = predicted(attached.objective, batch)
            rows = zip(logits.to(sum_dtype(logits)), targets, strict=True)
            total = torch.stack([cross_entropy(row, wanted, reduction="sum") for row, wanted in rows]).sum()
            n_tokens = (targets != IGNORED).sum().clamp(min=1)
    if n_items is not None:
        n_tokens = torch.as_tensor(n_items).clamp(min=1)  # 0 in a step whose rows have no target
    return output_of(model, loss=total / n_tokens, logits=logits)


def training_loss(model: Any, attached: Attached, batch: Batch, targets: Tensor, n_items: Any) -> tuple[Tensor, Tensor]:
    """Return the summed loss of a batch and its number of target tokens, at least 1."""
    objective = attached.objective
    if not all(objective.get_parameter(name).requires_grad for name in getattr(model, STATE).trained):
        raise UsageError(
            f"the parameters of '{objective.name}' itself were frozen since it was attached, as peft does; give "
            f"modules_to_save=['{STATE}'] to its configuration, or attach after get_peft_model"
        )
    writes_texts = objective.writes_texts
    if writes_texts or type(objective).end_of_step is not Objective.end_of_step:
        MODELS_WITH_STEP_HOOK.add(model)
        n_tokens = int((targets != IGNORED).sum())
        has_gradients = any(parameter.grad is not None for parameter in model.parameters())
        several = attached.passes and (has_gradients or not attached.went_back)
        several = several or (n_items is not None and int(n_items) != n_tokens)
        attached.passes += torch.is_grad_enabled()
        if writes_texts and several and torch.is_grad_enabled():
            raise UsageError(
                f"'{objective.name}' writes texts for a whole step: set gradient_accumulation_steps=1 and, on several "
                f"processes, average_tokens_across_devices=False, because otherwise num_items_in_batch counts the "
                f"tokens of all processes; after a pass without a step call optimizer.zero_grad(set_to_none=True)"
            )
        step = int(getattr(model, STATE).steps)
        batch = {**batch, "step": step, "step_tokens": max(n_tokens, 1), "step_rows": len(targets)}
    loss = objective.step_loss(batch)
    if writes_texts:  # whose tokens are not among the targets of the batch
        if loss.total.requires_grad:
            attached.went_back = False
            loss.total.register_hook(lambda _: setattr(attached, "went_back", True))
        return loss.total, loss.total.new_tensor(batch["step_tokens"])
    return loss.total, loss.n_target_tokens.clamp(min=1)


def predicted(objective: Objective, batch: Batch) -> Tensor:
    """Return what the method predicts at every position, [B, T, V]: logits of the head, or else log-probabilities."""
    backbone = objective.backbone
    if isinstance(backbone, Causal):
        hidden = backbone.hidden(batch)
        longer: Batch = {  # by one position, which no other reads: the states of all T tokens
            "input_ids": pad(batch["input_ids"], (0, 1)),
            "attention_mask": pad(batch["attention_mask"], (0, 1), value=1),
            "labels": torch.zeros_like(pad(batch["labels"], (0, 1))),
        }
        states = backbone.states_of(pad(hidden, (0, 0, 0, 1)), longer)
    else:
        padding = backbone.model.config.pad_token_id or 0
        every: Batch = {**batch, "labels": batch["labels"].masked_fill(batch["labels"] == IGNORED, padding)}
        states = objective.states(every)
    if predicts_by_head(objective):
        return backbone.head(states.hidden)
    found = [objective.log_probs(tokens) for tokens in slices(states, objective.slice_size)]
    return torch.cat(found).view(*states.targets.shape, -1)


def without_labels(model: Any, attached: Attached, arguments: Mapping[str, Any]) -> Any:
    """Return the method's log-probabilities: of all positions or, with a cache, of the last one."""
    objective = attached.objective
    cache = arguments.get(library_keyword(), arguments.get(OLD))
    if cache is None:
        logits, filled = predicted(objective, batch_of(arguments, model, objective.name)), {}
        if arguments.get("use_cache") and not model.config.is_encoder_decoder:
            filled = {library_keyword(): new_cache(model.config)}  # a loop over tokens gives it back with the next one
            objective.backbone.extend(step_of(model, attached, arguments, *filled.values()))
        return output_of(model, logits=logits, **filled)
    memory = getattr(cache, "self_attention_cache", cache)
    if not isinstance(memory, RowCache):
        raise UsageError(
            f"'{objective.name}' keeps its memory in a cache of its own; leave {library_keyword()} out, or begin with "
            f"bench.generation.row_cache.new_cache(model.config)"
        )
    tokens = objective.backbone.extend(step_of(model, attached, arguments, cache))
    if attached.decoding is None:
        log_probs = objective.log_probs(tokens)
    else:  # a finite floor has the probability 0 too, and is left where `generate` blocks every other token
        log_probs = objective.decode_log_probs(tokens, attached.decoding).clamp_min(FLOOR)
    return output_of(model, logits=log_probs[:, None], **{library_keyword(): cache})


def step_of(model: Any, attached: Attached, arguments: Mapping[str, Any], cache: Any) -> Step:
    """Return a step of generation: the new tokens, [B, N], and the mask of all so far."""
    mask = arguments.get("attention_mask")
    if not model.config.is_encoder_decoder:
        ids = arguments["input_ids"]
        places = None if mask is None else positions(mask)[:, -ids.shape[1] :]
        return Step(ids=ids, cache=cache, mask=mask, positions=places)
    ids, source = arguments["decoder_input_ids"], attached.source
    if source is None:
        raise UsageError(f"'{attached.objective.name}' reads the tokens of the source: call model.generate(input_ids)")
    source = source.repeat_interleave(len(ids) // len(source), dim=0)  # of several texts for a source
    if mask is None:
        mask = torch.ones_like(source)
    return Step(ids=ids, cache=cache, mask=mask, source=source, encoded=arguments["encoder_outputs"])


def predicts_by_head(objective: Objective) -> bool:
    """Whether the method's distribution is the softmax of the model's head, so that the model's forward can be used."""
    redefined = [name for name in PREDICTS if getattr(type(objective), name) is not getattr(Objective, name)]
    return not redefined and not objective.reads_cache


def output_of(model: Any, **fields: Any) -> Any:
    """Return the output as the library has it."""
    from transformers.modeling_outputs import CausalLMOutputWithPast, Seq2SeqLMOutput

    return (Seq2SeqLMOutput if model.config.is_encoder_decoder else CausalLMOutputWithPast)(**fields)


# Steps of the optimiser -----------------------------------------------------------------------------------------------

MODELS_WITH_STEP_HOOK: WeakSet[Any] = WeakSet()
"""Models in training whose objective counts steps."""


def before_step(optimizer: Any, *_: Any) -> None:
    """Call `end_of_step` of the objectives whose parameters an optimiser is about to change, and count the step."""
    held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    for model in list(MODELS_WITH_STEP_HOOK):
        attached: Attached | None = model.__dict__.get(KEY)
        if attached and attached.passes and any(id(parameter) in held for parameter in model.parameters()):
            attached.objective.end_of_step(summed_over_ranks)
            attached.passes = 0
            getattr(model, STATE).steps.add_(1)


def summed_over_ranks(tensor: Tensor) -> Tensor:
    """Return the sum of a tensor over all processes."""
    if torch.distributed.is_initialized():
        torch.distributed.all_reduce(tensor)
    return tensor


register_optimizer_step_pre_hook(before_step)
