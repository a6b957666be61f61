"""Plans of a few rows, for tests, and another value for every option."""

from bench.cells.plan import make_plan
from bench.cells.record import config_yaml
from bench.cli import parser
from bench.config.arguments import RunArguments, collect

AMBIGUOUS, TABLES = "ambiguous_template", "logicnlg"

TRAINER = {"steps": "7", "epochs": "0.5", "batch_size": "16", "lr": "0.5", "warmup": "0.5", "schedule": "constant",
           "weight_decay": "0.5", "clip": "0.5", "precision": "bf16-mixed", "max_source": "30", "max_target": "7",
           "limit": "7", "validate": "0.5", "validate_rows": "7", "watch": "table_bleu", "select": "ppl",
           "patience": "3", "decay": "0.5", "decay_epochs": "2.0", "float32_products": "high"}  # fmt: skip
HISTALIGN = {"variant": "released", "base": "trime", "reduction": "sum", "rank_scope": "sequence", "alpha": "0.5",
             "margin": "0.5"}  # fmt: skip
SMALL = {"vocabulary": "300", "width": "64", "layers": "1", "heads": "2", "context": "128", "dropout": "0.5",
         "embeddings": "frozen"}  # fmt: skip


def plan(*, task=AMBIGUOUS, method="mle", limit=8, preset="small", **others):
    return make_plan(RunArguments((task,), (method,), limit=limit, preset=preset, **others))


def cell(*sets, **others):
    (found,) = plan(sets=sets, **others).cells
    return found


def again(tmp_path, found, *more):
    """The runs that `--config` makes of the config.yaml of a run."""
    path = tmp_path / "config.yaml"
    path.write_text(config_yaml(found))
    return make_plan(collect(parser().parse_args(["run", "--config", str(path), *more]))).cells


def keys(*sets, **others):
    """A cell's trained key, and its rows keys by kind and decoding."""
    found = cell(*sets, **others)
    rows = {f"{e.kind} {e.decoding.text if e.decoding else ''}".strip(): k for k, e in found.evaluations.items()}
    return found.key, rows
