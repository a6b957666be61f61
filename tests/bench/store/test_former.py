"""Former records: what earlier versions stored is read as what this version stores, under the keys it always had."""

import json
from pathlib import Path

import pytest

from bench.base.registry import all_names
from bench.cells.required import rows_key_of
from bench.config.resolve import find_method
from bench.leaderboards.table import tables
from bench.metrics.likelihood.cache_accuracy import signature
from bench.metrics.sums import Sums, mean
from bench.models import METHODS
from bench.models.core.objective import Objective
from bench.store.former import former_method, present_record
from bench.store.snapshot import RUNS, TRAINED
from bench.store.store import CellFolder, Store
from bench.verify import trained_keys
from tests.bench.cells.plan.planned import cell, keys, plan
from tests.bench.own import FOCAL

ROOT = Path(__file__).parents[3]
GRID = ROOT / "leaderboards" / "runs" / "grid"
OLD = "ambiguous_template/histalign/0d94c43a66a07b69"


def as_stored(run: str) -> dict:
    """Return the record of a kept run as it was written."""
    from pyarrow import parquet

    table = parquet.read_table(GRID / RUNS, columns=["run", "record"]).to_pydict()
    return json.loads(dict(zip(table["run"], table["record"], strict=True))[run])["content"]


# HistAlign and label smoothing --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def template():
    """The kept table of Ambiguous Template."""
    (found,) = tables(Store(GRID), ["ambiguous_template"], "all")[0]
    return found


def test_a_kept_run_without_a_reduction_is_the_mean_over_pairs(template):
    stored = as_stored(OLD)
    assert (stored["method"]["version"], stored["config"]["method"]) == (2, "histalign")
    assert stored["config"]["method_options"]["reduction"] is None
    read = CellFolder(GRID / OLD, Store(GRID).files).trained()
    assert (read["method"]["version"], read["config"]["method"]) == (3, "histalign.mean")
    assert read["config"]["method_options"]["variant"] == "mean"
    assert read["key"] in trained_keys(read), "its key is what it was"
    (row,) = [row for row in template.rows if stored["key"] in row.keys]
    assert (row.method, len(row.seeds)) == ("histalign.mean", 8)


@pytest.mark.usefixtures("sample_data")
def test_a_run_of_today_finds_the_run_of_an_earlier_version(tmp_path):
    """The key of `histalign.mean` is that of version 2 without a reduction, and its folder is found."""
    found = plan(method="histalign.mean", results=str(tmp_path)).cells[0]
    options = {**found.config.method_options, "variant": "paper"}
    former = {"class": "histalign", "version": 2, "options": options}
    assert former_method({**found.method.code, "options": found.config.method_options}) == former
    stored = tmp_path / found.config.task / "histalign" / found.key / TRAINED
    assert found.folder.path.parent.name == "histalign.mean"
    stored.parent.mkdir(parents=True)
    stored.write_text("{}")
    assert plan(method="histalign.mean", results=str(tmp_path)).cells[0].folder.path == stored.parent
    assert plan(method="histalign", results=str(tmp_path)).cells[0].key != found.key


@pytest.mark.usefixtures("sample_data")
def test_what_trains_as_before_keeps_its_key(monkeypatch):
    from bench.models.histalign import HistAlign
    from bench.models.label_smoothing import LabelSmoothing

    same = [("method.variant=released", "histalign"), ("method.reduction=sum", "histalign"), ("", "label_smoothing")]
    moved = [("", "histalign"), ("", "label_smoothing.unigram")]

    def all_keys(asked):
        return [keys(*filter(None, [text]), method=method)[0] for text, method in asked]

    now = all_keys(same), all_keys(moved)
    monkeypatch.setattr(HistAlign, "version", 2)
    monkeypatch.setattr(LabelSmoothing, "version", 1)
    before = all_keys(same), all_keys(moved)
    assert now[0] == before[0]
    assert not set(now[1]) & set(before[1])


OPTIONS = {"alpha": 1.0, "base": None, "margin": 0.001, "rank_scope": None, "reduction": None, "variant": "paper"}


@pytest.mark.parametrize(
    ("kind", "version", "options"),
    [
        ("histalign", 1, OPTIONS),
        ("histalign", 2, OPTIONS),
        ("histalign", 2, {**OPTIONS, "reduction": "sum"}),
        ("histalign", 2, {**OPTIONS, "reduction": "pair_mean", "base": "trime"}),
        ("histalign", 2, {**OPTIONS, "variant": "released"}),
        ("label_smoothing", 1, {"eps": 0.1, "distribution": "others"}),
        ("label_smoothing", 1, {"eps": 0.1, "distribution": "unigram"}),
        ("mle", 2, {}),
    ],
)
def test_reading_changes_no_key(kind, version, options):
    """What a record of any version is read as has the key that it was stored under."""
    content = {"method": {"class": kind, "version": version}, "config": {"method": kind, "method_options": options}}
    read = present_record("trained", kind, content)
    one, other = ({**record["method"], "options": record["config"]["method_options"]} for record in (content, read))
    assert former_method(other) == one
    assert present_record("trained", kind, read) == read


# Full ---------------------------------------------------------------------------------------------------------------


def probe(folder: CellFolder, kind: str = "probe", **more) -> None:
    """Store a probe as an earlier version did: of two prompts the mixture finds one, the head both."""
    rows = [
        {"id": "a", "head": list(range(25)), "full": list(range(25)), "cache": [], "wanted": [[0], [1]]},
        {"id": "b", "head": list(range(25)), "full": list(range(2, 27)), "cache": [], "wanted": [[0], [1]]},
    ]
    folder.write_rows("aa", {"kind": kind, **more}, rows, {})
    found = {"head": [1, 1], "full": [1, 0], "cache": [0, 0]}
    sums = {f"acc@2/{mode}": Sums(mean(), [(hit, 1) for hit in hits]) for mode, hits in found.items()}
    values = [
        {"name": name, "value": column.value, "signature": signature(name.partition("/")[2], 2)}
        for name, column in sums.items()
    ]
    content = {"family": "cache_accuracy", "of": {"kind": kind, **more}, "rows": "aa", "values": values}
    folder.write_record("scores-bb.json", {**content, "items": folder.write_sums(sums)}, {})


@pytest.mark.parametrize(
    ("method", "full"),
    [("mle", 100.0), ("mle.penalty", 100.0), ("adadec.const", 100.0), ("trime.released", 50.0), ("histalign", 50.0),
     ("mle.cache", 50.0), ("mle.knn", 50.0)],
)  # fmt: skip
def test_full_of_a_method_without_a_cache_is_its_head(tmp_path, method, full):
    folder = Store(tmp_path).cell("ambiguous_template", method, "0a")
    probe(folder)
    values = {value["name"]: value["value"] for value in folder.content("scores-bb.json")["values"]}
    assert values == {"acc@2/head": 100.0, "acc@2/full": full, "acc@2/cache": 0.0}
    assert {name: sums.value for name, sums in folder.sums(folder.content("scores-bb.json")["items"]).items()} == values
    assert [row["full"] == row["head"] for row in folder.rows("aa").rows] == [True, full == 100.0]


def test_older_full_of_a_method_of_ones_own_is_no_number(tmp_path):
    """Nobody knows whether it has a cache; once it is evaluated again its record says so."""
    older, newer = (Store(tmp_path).cell("ambiguous_template", "focal", key) for key in ("0a", "0b"))
    probe(older)
    probe(newer, full="cache")
    values = {value["name"]: value for value in older.content("scores-bb.json")["values"]}
    assert values["acc@2/full"]["value"] is None
    assert values["acc@2/full"]["signature"].endswith(
        "needs a new evaluation, which bench run makes; full had another meaning"
    )
    assert values["acc@2/head"]["value"] == 100.0
    assert [value["value"] for value in newer.content("scores-bb.json")["values"]] == [100.0, 50.0, 0.0]


@pytest.mark.usefixtures("sample_data")
def test_only_probes_of_ones_own_methods_are_evaluated_again(own):
    own.write("my_losses", FOCAL)
    for method, changed in (("my_losses:Focal", {"probe"}), ("mle", set()), ("trime", set())):
        found = cell(method=method)
        other = {what.kind for what in found.evaluations.values() if what.full}
        assert other == changed
        assert all(rows_key_of(found.key, found.task, what) == key for key, what in found.evaluations.items())


@pytest.mark.parametrize("name", [name for name in all_names(METHODS) if not METHODS[name.partition(".")[0]].baseline])
def test_reading_knows_which_methods_have_a_cache(name):
    """A new method with a cache has to be named in `former.WITH_CACHE`, or its own numbers would be replaced."""
    kind = find_method(name).kind
    has_cache = kind.reads_cache or kind.components is not Objective.components
    value = {"name": "acc@2/full", "value": 1.0}
    content = {"family": "cache_accuracy", "values": [value, {"name": "acc@2/head", "value": 2.0}], "of": {}}
    read = present_record("scores", name, content)["values"][0]["value"]
    assert (read == 1.0) == has_cache
