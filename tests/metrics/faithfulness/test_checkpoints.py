"""How checkpoints are named and refused: no path in a result, revisions and hashes, one line for what does not load."""

import pytest

from bench.metrics.faithfulness import checkpoints
from bench.metrics.faithfulness.checkpoints import NotApplicable, provenance, public_name


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "tiny-model"
    made.mkdir()
    (made / "config.json").write_text("{}")
    (made / "model.safetensors").write_bytes(b"weights")
    return made


def test_a_folder_is_known_by_what_it_holds(folder, monkeypatch):
    first = provenance(str(folder), folder)
    assert set(first) == {"checkpoint", "weights", "config"}
    assert first["checkpoint"] == "tiny-model"
    (folder / "model.safetensors").write_bytes(b"others")
    assert provenance(str(folder), folder)["weights"] != first["weights"]
    (folder / "config.json").write_text('{"a": 1}')
    assert provenance(str(folder), folder)["config"] != first["config"]
    monkeypatch.chdir(folder)
    assert public_name(".") == "tiny-model"
    assert checkpoints.find(str(folder)) == folder


def test_a_hub_copy_is_known_by_its_revision(tmp_path):
    copy = tmp_path / "models--nobody--tiny" / "snapshots" / ("0123456789ab" + "c" * 28)
    copy.mkdir(parents=True)
    (copy / "config.json").write_text("{}")
    found = provenance("nobody/tiny", copy)
    assert (found["checkpoint"], found["revision"]) == ("nobody/tiny", "0123456789ab")
    assert "weights" not in found


def test_what_does_not_load_is_one_line():
    said = r"^tiny does not load \(OSError: two lines\): bench doctor$"
    with pytest.raises(NotApplicable, match=said), checkpoints.loading("far/away/tiny"):
        raise OSError("two\n lines")
    with pytest.raises(ZeroDivisionError), checkpoints.loading("tiny"):
        raise ZeroDivisionError  # a mistake of ours is not hidden
    info = {"missing_keys": ["pooler.x", "b"], "mismatched_keys": ["a"], "unexpected_keys": ["c"]}
    with pytest.raises(NotApplicable, match="^tiny lacks 2 weights, such as a: bench doctor$"):
        checkpoints.check_weights("tiny", info, unread="pooler.")
    checkpoints.check_weights("tiny", {"missing_keys": ["pooler.x"], "mismatched_keys": []}, unread="pooler.")


def test_arguments_go_before_variables(monkeypatch):
    monkeypatch.setenv("BENCH_TINY", "from the variable")
    assert checkpoints.choose("asked", "BENCH_TINY", "usual") == "asked"
    assert checkpoints.choose(None, "BENCH_TINY", "usual") == "from the variable"
    monkeypatch.delenv("BENCH_TINY")
    assert checkpoints.choose(None, "BENCH_TINY", "usual") == "usual"
