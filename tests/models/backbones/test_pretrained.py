"""Pretrained backbones: which commit of a hub repository is loaded, recorded and shown, and what is refused."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest

from bench.cells.make import make
from bench.errors import UsageError
from bench.models.backbones import BACKBONES, BackboneEntry, hub, pretrained
from bench.models.backbones.pretrained import Pretrained, resolved
from bench.models.core.objective import Objective
from tests.conftest import call
from tests.models.backbones.folders import save_model

COMMIT, LATER = "a" * 40, "b" * 40
ASKED = ("run", "--task", "ambiguous_template", "--method", "mle", "--limit", "8")
SHORT = ("--set", "trainer.steps=1", "trainer.batch_size=4", "trainer.max_source=16", "trainer.max_target=8")


pytestmark = pytest.mark.usefixtures("sample_data")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub cache with one commit of someone/tiny, which `main` names; the hub is out of reach."""
    folder = tmp_path / "hub" / "models--someone--tiny"
    save_model("gpt2", folder / "snapshots" / COMMIT)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(COMMIT)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(pretrained, "hub_reachable", lambda: False)
    monkeypatch.setattr(hub, "hub_reachable", lambda: False)
    monkeypatch.setenv("BENCH_DATA", "")
    return folder


class TestCommit:
    def test_it_is_that_of_the_cache(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        assert resolved("someone/tiny", "main") == Pretrained("someone/tiny", "main", COMMIT)
        monkeypatch.setattr(pretrained, "hub_reachable", lambda: True)  # and is not asked: it was downloaded before
        assert resolved("someone/tiny", "main").commit == COMMIT
        assert resolved("someone/tiny", LATER) == Pretrained("someone/tiny", LATER, LATER)

    def test_it_is_that_of_the_hub_where_nothing_is_cached(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def info(self: Any, repository: str, revision: str, timeout: float) -> Any:
            if repository != "someone/other":
                raise huggingface_hub.errors.OfflineModeIsEnabled("no")
            return SimpleNamespace(sha=LATER)

        monkeypatch.setattr(pretrained, "hub_reachable", lambda: True)
        monkeypatch.setattr(huggingface_hub.HfApi, "model_info", info)
        assert resolved("someone/other", "main").load_at == LATER
        assert resolved("someone/gone", "main") == Pretrained("someone/gone", "main", "")
        assert resolved("someone/gone", "main").load_at == "main"
        assert resolved("not an id /", "main").commit == ""

    def test_an_entry_may_pin_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        entry = BackboneEntry(BACKBONES["gpt2"].target, "pinned", hub="someone/tiny", revision=LATER)
        monkeypatch.setitem(BACKBONES, "pinned", entry)
        assert hub.identity("pinned", "", "main") == {"hub": "someone/tiny", "revision": LATER}
        assert hub.identity("pinned", "", COMMIT) == {"hub": "someone/tiny", "revision": COMMIT}
        assert hub.identity("gpt2", "", "main") == {"hub": "openai-community/gpt2", "revision": "main"}
        listed = json.loads(call("list", "backbones", "--json").out)["backbones"]
        assert listed["pinned"]["revision"] == LATER
        assert listed["gpt2"]["revision"] == "unpinned"
        assert "revision" not in listed["small-causal"]
        shown = call("list", "backbones").out
        assert f"someone/tiny at {LATER}" in shown
        assert "openai-community/gpt2 at main (unpinned: " in shown


def test_a_cell_records_the_commit_and_a_table_says_that_it_is_unpinned(cache: Path, tmp_path: Path) -> None:
    for number, revision in enumerate(("main", COMMIT)):
        results = tmp_path / f"results-{number}"
        ended = call(
            *ASKED, "--backbone", "someone/tiny", "--results", str(results), *SHORT, f"backbone.revision={revision}"
        )
        assert ended.code == 0, ended.err
        (record,) = results.glob("*/*/*/trained.json")
        stored = json.loads(record.read_text())["content"]["model"]["hub"]
        assert stored == {"repository": "someone/tiny", "revision": revision, "commit": COMMIT}
        remark = f"unpinned: someone/tiny at main, which was {COMMIT}; --set backbone.revision=COMMIT pins it"
        assert (remark in " ".join(ended.out.split())) == (revision == "main")


def test_everything_is_loaded_at_the_commit(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cache / "snapshots" / COMMIT).rename(cache / "snapshots" / LATER)
    (cache / "refs" / "main").write_text(LATER)
    monkeypatch.setattr(hub, "resolved", lambda repository, revision: Pretrained(repository, revision, LATER))
    (cache / "refs" / "main").write_text("c" * 40)  # moved meanwhile
    objective = made("someone/tiny")
    assert objective.backbone.pretrained == Pretrained("someone/tiny", "main", LATER)


def made(backbone: str) -> Objective:
    """Make likelihood training on a backbone."""
    return make("ambiguous_template", backbone=backbone, limit=8)[0]


def test_a_family_whose_cache_is_not_ours_is_refused_by_name(tmp_path: Path) -> None:
    folder = save_model("mamba", tmp_path / "mamba")
    with pytest.raises(UsageError, match=r"\(family mamba, MambaForCausalLM\) is refused: generation with its cache"):
        made(str(folder))
