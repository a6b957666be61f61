"""DAE by a tiny model: equal to a plain loop, batches equal to single pairs, files of arcs, both columns."""

import random
import shutil

import pytest
import torch

from bench.metrics.faithfulness.checkpoints import NotApplicable
from bench.metrics.faithfulness.dae import (
    DROPPED,
    Arc,
    Parsed,
    dae,
    dae_scores,
    encoded_arcs,
    load_dae,
    pieces_of,
    read_arcs,
)
from bench.metrics.faithfulness.ptb_tokens import ptb_tokens
from tests.metrics import tiny_dae, tiny_verifiers

torch.set_num_threads(1)


def drawn(draw, words):
    return " ".join(draw.choice([*tiny_verifiers.WORDS, "lengthy", "roses"]) for _ in range(words))


def made_pairs(n=30, seed=5):
    """Sources of unlike lengths, some over the model's, some twice; summaries with 0 to 24 arcs."""
    draw, pairs = random.Random(seed), []
    for i in range(n):
        source = drawn(draw, 600 if i % 7 == 3 else 5 + 9 * (i % 5)) if i % 4 else "the aldra rose . it fell"
        words = ptb_tokens(drawn(draw, 4 + i % 9))
        arcs = [Arc(draw.randrange(len(words)), draw.randrange(len(words)), "x") for _ in range((i * 5) % 25)]
        pairs.append((source, Parsed(tuple(words), tuple(arcs))))
    return pairs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_dae.electra(tmp_path_factory.mktemp("dae"))


@pytest.fixture(scope="module")
def balanced(folder):
    verifier = load_dae(str(folder))
    logits = [row for source, one in made_pairs() for row in by_loop(verifier, source, one)]
    return tiny_dae.balance(verifier, logits)


def by_loop(verifier, source, summary, limit=20):
    return tiny_dae.oracle(verifier, ptb_tokens(source), summary.tokens, [arc[:2] for arc in summary.arcs], limit)


def test_logits_equal_a_plain_loop(balanced):
    for source, summary in made_pairs():
        if not summary.arcs:
            continue
        one = encoded_arcs(pieces_of(ptb_tokens(source), balanced.tokenizer)[0], summary, balanced.tokenizer)
        with torch.inference_mode():
            logits = balanced.model(
                torch.tensor([one["input_ids"]]), None, torch.tensor([one["children"]]), torch.tensor([one["heads"]])
            ).logits[0]
        assert torch.allclose(logits, torch.tensor(by_loop(balanced, source, summary)), atol=1e-5)


def test_batched_is_single_in_the_order_given(balanced):
    sources, summaries = map(list, zip(*made_pairs(), strict=True))
    single = [dae([source], [one], balanced)[0] for source, one in zip(sources, summaries, strict=True)]
    for tokens in (1, 700, 100_000):
        assert dae(sources, summaries, balanced, tokens=tokens) == single


def test_only_the_first_20_arcs_are_looked_at(balanced):
    arcs = tuple(Arc(i % 5, (i * 3 + 1) % 5, "x") for i in range(24))
    summary = Parsed(("the", "river", "aldra", "rose", "."), arcs)
    first, fewer = (dae(["it rose"], [Parsed(summary.tokens, arcs[:n])], balanced)[0] for n in (24, 20))
    assert first == fewer
    assert len(first) == 20


def test_a_summary_longer_than_the_model_loses_its_end(balanced):
    summary = Parsed(("rose",) * 600, (Arc(0, 508, "x"), Arc(0, 509, "x"), Arc(599, 3, "x")))
    one = encoded_arcs([7] * 300, summary, balanced.tokenizer)
    assert len(one["input_ids"]) == 512
    assert (one["children"], one["heads"]) == ([2], [510])
    assert len(dae(["it rose"], [summary], balanced)[0]) == 1


TEXTS = ["The Aldra rose.", "It was hurt.", "Sorn", "The river fell and rose."]
TREES = [
    [[1, 2, "nsubj"], [0, 1, "det"]],
    [[0, 2, "nsubjpass"]],
    [],
    [[1, 2, "nsubj"], [1, 4, "nsubj"], [4, 2, "conj"]],
]


@pytest.fixture
def stored(tmp_path, monkeypatch, folder):
    """Rows, gold, and a file of their arcs; the variables name it and the model."""
    rows = [{"id": f"test/{i}", "text": text} for i, text in enumerate(TEXTS)]
    file = tmp_path / "arcs.tsv"
    lines = [["id", "context", "dep_idx0", "dep0", "dep_idx1", "dep1", "dep_idx2", "dep2"]]
    for row, arcs in zip(rows, TREES, strict=True):
        named = [part for child, head, label in arcs for part in (f"{child} {head}", label)]
        lines.append([row["id"], " ".join(ptb_tokens(row["text"])), *named])
    file.write_text("\n".join(map("\t".join, lines)) + "\n", encoding="utf-8")
    monkeypatch.setenv("BENCH_DAE", str(folder))
    monkeypatch.setenv("BENCH_DAE_ARCS", str(file))
    return rows, {row["id"]: {"source": f"the river rose . one of {i}"} for i, row in enumerate(rows)}


def test_columns_of_a_file(folder, stored):
    rows, gold = stored
    share, none = dae_scores(rows, gold)
    assert (share.name, share.unit, share.higher_is_better, share.n) == ("dae", "percent", False, 4)
    assert (none.name, none.unit, none.higher_is_better, none.value) == ("dae[no_arc]", "count", None, 1)
    verifier = load_dae(str(folder))
    wrong = 0
    for row, arcs in zip(rows, TREES, strict=True):
        pairs = [arc[:2] for arc in arcs if arc[2] != "det"]
        logits = tiny_dae.oracle(verifier, ptb_tokens(gold[row["id"]]["source"]), ptb_tokens(row["text"]), pairs)
        wrong += any(row[1] <= row[0] for row in logits)
    assert share.value == 25 * wrong
    assert share.signature.startswith("dae|def:goyal2021|arcs:file|max_arcs:20|")
    assert share.signature.endswith(f"|{verifier.signature}|version:1")
    assert share.signature != none.signature


def test_a_summary_without_an_arc_is_factual(folder, stored, tmp_path, monkeypatch):
    from safetensors.torch import load_file, save_file

    values = []
    for bias in (1e4, -1e4):  # the same answer for every arc
        copy = shutil.copytree(folder, tmp_path / str(bias))
        weights = load_file(copy / "model.safetensors") | {"dep_label_classifier.bias": torch.tensor([0.0, bias])}
        save_file(weights, copy / "model.safetensors", {"format": "pt"})
        monkeypatch.setenv("BENCH_DAE", str(copy))
        values.append([score.value for score in dae_scores(*stored)])
    assert values == [[0, 1], [75, 1]]


def test_a_folder_that_lacks_weights_or_words_is_refused(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "vocab.txt").unlink()
    (copy / "tokenizer.json").unlink(missing_ok=True)
    with pytest.raises(NotApplicable, match=r"needs vocab.txt in the folder of the DAE model copy: bench doctor"):
        load_dae(str(copy))
    tiny_verifiers.without_head(copy, "electra.encoder.layer.1")
    tiny_verifiers.with_words(copy)
    with pytest.raises(NotApplicable, match=r"copy lacks \d+ weights, such as electra.encoder.layer.1"):
        load_dae(str(copy))


def test_what_is_missing_is_no_number(stored, monkeypatch):
    rows, gold = stored
    other = [{**row, "text": row["text"] + " It fell."} for row in rows]
    new = [{"id": "new", "text": "a"}]
    for given, variables, why in [
        ((rows, gold), {"DAE": ""}, "needs the authors' model, BENCH_DAE naming its folder: bench doctor"),
        ((rows, gold), {"DAE": "no/model"}, "needs no/model: bench doctor"),
        ((rows, gold), {"DAE_ARCS": "no/no.tsv"}, "needs the file of arcs no.tsv: bench doctor"),
        ((rows, gold), {"DAE_ARCS": ""}, "needs BENCH_DAE_ARCS naming a file of arcs: bench doctor"),
        ((rows, {**gold, "test/2": {"source": None}}), {}, "no source text"),
        ((other, gold), {}, "needs the arcs of these summaries in arcs.tsv: id 'test/0' has 'the aldra rose .' for"),
        ((new, {"new": {"source": "b"}}), {}, "needs the arcs of these summaries in arcs.tsv: 1 of 1 have none"),
    ]:
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(f"BENCH_{name}", value)
            scores = dae_scores(*given)
        assert [(score.name, score.value) for score in scores] == [("dae", None), ("dae[no_arc]", None)]
        assert all(f"|version:1|not applicable: {why}" in score.signature for score in scores), scores


# Files of arcs

HEADER = ["id", "input", "sentlabel", "context", *(f"{name}{n}" for n in range(3)
          for name in ("dep_idx", "dep_words", "dep", "dep_label"))]  # fmt: skip


def tsv(folder, *rows, header=HEADER):
    file = folder / "arcs.tsv"
    lines = ["\t".join(header), *("\t".join([*row, *[""] * (len(header) - len(row))]) for row in rows)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_the_authors_form(tmp_path):
    file = tsv(
        tmp_path,
        ["0", "it rose .", "1", "The aldra  rose", "1 3", "aldra rose", "nsubj", "1", "0 1", "the aldra", "det", "0"],
        ["1", "it rose .", "0", "sorn"],
        ["2", "it", "0", "a b", "0 1", "a b", "nmod:of", "1", "1 0", "b a", "conj", "", "0 0", "a a", "dep", "1"],
        *([f"d{i}", "it", "0", "a b", "0 1", "a b", label, "1"] for i, label in enumerate(sorted(DROPPED))),
    )
    found = read_arcs(file)
    assert found["0"] == (("the", "aldra", "", "rose"), ((1, 3, "nsubj"),))  # cut at single spaces
    assert found["1"] == (("sorn",), ())
    assert [tuple(arc) for arc in found["2"].arcs] == [(0, 1, "nmod:of"), (1, 0, "conj")]
    assert all(found[f"d{i}"].arcs == () for i in range(len(DROPPED))), "labels that the model does not classify"


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        (HEADER, ["0", "x", "1", "a b", "0-1"], "in arcs.tsv, line 2, column dep_idx0, got '0-1'"),
        (HEADER, ["0", "x", "1", "a b", "0 1", "a b", "x", "1", "1 x"], "arcs.tsv, line 2, column dep_idx1, got '1 x'"),
        (HEADER, ["0", "x", "1", "a b", "0 2"], "expected 'child head' of words 0 to 1 in arcs.tsv, line 2"),
        (["context", "dep_idx0"], ["a b", "0 1"], "expected columns id, context and dep_idx0 in arcs.tsv, line 1"),
    ],
)
def test_another_form_says_where(tmp_path, header, row, message):
    with pytest.raises(ValueError, match="expected") as error:
        read_arcs(tsv(tmp_path, row, header=header))
    assert message in str(error.value)
