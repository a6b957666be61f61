"""Coherence by tiny encoders written on the spot: pooling, cutting, batches, order, what is refused, stored rows."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import BertModel

from bench.metrics import METRICS, find_metric
from bench.metrics.columns import direction_of
from bench.metrics.faithfulness import checkpoints
from bench.metrics.faithfulness.checkpoints import NotApplicable
from bench.metrics.faithfulness.coherence import DEFAULT, cosines
from bench.metrics.faithfulness.embedder import embed, load
from bench.metrics.requirements import missing
from tests.metrics import tiny_encoders, tiny_verifiers

torch.set_num_threads(1)
TEXTS = ["the river rose in a year .", "it fell", "", "the river", "long long long long long long long long", "it fell"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("encoders") / "sup-simcse-tiny"
    made.mkdir()
    return tiny_encoders.encoder(made)


@pytest.fixture(scope="module")
def sup(folder):
    return load(str(folder))


def states(folder, text):
    """By the model alone."""
    words = tiny_verifiers.vocabulary()
    ids = torch.tensor([[words.index(word) for word in ("[CLS]", *text.lower().split(), "[SEP]")]])
    with torch.inference_mode():
        found = BertModel.from_pretrained(folder).eval()(ids)
    return found.last_hidden_state[0], found.pooler_output[0]


def unlike(folder, name, **files):
    """A copy under another name, with more files."""
    copy = folder.parent / name
    copy.mkdir()
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    for path, content in files.items():
        where = copy / path.replace("__", "/").replace("_json", ".json")
        where.parent.mkdir(exist_ok=True)
        where.write_text(json.dumps(content))
    return copy


def test_the_pooling_is_that_of_the_checkpoints_kind(folder, sup):
    unsup = load(str(unlike(folder, "UNSUP-tiny")))
    mean = load(str(unlike(folder, "mean", **{"1_Pooling__config_json": {"pooling_mode_mean_tokens": True}})))
    assert [one.pooling for one in (sup, unsup, mean)] == ["pooler", "cls", "mean"]
    hidden, pooled = states(folder, TEXTS[0])
    for one, expected in ((sup, pooled), (unsup, hidden[0]), (mean, hidden.mean(dim=0))):
        torch.testing.assert_close(embed(one, TEXTS)[0][0], expected, rtol=1e-5, atol=1e-6)
        assert f"|pooling:{one.pooling}|" in one.signature


def test_batches_give_what_single_texts_give_in_the_order_asked(sup):
    together, cut = embed(sup, TEXTS)
    assert (together.shape, cut) == ((6, 16), 0)
    single = torch.cat([embed(sup, [text])[0] for text in TEXTS])
    torch.testing.assert_close(together, single, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(embed(sup, TEXTS, tokens=12)[0], single, rtol=1e-5, atol=1e-6)
    assert torch.equal(embed(sup, TEXTS[::-1])[0], together.flip(0))


def test_only_what_has_no_position_is_cut(sup):
    exact, longer = " ".join(["river"] * 62), " ".join(["river"] * 62 + ["fell"])
    assert [embed(sup, texts)[1] for texts in ([exact], [longer], [longer, exact, longer])] == [0, 1, 2]
    assert torch.equal(*(embed(sup, [text])[0] for text in (exact, longer)))
    assert "|max_length:none|positions:64|" in sup.signature


def test_coherence_is_the_mean_cosine_of_pairs(folder, sup):
    prompts, texts = TEXTS[:2], ["a year", "the river rose"]
    pairs = [(states(folder, p)[1], states(folder, t)[1]) for p, t in zip(prompts, texts, strict=True)]
    expected = [float(a @ b / a.norm() / b.norm()) for a, b in pairs]
    assert cosines(prompts, texts, sup)[0].tolist() == pytest.approx(expected, abs=1e-6)
    assert cosines(TEXTS[:2], TEXTS[:2], sup)[0].tolist() == pytest.approx([1, 1])
    assert cosines(["the river", "", "it"], ["", "the river", " \n"], sup)[0].tolist() == [0, 0, 0]


def test_weights_that_are_not_there_are_not_invented(folder):
    for name, gone in (
        ("sup-no-pooler", "pooler."),
        ("unsup-no-pooler", "pooler."),
        ("uns-no-layer", "encoder.layer.1."),
    ):
        copy = unlike(folder, name)
        weights = load_file(copy / "model.safetensors")
        kept = {key: value for key, value in weights.items() if not key.startswith(gone)}
        assert len(kept) < len(weights)
        save_file(kept, copy / "model.safetensors", metadata={"format": "pt"})
        if name == "unsup-no-pooler":  # never read
            assert load(str(copy)).pooling == "cls"
        else:
            with pytest.raises(NotApplicable, match=rf"{name} lacks \d+ weights, such as {gone}"):
                load(str(copy))


def score(rows, gold=None, metric="coherence"):
    found, cut = find_metric(metric).value.load()(rows, gold or {row["id"]: {} for row in rows})
    wanted = (f"{found.name}/truncated", found.signature, None if found.value is None else 0)
    assert (cut.name, cut.signature, cut.value) == wanted
    return found


def test_stored_rows_by_an_encoder_that_is_named(folder, sup, monkeypatch, tmp_path):
    monkeypatch.setenv("BENCH_SIMCSE", str(folder))
    rows = [{"id": str(n), "text": text, "prompt": "the river"} for n, text in enumerate(TEXTS)]
    found = score(rows)
    assert found.value == pytest.approx(100 * cosines(["the river"] * 6, TEXTS, sup)[0].mean().item())
    assert found == score(rows[::-1])
    assert found.signature.startswith(
        "coherence|cosine of:prompt, text|empty:0|scale:percent|checkpoint:sup-simcse-tiny|w"
    )
    assert found.signature.endswith("|version:2")
    assert str(folder.parent) not in found.signature
    without = [{"id": row["id"], "text": row["text"]} for row in rows]
    assert score(without, {row["id"]: {"source": "the river"} for row in rows}) == found
    assert found.name == "coherence[sup-simcse-tiny]", "another encoder than the default has a column of its own"
    monkeypatch.setenv("BENCH_SIMCSE", str(unlike(folder, DEFAULT.rpartition("/")[2])))
    assert score(rows).name == "coherence"
    monkeypatch.delenv("BENCH_SIMCSE")
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    named = find_metric("coherence[sup-simcse-tiny]")
    assert missing(named.value.requires).startswith("sup-simcse-tiny (bench models get sup-simcse-tiny")
    assert score(rows, metric=named.name).value is None
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "sup-simcse-tiny").symlink_to(folder)
    assert not missing(named.value.requires)
    assert score(rows, metric=named.name) == found
    assert direction_of(found.name, METRICS["coherence"].columns)


def test_without_an_encoder_or_a_prompt_there_is_no_number(tmp_path, monkeypatch):
    monkeypatch.delenv("BENCH_SIMCSE", raising=False)
    gone = lambda name: (_ for _ in ()).throw(NotApplicable(f"needs {name}: bench doctor"))  # noqa: E731
    monkeypatch.setattr(checkpoints, "find", gone)
    missing = score([{"id": "0", "text": "it fell", "prompt": "the river"}])
    assert (missing.value, missing.n) == (None, 1)
    assert missing.signature == f"coherence|version:2|not applicable: needs {DEFAULT}: bench doctor"
    assert score([{"id": "0", "text": "it fell"}]).signature.endswith("not applicable: rows without a source or prompt")
