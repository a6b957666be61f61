"""MAUVE by a tiny language model: features, what is kept on disk, what the package is given, what has no number."""

import json
import sys
import types

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2Model

from bench.metrics import METRICS, mauve
from bench.metrics.embedder import NoVerifier, embed
from bench.metrics.mauve import features_of, load_reader, mauve_scores
from bench.metrics.mauve_metric import Mauve

torch.set_num_threads(1)
TEXTS = ["a cat sat", "it ran", "the dog sat on a mat", "far", "and so on and on"] * 8
REFERENCES = ["a dog ran", "he sat", "the cat ran to a hat", "near", "and then more of it"] * 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("readers") / "gpt2-tiny"
    made.mkdir()
    letters = [chr(c) for c in (*range(33, 127), *range(161, 173), *range(174, 256))]
    letters += [chr(256 + i) for i in range(256 - len(letters))]
    pieces = {piece: i for i, piece in enumerate([*letters, "<|endoftext|>"])}
    torch.manual_seed(0)
    GPT2Model(GPT2Config(vocab_size=257, n_positions=32, n_embd=16, n_layer=2, n_head=2,
                         bos_token_id=256, eos_token_id=256)).save_pretrained(made)  # fmt: skip
    (made / "vocab.json").write_text(json.dumps(pieces), encoding="utf-8")
    (made / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")
    (made / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    return made


@pytest.fixture(scope="module")
def reader(folder):
    return load_reader(str(folder))


@pytest.fixture
def package(monkeypatch):
    """A stand-in for mauve-text that keeps what it is given."""
    given = []

    def compute_mauve(**options):
        given.append(options)
        return types.SimpleNamespace(mauve=0.25)

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
    (found,) = METRICS["mauve"].load()(rows, {row["id"]: {} for row in rows})
    return found


def test_stored_rows_go_to_the_package_as_features(folder, reader, package, tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_MAUVE", str(folder))
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    rows = make_rows(["", *TEXTS[1:]])
    found = score(rows)
    assert (found.value, found.n) == (25.0, 40)
    (given,) = package
    assert np.array_equal(given["p_features"], embed(reader, REFERENCES)[0].numpy())
    assert np.array_equal(given["q_features"], embed(reader, TEXTS[1:])[0].numpy())
    assert (given["seed"], given["mauve_scaling_factor"], given["num_buckets"]) == (25, 5, "auto")
    assert "|texts:40+39|empty left out:0+1|truncated:0+0|encoder:gpt2-tiny|" in found.signature
    assert "|pooling:last|" in found.signature
    assert score(rows[::-1]) == found
    assert np.array_equal(package[1]["p_features"], given["p_features"])
    assert score(make_rows(["", "a"], ["b", "c"])).value is None


def test_the_class_gathers_features(reader, package):
    metric, other = Mauve(reader), Mauve(reader)
    metric.update([], [])
    assert metric.compute().isnan()
    for start in (0, 30):
        metric.update(REFERENCES[start : start + 30], ["", *TEXTS[1:]][start : start + 30])
    assert (metric.compute().item(), metric.compute().dtype) == (25.0, torch.float64)
    assert [package[0][side].shape for side in ("p_features", "q_features")] == [(40, 16), (39, 16)]
    np.testing.assert_allclose(package[0]["p_features"], embed(reader, REFERENCES)[0].numpy(), rtol=1e-4, atol=1e-5)
    other.update(REFERENCES, TEXTS)
    other.merge_state(metric)
    other.compute()
    assert package[-1]["q_features"].shape == (79, 16)


def test_without_package_model_or_reference_there_is_no_number(package, monkeypatch):
    gone = lambda name: (_ for _ in ()).throw(NoVerifier(f"needs {name}: bench doctor"))  # noqa: E731
    rows = make_rows()
    (missing,) = mauve_scores(rows, {row["id"]: {} for row in rows}, gone)
    assert (missing.value, missing.signature) == (None, "mauve|not applicable: needs None: bench doctor")
    without = [{"id": row["id"], "text": row["text"]} for row in rows]
    assert score(without).signature == "mauve|not applicable: rows without a reference"
    with pytest.raises(ValueError, match="in all 40 rows or in none, 1 lack it"):
        score([*rows[1:], without[0]])
    monkeypatch.setitem(sys.modules, "mauve", None)
    assert score(rows).signature == "mauve|not applicable: needs mauve-text: pip install 'objective-bench[mauve]'"
    with pytest.raises(NoVerifier, match="needs nobody/reader: bench doctor"):
        load_reader("nobody/reader")


def test_the_package_itself_says_the_same(folder, reader, tmp_path):
    package = pytest.importorskip("mauve", reason="mauve-text is not installed")
    sides = [features_of(reader, texts, tmp_path).values for texts in (REFERENCES, TEXTS)]
    found = package.compute_mauve(p_text=REFERENCES, q_text=TEXTS, featurize_model_name=str(folder), device_id=-1)
    assert mauve.mauve(*sides) == pytest.approx(100 * found.mauve, abs=1e-3)
    assert mauve.mauve(sides[0], sides[0]) == pytest.approx(100, abs=1e-6)
    assert mauve.mauve(*sides) < 99
