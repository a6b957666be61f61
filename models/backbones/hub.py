"""Pretrained backbones: a hub id, a local folder, or a model that `bench models get` converted."""

import hashlib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

import torch

from bench.base.files import kept_hash
from bench.base.machine import cache_root
from bench.base.network import hub_reachable, within
from bench.base.options import OMIT_IF_DEFAULT, Range, checked
from bench.base.seeds import seed_of, seed_torch
from bench.errors import DataError, MissingError
from bench.models.backbones import BACKBONES, find_backbone
from bench.models.backbones.backbone import Backbone, TextSource
from bench.models.backbones.lora import Lora, adapt, check_lora
from bench.models.backbones.pretrained import ANSWER_S, Pretrained, check_tensors, resolved
from bench.models.backbones.scratch import PUBLISHED, adapter_of, auto_class, published_config

MAIN = "main"
"""The branch that is taken where no revision is given."""

NO_SEARCH = {"local_files_only": True}
"""Where `peft` is installed, `transformers` looks for adapters in the repository of a model; not on the hub, where that
would take 12 s of retries if it is out of reach."""


@checked("a pretrained backbone", check_lora)
def hub(
    name: str,
    texts: TextSource,
    seed: int,
    *,
    path: str = "",
    revision: str = "main",
    freeze_embeddings: bool = False,
    lora_rank: Annotated[int, Range(0), OMIT_IF_DEFAULT] = 0,
    lora_alpha: Annotated[int, Range(1), OMIT_IF_DEFAULT] = 16,
    lora_dropout: Annotated[float, Range(0, below=1), OMIT_IF_DEFAULT] = 0.0,
    lora_targets: Annotated[str, OMIT_IF_DEFAULT] = "",
) -> Backbone:
    """Load a pretrained model and its tokenizer; the task's markers become tokens of their own.

    It is trained with the dropout of its configuration, as the papers' scripts do.

    Args:
        name: a name of `BACKBONES`, a hub id, or a folder.
        texts: the task.
        seed: of the vectors of markers and of adapters; all other weights are given.
        path: a local folder to use in place of the hub.
        revision: of the hub repository; `main` is the pinned one where the name has one.
        freeze_embeddings: keep token embeddings and head fixed, as HistAlign A.1 does.
        lora_rank: train adapters of this rank in place of the model (LoRA); 0 to train the model.
        lora_alpha: how much they count, divided by the rank.
        lora_dropout: rate, of their inputs.
        lora_targets: names of the layers that have some, with commas; empty for the projections of queries and values.

    Raises:
        MissingError: when neither folder, cache nor hub has it, or adapters are wanted and `peft` is not there.
        DataError: when a converted model is not the pinned one.
        UsageError: for options it cannot have.
    """
    place = path or location(name)
    if not path and name in BACKBONES and BACKBONES[name].converted:
        file = Path(place) / "model.safetensors"
        if not file.is_file():
            raise MissingError(f"backbone '{name}' is not on this machine; get it with: bench models get {name}")
        check_tensors(name, file)
    weights = resolved(place, revision_of(name, revision))
    try:
        model, tokenizer = _loaded(place, weights)
    except (OSError, ValueError) as error:
        raise MissingError(_unavailable(name, place, error)) from error
    seed_torch(seed_of(seed, "weights"))
    added = 0
    if texts.markers:
        added = tokenizer.add_tokens(list(texts.markers), special_tokens=True)
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    lora = Lora(lora_rank, lora_alpha, lora_dropout, lora_targets)
    backbone = _over(model, tokenizer, lora)
    backbone.pretrained, backbone.added_tokens = weights, added
    if freeze_embeddings:
        backbone.freeze_embeddings()
    return backbone


def _loaded(place: str, weights: Pretrained) -> tuple[Any, Any]:
    """Return the model and the tokenizer of a hub id or folder, as they were published.

    Raises:
        OSError: they are not there.
        ValueError: they are no language model.
    """
    from transformers import AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    config, options = _configuration(place, weights)
    tokenizer = AutoTokenizer.from_pretrained(place, **options)
    model, found = auto_class(config).from_pretrained(
        place, dtype=torch.float32, adapter_kwargs=NO_SEARCH, output_loading_info=True, **options
    )
    refuse_random_head(model, place, found["missing_keys"], found["unexpected_keys"])
    return model, tokenizer


def refuse_random_head(model: Any, place: str, missing: Collection[str], unexpected: Collection[str]) -> None:
    """Refuse weights in which the head is missing, since the library then makes a random one.

    Raises:
        DataError: it is missing, or the weights are of a model with an attached objective.
    """
    head = model.get_output_embeddings().weight
    names = {name for name, weight in model.named_parameters(remove_duplicate=False) if weight is head}
    if names and names <= set(missing):
        raise DataError(f"'{place}' has no weights of the head ({min(names)}): it is no language model")
    own = {name for name in unexpected if name.startswith("objective_state.")} - {"objective_state.steps"}
    if own:  # tensors, besides the counter
        raise DataError(
            f"'{place}' was saved with an objective that may predict by {min(own)}: load it with the objective "
            f"attached, call bench.detach(model) and save it again"
        )


def without_weights(name: str, words: Callable[[int], Any], markers: int, options: Mapping[str, Any]) -> Backbone:
    """Return a backbone for its sizes alone, from a configuration that is on this machine or in `PUBLISHED`.

    Args:
        name: as for `hub`.
        words: makes a tokenizer of so many tokens.
        markers: tokens that the task adds.
        options: of `hub`.

    Raises:
        MissingError: there is no such configuration.
    """
    from transformers import AutoConfig

    place = str(options.get("path", "")) or location(name)
    try:
        config = AutoConfig.from_pretrained(place, local_files_only=True)
    except (OSError, ValueError) as error:
        place = name if name in PUBLISHED else place
        if place not in PUBLISHED:
            raise MissingError(
                f"the sizes of '{place}' are not known: it is no folder, its configuration is not in the hub's cache, "
                f"and it is not in the table of models/backbones/scratch.py"
            ) from error
        config = published_config(place)
    model = auto_class(config).from_config(config, dtype=torch.float32)
    model.resize_token_embeddings(config.vocab_size + markers, mean_resizing=False)
    backbone = _over(model, words(config.vocab_size), Lora.of({"lora_rank": 0, **options}))
    if options.get("freeze_embeddings"):
        backbone.freeze_embeddings()
    return backbone


def _over(model: Any, tokenizer: Any, lora: Lora) -> Backbone:
    """Return the backbone over a model of `transformers`, with adapters where their rank is not 0."""
    adapted = None
    if lora.rank:
        adapted = adapt(model, lora)
    backbone = adapter_of(model)(model, tokenizer)
    model.train()  # the library gives it without dropout, and a trainer leaves it as it comes
    if adapted is not None:
        backbone.lora = adapted
        weights = backbone.named_parameters(remove_duplicate=False)
        backbone.frozen_weights = frozenset(name for name, weight in weights if not weight.requires_grad)
    return backbone


def architecture(name: str, path: str = "") -> str:
    """Return a backbone's architecture without building it.

    Raises:
        MissingError: when the configuration of a hub id or folder cannot be had.
    """
    known = str(find_backbone(name).value.architecture)
    if known and not path:
        return known
    place = path or location(name)
    try:
        config, _ = _configuration(place, resolved(place, revision_of(name)))
    except (OSError, ValueError) as error:
        raise MissingError(_unavailable(name, place, error)) from error
    return "encoder-decoder" if config.is_encoder_decoder else "decoder-only"


def revision_of(name: str, revision: str = MAIN) -> str:
    """Return the revision of a backbone: a given one, else the pinned one, else `main`."""
    if revision == MAIN and name in BACKBONES:
        return BACKBONES[name].revision or MAIN
    return revision


def _configuration(place: str, weights: Pretrained) -> tuple[Any, dict[str, Any]]:
    """Return a model's configuration and what `from_pretrained` is given for the rest: its revision.

    There is no network for a folder, nor where the hub is out of reach or hangs.
    """
    from transformers import AutoConfig

    local = {"local_files_only": True}
    if Path(place).is_dir():
        return AutoConfig.from_pretrained(place, **local), local
    options: dict[str, Any] = {"revision": weights.load_at}
    if not hub_reachable():
        options |= local
    try:
        return within(ANSWER_S, lambda: AutoConfig.from_pretrained(place, **options)), options
    except TimeoutError:
        options |= local
        return AutoConfig.from_pretrained(place, **options), options


def location(name: str) -> str:
    """Return the hub id or folder a backbone name stands for."""
    if name not in BACKBONES:
        return name
    if BACKBONES[name].converted:
        return str(cache_root() / "models" / name)
    return BACKBONES[name].hub


def identity(name: str, path: str, revision: str) -> dict[str, Any]:
    """Return what a pretrained model is, for a run's key: id and revision, or a hash of its files or tensors.

    The key names the revision of the settings, since a plan downloads nothing; the commit is in the record.

    The files of a folder enter by name and content; a process reads each once.
    """
    place = path or location(name)
    if not path and name in BACKBONES and BACKBONES[name].converted:
        return {"tensors_sha256": BACKBONES[name].tensors_sha256}
    if not Path(place).is_dir():
        return {"hub": place, "revision": revision_of(name, revision)}
    digest = hashlib.sha256()
    for file in sorted(Path(place).iterdir()):
        if file.is_file():
            digest.update(f"{file.name}:{kept_hash(file)}".encode())
    return {"folder_sha256": digest.hexdigest()}


def _unavailable(name: str, place: str, error: Exception) -> str:
    """Say that a pretrained model cannot be had, and what to do."""
    if Path(place).is_dir():
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        return (
            f"'{place}' has no model that can be read: {reason.rstrip('.')}. Give a folder that `save_pretrained` wrote"
        )
    how = f"Download it where there is a network (hf download {place})"
    if name in BACKBONES:
        how = f"Run `bench models get {name}`"
    return (
        f"backbone '{name}' ({place}) is neither a folder with a model nor in the hub cache, and the hub cannot give "
        f"it: {str(error).splitlines()[0]} {how}, or point at a folder with --set backbone.path=FOLDER"
    )
