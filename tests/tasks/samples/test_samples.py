"""The built-in samples: their rows are pinned by hash, enough to learn from, and none is in two splits."""

import pytest

from bench.tasks import TASKS, samples

SPLITS = ("train", "valid", "test")

MANIFESTS = {  # the first 16 digits of the sha256 of train, valid and test
    "ambiguous_template": "19793f2ea402f9d2 9e6bbeedef400bfc b787175535b2103d",
    "logicnlg": "d0d02418e9efce59 067fd7b63ea3992e e4554a4fda744e3d",
    "wikitext103": "fb63514cb0bbda54 973e9682d934966f 02f7348c25fe7520",
    "xsum": "4650cdc517d51570 245e24fe39974df6 e10c4dca36052b80",
    "cnndm": "9039c0ccbfc2dc04 81a07cd70a09053a a15bbe35b25f9d91",
    "gigaword": "f23359ab5152befe 5921694c73e0e1fc 300ca2051ae6c0d8",
    "duc2004": "f23359ab5152befe 5921694c73e0e1fc 52072aff1cc55a60",
    "nyt": "35b0d27cfc642a09 dc1793e2ca84efea a98b7b149e6542f8",
    "writingprompts": "09eaf1b64dd53d91 803ea8f797d73277 6baee33016074646",
    "wikibio": "f208ba3d2417bd3d 6d2a3f17d845817b 9123f6aef8f64d51",
    "lyrics": "314c89fc337dd6fb a94764b5f4972055 dcb609d060073506",
    "text": "acce86329abb1778 a3021a7abb64dbe3 0fd1bf8fc34ad308",
    "pairs": "369907f0c7a58bf4 a3766bd637f5d3ce fcedc0f6bf8e2f20",
    "chat": "92d1ea779a6d745a d0028e5c3e03bd37 8cc3ef4b39583599",
}


@pytest.mark.parametrize("task", TASKS)
def test_the_rows_of_every_task_are_the_same_everywhere(task):
    """A changed row changes numbers: CHANGELOG.md says so, and this table has the new hash."""
    made = TASKS[task].load()()
    assert " ".join(made.manifest(split).sha256[:16] for split in SPLITS) == MANIFESTS[task]


def test_the_samples_are_small():
    assert sum(path.stat().st_size for path in samples.FOLDER.iterdir() if path.is_file()) <= 1_000_000


@pytest.mark.parametrize("task", TASKS)
def test_every_sample_is_long_enough_to_learn_from_and_has_no_row_in_two_splits(task):
    made = TASKS[task].load()()
    rows = {split: made.split(split).examples for split in SPLITS}
    assert {made.split(split).status for split in SPLITS} == {"sample"}
    assert len(rows["train"]) >= 200
    contents = [{(made.plain_source(row), row.target) for row in rows[split]} for split in SPLITS]
    assert sum(map(len, contents)) == len(set().union(*contents))
    for split in SPLITS:
        assert len({row.id for row in rows[split]}) == len(rows[split]) >= 30
        assert all(row.target.strip() for row in rows[split])
    if not made.info.open_ended:
        assert all(row.target in row.references for row in rows["test"])
