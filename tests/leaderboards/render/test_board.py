"""The board: the JSON of every leaderboard, as its schema says."""

import json
import math

import pytest

from bench.leaderboards.leaderboards import Leaderboards
from bench.leaderboards.render.board import board
from bench.leaderboards.table import table_ids, tables
from bench.store.store import Store
from tests.leaderboards import boards
from tests.leaderboards.handmade import leaderboards_of, manifest, ready, scored, trained
from tests.shipped import ROOT

KINDS = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool,
         "null": type(None)}  # fmt: skip
WORDS = {"type", "properties", "required", "additionalProperties", "items", "const", "minimum", "$ref", "description",
         "title", "$schema", "$defs"}  # fmt: skip


def wrongs(content, rule, root, where="board"):
    """What of a content a schema does not allow; the schema may use `WORDS` only."""
    assert set(rule) <= WORDS, set(rule) - WORDS
    if "$ref" in rule:
        return wrongs(content, root["$defs"][rule["$ref"].removeprefix("#/$defs/")], root, where)
    found = [f"{where}: not {rule['const']!r}"] if "const" in rule and content != rule["const"] else []
    kinds = rule.get("type", list(KINDS))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(isinstance(content, KINDS[k]) and (k == "boolean" or not isinstance(content, bool)) for k in kinds):
        return [*found, f"{where}: {type(content).__name__}, not {kinds}"]
    if isinstance(content, dict):
        known, more = rule.get("properties", {}), rule.get("additionalProperties", True)
        found += [f"{where}: lacks {name}" for name in rule.get("required", ()) if name not in content]
        for name, part in content.items():
            if name in known:
                found += wrongs(part, known[name], root, f"{where}.{name}")
            elif more is False:
                found.append(f"{where}: {name} is not known")
            elif isinstance(more, dict):
                found += wrongs(part, more, root, f"{where}.{name}")
    if isinstance(content, list):
        found += [w for i, one in enumerate(content) for w in wrongs(one, rule.get("items", {}), root, f"{where}[{i}]")]
    if isinstance(content, int | float) and not isinstance(content, bool) and content < rule.get("minimum", -math.inf):
        found.append(f"{where}: {content} is below {rule['minimum']}")
    return found


def fits(content):
    """Whether a board is JSON and what its schema says."""
    schema = json.loads((ROOT / "leaderboards" / "board.schema.json").read_text(encoding="utf-8"))
    return wrongs(json.loads(json.dumps(content, allow_nan=False)), schema, schema)


@pytest.fixture
def store(tmp_path):
    """Two methods, two seeds, and a control that reads a cell of one of them."""
    for seed in (0, 1):
        ready(tmp_path, "mle", seed, bleu=30.0 + seed)
        ready(tmp_path, "trime", seed, bleu=40.0)
    return Store(tmp_path)


# The content ------------------------------------------------------------------------------------------------------


def test_a_board_of_stored_cells_is_as_its_schema_says(store):
    made = board(leaderboards_of(store))
    assert fits(made) == []
    (table,) = made["tables"]
    assert (table["task"], table["rows"], table["preset"], table["watermark"]) == ("logicnlg", 3, "small", "")
    assert [row["method"] for row in table["methods"]] == ["trime", "mle"]
    mle = table["methods"][1]
    assert mle["values"]["bleu-1"] == {
        "text": "30.50", "interval": "", "fewer": "", "mean": 30.5, "half": None, "n_seeds": 2,
        "by_seed": {"0": 30.0, "1": 31.0},
        "signature": "bleu-1|version:1", "conflict": False, "why": "", "best": False, "second": False, "p": None,
        "p_items": None, "differs": False, "difference": None, "low": None, "high": None, "against": "",
    }  # fmt: skip
    assert (mle["folder"], len(mle["cells"]), mle["seeds"]) == ("logicnlg/mle", 2, [0, 1])
    assert all(store.cell(*mle["folder"].split("/"), key).trained() for key in mle["cells"])
    assert table["published"][0]["why_not"] == "our rows are of preset small"
    assert not table["published"][0]["comparable"]


def test_a_hand_made_board_fits_and_a_damaged_one_does_not():
    for made in (boards.example(), boards.hostile()):
        assert fits(made) == []
    made = boards.example()
    made["tables"][0]["methods"][0]["values"]["bleu-1"]["mean"] = "33"
    made["tables"][0]["extra"] = 1
    made["tables"][0]["rows"] = True
    del made["tables"][1]["samples"]
    found = fits(made)
    assert [w.partition(":")[0] for w in found] == [
        "board.tables[0].rows", "board.tables[0].methods[0].values.bleu-1.mean", "board.tables[0]", "board.tables[1]",
    ]  # fmt: skip


def test_statistics_are_put_where_they_belong(store):
    (table,), _ = tables(store)
    ids = [row.id for row in table.rows]
    value = table.rows[0].values["bleu-1"]
    value.half, value.difference, value.low, value.high = 0.5, 1.0, 0.5, 1.5
    value.p, value.p_items, value.against = 0.01, 0.02, ids[1]
    made = board(Leaderboards([table], {}))
    assert fits(made) == []
    first, second = made["tables"][0]["methods"]
    known = {"half": 0.5, "interval": "0.50", "p": 0.01, "p_items": 0.02, "differs": True, "difference": 1.0,
             "low": 0.5, "high": 1.5, "against": ids[1]}  # fmt: skip
    assert {k: first["values"]["bleu-1"][k] for k in known} == known
    assert second["values"]["bleu-1"]["half"] is None


def test_ours_less_published_stands_only_where_it_may_be_compared(tmp_path):
    for decoding in ("beam=4+no_repeat_ngram=3+early_stopping", "greedy"):
        scored(trained(tmp_path, preset="paper", backbone="bart-large"), {"bleu-1": 60.0}, decoding=decoding)
    ready(tmp_path, "mle", bleu=60.0, preset="paper")
    ready(tmp_path, "mle", bleu=60.0)
    small, paper = sorted(
        board(leaderboards_of(Store(tmp_path)))["tables"], key=lambda table: table["preset"] == "paper"
    )
    printed = small["published"][0]
    assert (printed["texts"]["bleu-1"], printed["deltas"], printed["comparable"]) == ("56.27", {}, False)
    deltas = paper["published"][0]["deltas"]
    assert len(paper["methods"]) == 3
    assert [row["decoding"] for row in paper["methods"] if row["id"] in deltas] == [
        "beam=4+no_repeat_ngram=3+early_stopping"
    ]
    assert [*deltas.values()] == [{"bleu-1": "+3.73"}]


def test_tables_and_rows_have_names_of_their_own(store, tmp_path):
    data = {"train": manifest("train", "official", "x"), "test": manifest("test", "official")}
    scored(trained(tmp_path, "mle", data=data, extra="x"), {"bleu-1": 1.0})
    scored(trained(tmp_path, "mle", trainer__lr=0.1), {"bleu-1": 1.0})
    found, _ = tables(store)
    assert table_ids(found) == ["logicnlg.test.small.3", "logicnlg.test.small.3-2"]
    ids = [row.id for table in found for row in table.rows]
    assert len(set(ids)) == 3  # mle under two rates and trime; the same row of another table has the same name
    assert len({row.id for row in found[0].rows}) == len(found[0].rows)
