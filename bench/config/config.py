"""Configuration of a run: frozen and typed, resolved once, and stored with every default next to the results."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from bench.base.options import OMIT_IF_DEFAULT, Amount, Positive, Range, Share, omit_defaults, read_options
from bench.base.registry import Resolved
from bench.decodings.core.decoding import Decoding
from bench.errors import UsageError, did_you_mean

PAPER = "paper"
Preset = Literal["small", "mid", "paper"]
PRESETS = get_args(Preset)
SECTIONS = ("task", "method", "backbone", "trainer", "evaluation", "execution")
ALIASES = {
    "task.eval_rows": "evaluation.rows",
    "task.eval_split": "evaluation.split",
    **{f"optim.{name}": f"trainer.{name}" for name in ("lr", "warmup", "schedule", "weight_decay", "clip")},
}
"""Names that settings had before, which stored searches and older commands still use."""
NLL = "nll"
"""Negative log-likelihood per target token under the method's own distribution, by which all methods are selected."""

VALIDATED = (NLL, "ppl", "loss")
"""Columns that every validation has; of each, lower is better. `loss` is the method's own, maybe with penalties."""


def steps_of(epochs: float, rows: int, batch_size: int) -> int:
    """Return optimiser steps of so many epochs: at least one, and 0 for no epochs.

    >>> steps_of(0.5, 100, 10), steps_of(0.001, 100, 10), steps_of(0, 100, 10)
    (5, 1, 0)
    """
    if not epochs:
        return 0
    return max(1, round(epochs * rows / batch_size))


@dataclass(frozen=True)
class TrainerConfig:
    """How a run is trained. All of it is in the run's key.

    Args:
        steps: optimiser steps; 0 means `epochs` decides.
        epochs: passes over the training rows, when `steps` is 0; 0 to read weights as they are given (zero-shot).
        batch_size: rows of one optimiser step, over all ranks and micro-batches.
        lr: highest learning rate of AdamW.
        warmup: share of the steps, 0 to 1, in which the learning rate rises to `lr`.
        schedule: after the warm-up, `linear` decay to zero, `constant`, or `steps`: times `decay` each `decay_epochs`.
        weight_decay: of AdamW, on tensors of two dimensions or more: vectors (biases, gains of normalisation) do not
            decay.
        clip: largest norm of a step's gradient; 0 for no bound.
        precision: of the computation, in the words of Lightning.
        float32_products: of float32 matrices while training; `high` lets a GPU use TF32, with 10 bits of each factor.
        max_source: most source tokens.
        max_target: most target tokens, and most new tokens when decoding.
        limit: rows kept of each split, for debugging; keeps a result out of leaderboards.
        validate: epochs from one validation to the next; 0 for none.
        validate_rows: rows of the validation split that are read, chosen by id; None for all.
        watch: metric families, with commas, that score texts written for the validation split.
        select: keep the step that is best by this column of the validation: `nll`, the same for all methods; or `ppl`,
            `loss` (a method's own, with its penalties), or one of `watch`. Empty keeps the last step.
        patience: end after so many validations without a better one, by `nll` unless `select` says otherwise; 0 for
            never.
        decay: what the schedule `steps` multiplies the learning rate with.
        decay_epochs: epochs from one such decay to the next.
    """

    steps: Annotated[int, Range(0)] = 0
    epochs: Amount = 0.0
    batch_size: Positive = 32
    lr: Amount = 1e-3
    warmup: Share = 0.0
    schedule: Literal["linear", "constant", "steps"] = "linear"
    weight_decay: Amount = 0.0
    clip: Amount = 1.0
    precision: Literal["32-true", "bf16-mixed", "16-mixed", "64-true"] = "32-true"
    max_source: Positive = 256
    max_target: Positive = 64
    limit: Positive | None = None
    validate: Annotated[Amount, OMIT_IF_DEFAULT] = 0.0
    validate_rows: Annotated[Positive | None, OMIT_IF_DEFAULT] = None
    watch: Annotated[str, OMIT_IF_DEFAULT] = ""
    select: Annotated[str, OMIT_IF_DEFAULT] = ""
    patience: Annotated[int, Range(0), OMIT_IF_DEFAULT] = 0
    decay: Annotated[Amount, OMIT_IF_DEFAULT] = 1.0
    decay_epochs: Annotated[Amount, OMIT_IF_DEFAULT] = 0.0
    float32_products: Annotated[Literal["highest", "high"], OMIT_IF_DEFAULT] = "highest"

    def __post_init__(self) -> None:
        if self.patience and not self.select:
            object.__setattr__(self, "select", NLL)

    def n_steps(self, rows: int) -> int:
        """Optimiser steps for a training split of so many rows; 0 for no training."""
        return self.steps or steps_of(self.epochs, rows, self.batch_size)

    def validation_interval(self, rows: int) -> int:
        """Optimiser steps from one validation to the next, 0 for no validation."""
        return steps_of(self.validate, rows, self.batch_size)

    def content(self) -> dict[str, Any]:
        """Return plain content for keys and records."""
        return omit_defaults(TrainerConfig, asdict(self))


@dataclass(frozen=True)
class EvaluationConfig:
    """What is evaluated. In the key of the rows, never in the key of the training.

    Args:
        split: which split.
        rows: a declared subset, chosen by id; None for all.
        batch_size: rows of one evaluation batch; it decides the last bits, and by them a few sampled texts, so it is in
            the keys of rows.
        spectrum_rows: rows whose log-probability matrix the rank is taken of.
        sampling_seeds: seeds, with commas, that sampled texts are written with, each once by the same trained model;
            empty for one, the seed of the training.
    """

    split: Literal["valid", "test"] = "test"
    rows: Positive | None = None
    batch_size: Positive = 32
    spectrum_rows: Positive = 500
    sampling_seeds: Annotated[str, OMIT_IF_DEFAULT] = ""

    def __post_init__(self) -> None:
        seeds = self.sampling_seeds.split(",") if self.sampling_seeds else []
        are_seeds = all(seed.strip().isdecimal() and len(seed) < 20 for seed in seeds)
        if not are_seeds or len(set(map(int, seeds))) < len(seeds):
            raise UsageError(
                f"evaluation.sampling_seeds (--sampling-seeds) are different whole numbers with commas, such as 0,1,2; "
                f"not '{self.sampling_seeds}'"
            )

    def seeds_of_texts(self, seed: int) -> list[int]:
        """Return the seeds that sampled texts are written with, given the seed of the training."""
        return [int(text) for text in self.sampling_seeds.split(",")] if self.sampling_seeds else [seed]


@dataclass(frozen=True)
class ExecutionConfig:
    """The section `execution`: how fast a run is, and with how much memory. None of it is in a key.

    Settings that most runs choose have options on the command line instead, such as `--jobs`.

    Args:
        activation_checkpointing: compute activations again in the backward pass: less memory, a second forward pass.
        deterministic: use only algorithms that give the same bits each time, where torch has them: slower on a GPU.
        state_every: seconds from one saved state of a training to the next; 0 saves one after each step.
        log_dir: the folder of loggers that write files.
    """

    activation_checkpointing: bool = False
    deterministic: bool = False
    state_every: Amount = 300.0
    log_dir: str = "logs"


@dataclass(frozen=True)
class CellConfig:
    """One run of the matrix, every default written out.

    Args:
        plugins: `task` and `backbone`, where they are plug-ins. Their code is in the key and in the record; the text
            that was typed may name a folder of this machine, and is in neither.
    """

    task: str
    method: str
    backbone: str
    seed: int
    preset: str
    trainer: TrainerConfig
    evaluation: EvaluationConfig
    decodings: tuple[Decoding, ...]
    task_options: Mapping[str, Any] = field(default_factory=dict)
    method_options: Mapping[str, Any] = field(default_factory=dict)
    backbone_options: Mapping[str, Any] = field(default_factory=dict)
    plugins: Mapping[str, Resolved] = field(default_factory=dict)

    def spec(self, part: str) -> str:
        """Return what to type to find its `task` or `backbone` again."""
        if part in self.plugins:
            return self.plugins[part].spec
        return str(getattr(self, part))

    def plugin_code(self) -> dict[str, dict[str, str]]:
        """Return class and hash of the source of each plug-in."""
        return {part: dict(plugin.code) for part, plugin in self.plugins.items()}

    def as_dict(self) -> dict[str, Any]:
        """Return plain content, for keys and records."""
        content = asdict(replace(self, plugins={}))
        del content["plugins"]
        content["trainer"] = self.trainer.content()
        content["evaluation"] = omit_defaults(EvaluationConfig, content["evaluation"])
        content["decodings"] = [decoding.text for decoding in self.decodings]
        return content


@dataclass(frozen=True)
class Override:
    """One `section.name=value`, for everything or for one task, method or backbone only (`logicnlg:task.x=1`)."""

    scope: str | None
    section: str
    name: str
    value: Any


def override(key: str, value: Any) -> Override:
    """Read one override.

    Raises:
        UsageError: the key is not `section.name`, there is no such section, or it limits a setting of the whole run to
            one task, method or backbone.

    >>> override("histalign:method.alpha", "0.5")
    Override(scope='histalign', section='method', name='alpha', value='0.5')
    """
    scope, _, dotted = key.rpartition(":")
    dotted = ALIASES.get(dotted, dotted)
    section, _, name = dotted.partition(".")
    if not name:
        raise UsageError(f"'{key}' is not section.name; sections are {', '.join(SECTIONS)}")
    if section not in SECTIONS:
        raise UsageError(f"no section '{section}' in '{key}'{did_you_mean(section, SECTIONS)}")
    if scope and section == "execution":
        raise UsageError(f"execution settings hold for the whole run, not for '{scope}' alone: say {dotted}")
    return Override(scope or None, section, name, value)


def joined(name: str, value: Any) -> Any:
    """Return the items of a list as one text, with commas between them; any other value as it is.

    Raises:
        UsageError: an item has a comma in it.
    """
    if not isinstance(value, (list, tuple)):
        return value
    items = [str(item) for item in value]
    for item in items:
        if "," in item:
            raise UsageError(f"items of {name} are typed with commas between them, so none can hold one; got '{item}'")
    return ",".join(items)


def parse_sets(texts: Iterable[str]) -> list[Override]:
    """Read `--set key=value` arguments.

    Raises:
        UsageError: for a text without `=`, or with a key that is none.
    """
    overrides = []
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--set takes section.name=value, not '{text}'")
        overrides.append(override(key.strip(), value.strip()))
    return overrides


def config_file(
    *,
    task: Sequence[str] = (),
    method: Sequence[str] = (),
    seeds: Sequence[Annotated[int, Range(0)]] = (),
    decode: Sequence[str] = (),
    metrics: Sequence[str] = (),
    backbone: str = "",
    preset: str = "",
    set: Any = None,
) -> None:
    """What a configuration file may hold: its keys are the options of this function."""


def read_yaml(path: Path) -> dict[str, Any]:
    """Read a configuration file: the options of `config_file`, each once. The values of `set` stay text.

    Raises:
        UsageError: naming the file and what is wrong with it.
    """
    import yaml

    class Loader(yaml.BaseLoader):
        """Leaves every scalar as text (no, 012, 1e-4), and refuses a key that occurs twice."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            names = [key.value for key, _ in node.value]
            for name in names:
                if names.count(name) > 1:
                    raise UsageError(f"'{path}' has the key '{name}' twice")
            return super().construct_mapping(node, deep)

    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader)  # noqa: S506  it makes text, lists and mappings
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        mark, reason = getattr(error, "problem_mark", None), " ".join(str(error).split())
        if mark is not None:  # without the line itself, which may hold a secret
            reason = f"line {mark.line + 1}, column {mark.column + 1}: {getattr(error, 'problem', '')}"
        raise UsageError(f"cannot read the configuration '{path}': {reason}") from error
    if not isinstance(content, dict):
        raise UsageError(f"'{path}' should hold 'name: value' lines, not {type(content).__name__}")
    given = {name: value for name, value in content.items() if value != ""}
    read = read_options(config_file, given, f"'{path}'")
    sets = read["set"] or {}
    if not isinstance(sets, dict) or not all(isinstance(value, str) for value in sets.values()):
        raise UsageError(f"'set' in '{path}' should hold 'section.name: value' lines")
    return {**read, "set": sets}


def section_values(overrides: Iterable[Override], section: str, scopes: Iterable[str]) -> dict[str, Any]:
    """Return the values that overrides give a section; a scoped one wins over a general one, later over earlier."""
    scopes = set(scopes)
    mine = [o for o in overrides if o.section == section and (o.scope is None or o.scope in scopes)]
    return {o.name: o.value for o in sorted(mine, key=lambda o: o.scope is not None)}
