"""MAUVE by a tiny language model: features, what is kept on disk, what the package is given, what has no number."""

import sys
import types

import numpy as np
import pytest
import torch
from transformers import GPT2Model

from bench.metrics import METRICS
from bench.metrics.diversity import mauve
from bench.metrics.diversity.mauve import features_of, load_reader
from bench.metrics.faithfulness.checkpoints import NotApplicable
from bench.metrics.faithfulness.embedder import embed
from tests.metrics import tiny_encoders

torch.set_num_threads(1)
TEXTS = ["a cat sat", "it ran", "the dog sat on a mat", "far", "and so on and on"] * 8
OF_SEED = {25: 0.20, 26: 0.22, 27: 0.25, 28: 0.28, 29: 0.30}
REFERENCES = ["a dog ran", "he sat", "the cat ran to a hat", "near", "and then more of it"] * 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("readers") / "gpt2-tiny"
    made.mkdir()
    return tiny_encoders.reader(made)


@pytest.fixture(scope="module")
def reader(folder):
    return load_reader(str(folder))


@pytest.fixture
def package(monkeypatch):
    """A stand-in for mauve-text that keeps what it is given."""
    given = []

    def compute_mauve(**options):
        given.append(options)
        return types.SimpleNamespace(mauve=OF_SEED[options["seed"]])

    monkeypatch.setitem(sys.modules, "mauve", types.SimpleNamespace(compute_mauve=compute_mauve))
    monkeypatch.setattr(mauve, "version", lambda name: "0.0")
    return given


def test_a_text_is_its_last_state_whatever_the_batch(folder, reader):
    model = GPT2Model.from_pretrained(folder).eval()
    found, cut = embed(reader, TEXTS[:5])
    assert cut == 0
    for text, row in zip(TEXTS, found, strict=False):
        with torch.inference_mode():
            ids = torch.tensor([reader.tokenizer.encode(text)])
            expected = model(ids, output_hidden_states=True).hidden_states[-1][0, -1]
        torch.testing.assert_close(row, expected, rtol=1e-5, atol=1e-6)
    assert embed(reader, ["x" * 40, "x" * 32])[1] == 1
    with pytest.raises(ValueError, match="texts with a token, got 1 without"):
        embed(reader, ["", "a"])


def test_features_are_made_once(reader, tmp_path, monkeypatch):
    first = features_of(reader, ["a cat", "", "x" * 40], tmp_path / "features")
    assert (first.values.shape, first.values.dtype, first.cut, first.empty) == ((2, 16), np.float32, 1, 1)
    (path,) = (tmp_path / "features").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr(mauve, "embed", lambda *_: pytest.fail("read again"))
        again = features_of(reader, ["a cat", "x" * 40], tmp_path / "features")
    assert np.array_equal(first.values, again.values)
    assert (again.cut, again.empty) == (1, 0)
    path.write_bytes(path.read_bytes()[:50])  # half written
    assert np.array_equal(features_of(reader, ["a cat", "x" * 40], tmp_path / "features").values, first.values)
    assert len(list((tmp_path / "features").iterdir())) == 1
    features_of(reader, ["x" * 40, "a cat"], tmp_path / "features")
    assert len(list((tmp_path / "features").iterdir())) == 2


def make_rows(texts=TEXTS, references=REFERENCES):
    return [
        {"id": f"{n:03}", "text": t, "reference": r} for n, (t, r) in enumerate(zip(texts, references, strict=True))
    ]


def score(rows):
    found, spread, empty, cut = METRICS["mauve"].load()(rows, {row["id"]: {} for row in rows})
    assert (spread.name, spread.unit, spread.higher_is_better) == (f"{found.name}/sd", "percent", None)
    assert (spread.n, spread.signature, spread.value is None) == (found.n, found.signature, found.value is None)
    if spread.value is not None:
        assert spread.value == pytest.approx(17**0.5)  # by hand: (25 + 9 + 0 + 9 + 25) / 4
    assert (empty.name, cut.name) == (f"{found.name}/empty", f"{found.name}/truncated")
    assert empty.n == cut.n == len(rows)
    assert {one.signature.partition("|not applicable")[0] for one in (empty, cut)} == {
        found.signature.partition("|not applicable")[0]
    }
    return found, empty.value, cut.value


def test_stored_rows_go_to_the_package_as_features(folder, reader, package, tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_MAUVE", str(folder))
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    rows = make_rows(["", *TEXTS[1:]])
    found, empty, cut = score(rows)
    assert (found.value, found.n, empty, cut) == (pytest.approx(25.0), 39, 1, 0)
    assert [given["seed"] for given in package] == [25, 26, 27, 28, 29]
    given = package[0]
    assert np.array_equal(given["p_features"], embed(reader, REFERENCES)[0].numpy())
    assert np.array_equal(given["q_features"], embed(reader, TEXTS[1:])[0].numpy())
    assert (given["mauve_scaling_factor"], given["num_buckets"]) == (5, "auto")
    kmeans = [given[f"kmeans_{name}"] for name in ("explained_var", "num_redo", "max_iter")]
    assert [*kmeans, given["divergence_curve_discretization_size"]] == [0.9, 5, 500, 25]
    assert "|seeds:25-29|points:25|empty:left out|scale:percent|checkpoint:gpt2-tiny|weights:" in found.signature
    assert "|pooling:last|" in found.signature
    assert found.signature.endswith("|version:3")
    assert score(rows[::-1])[0] == found
    assert np.array_equal(package[5]["p_features"], given["p_features"])
    other, empty, cut = score(make_rows(["x" * 40, *["y" * 33] * 39], ["z" * 40, *REFERENCES[1:]]))
    assert (other.signature, other.n, empty, cut) == (found.signature, 40, 0, 41), "one column whatever the texts"


def test_below_two_texts_there_is_no_number(folder, package, tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_MAUVE", str(folder))
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    found, empty, _ = score(make_rows(["", "a"], ["b", "c"]))
    assert (found.value, found.n, empty) == (None, 1, 1)
    assert found.signature.endswith("|version:3|not applicable: fewer than 2 texts that are not empty")
    assert package == []


def test_without_package_model_or_reference_there_is_no_number(package, monkeypatch):
    monkeypatch.setenv("BENCH_MAUVE", "nobody/no-such-model")
    rows = make_rows()
    assert score(rows)[0].signature == "mauve|version:3|not applicable: needs nobody/no-such-model: bench doctor"
    monkeypatch.delenv("BENCH_MAUVE")
    without = [{"id": row["id"], "text": row["text"]} for row in rows]
    nothing, empty, cut = score(without)
    assert (nothing.value, empty, cut) == (None, None, None)
    assert nothing.signature == "mauve|version:3|not applicable: rows without a reference"
    with pytest.raises(ValueError, match="in all 40 rows or in none; 1 rows have none"):
        score([*rows[1:], without[0]])
    monkeypatch.setitem(sys.modules, "mauve", None)
    signature = "mauve|version:3|not applicable: needs mauve-text: pip install 'objective-bench[mauve]'"
    assert score(rows)[0].signature == signature
    with pytest.raises(NotApplicable, match="needs nobody/reader: bench doctor"):
        load_reader("nobody/reader")


def test_the_package_itself_says_the_same(folder, reader, tmp_path):
    package = pytest.importorskip("mauve", reason="mauve-text is not installed")
    sides = [features_of(reader, texts, tmp_path).values for texts in (REFERENCES, TEXTS)]
    found = package.compute_mauve(p_text=REFERENCES, q_text=TEXTS, featurize_model_name=str(folder), device_id=-1)
    assert mauve.clusterings(*sides)[0] == pytest.approx(100 * found.mauve, abs=1e-3), "its own seed is the first"
    assert mauve.clusterings(sides[0], sides[0]) == pytest.approx([100] * 5, abs=1e-6)
