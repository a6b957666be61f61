"""Sampling seeds: several samples of the texts of one training, in the keys of these texts and of nothing else."""

import pytest
import yaml

from bench.cells.plan import make_plan
from bench.cells.record import cell_of, config_yaml, job_of
from bench.cells.validation import validation_evaluation
from bench.cli import parser
from bench.config.arguments import RunArguments, collect
from bench.errors import UsageError
from bench.store.store import cells_below
from tests.bench.cells.plan.planned import TABLES, cell

pytestmark = pytest.mark.usefixtures("sample_data")

DECODE = "nucleus=0.9,greedy"
SAMPLED = "evaluation.sampling_seeds=0,1,42"


def texts(found, decoding):
    """The keys of the texts of a decoding, by what they are sampled with; None is the seed of the training."""
    every = found.evaluations.items()
    return {e.sampling_seed: key for key, e in every if e.decoding is not None and e.decoding.name == decoding}


def test_they_add_texts_and_move_no_key():
    plain, sampled = (cell(*sets, task=TABLES, decode=DECODE) for sets in ((), (SAMPLED,)))
    assert sampled.key == plain.key
    assert set(plain.evaluations) < set(sampled.evaluations)
    assert texts(sampled, "nucleus") == {**texts(plain, "nucleus"), **texts(sampled, "nucleus")}
    assert list(texts(sampled, "nucleus")) == [None, 1, 42]
    assert texts(sampled, "greedy") == texts(plain, "greedy")
    assert len(sampled.evaluations) == len(plain.evaluations) + 2


def test_the_seed_of_the_training_is_no_other_seed():
    plain, sampled = (cell(*sets, task=TABLES, decode=DECODE, seeds=(1,)) for sets in ((), (SAMPLED,)))
    assert list(texts(sampled, "nucleus")) == [0, None, 42]
    assert texts(sampled, "nucleus")[None] == texts(plain, "nucleus")[None]


def test_the_option_is_a_setting_that_config_and_workers_keep(tmp_path):
    typed = ["run", "--task", TABLES, "--method", "mle", "--limit", "8", "--decode", DECODE, "--no-controls"]
    arguments = collect(parser().parse_args([*typed, "--sampling-seeds", "0,1,42"]))
    (found,) = make_plan(arguments).cells
    assert found.evaluations == cell(SAMPLED, task=TABLES, decode=DECODE).evaluations
    assert yaml.safe_load(config_yaml(found))["set"]["evaluation.sampling_seeds"] == "0,1,42"
    assert "evaluation.sampling_seeds" not in yaml.safe_load(config_yaml(cell(task=TABLES)))["set"]
    assert cell_of(job_of(found, arguments)).evaluations == found.evaluations


def test_validation_writes_once():
    assert validation_evaluation(cell(SAMPLED, task=TABLES, decode=DECODE)).sampling_seed is None


@pytest.mark.parametrize("other", [{"decode": "sample"}, {"method": "mle.decoupled"}])
def test_validation_writes_by_the_decoding_of_the_recipe(other):  # no other is in the key of the training
    assert validation_evaluation(cell(task=TABLES, **other)) == validation_evaluation(cell(task=TABLES))


@pytest.mark.parametrize("seeds", ["0,0", "1,01", "a", "0,", "-1", "0.5", "9" * 5000])
def test_what_is_no_list_of_different_seeds_is_refused(seeds):
    with pytest.raises(UsageError, match="are different whole numbers with commas, such as 0,1,2; not"):
        make_plan(RunArguments((TABLES,), ("mle",), sets=(f"evaluation.sampling_seeds={seeds}",)))


def test_texts_of_another_sampling_seed_are_others_of_the_same_training(bench, tmp_path):
    tiny = ("trainer.steps=1", "backbone.width=16", "backbone.layers=1", "backbone.vocabulary=300", "evaluation.rows=4")
    run = ("run", "--task", "text", "--method", "mle", "--decode", "topk=20+max_new_tokens=8", "--no-controls")
    for seeds in ((), ("--sampling-seeds", "0,5")):
        assert bench(*run, *seeds, "--results", str(tmp_path), "--set", *tiny).code == 0
    (folder,) = (cell for cell in cells_below(tmp_path))
    contents = [folder.rows(name.removeprefix("rows-").removesuffix(".jsonl.gz")) for name in folder.names("rows-*")]
    written = {
        of.content.get("sampling_seed"): [row["text"] for row in of.rows] for of in contents if "text" in of.rows[0]
    }
    assert set(written) == {None, 5}
    assert written[None] != written[5]
