"""NLI-Acc by a tiny model: its logits against plain loops, which checkpoints are refused, the column."""

import math
import shutil

import pytest
import torch

from bench.metrics.faithfulness.checkpoints import NotApplicable
from bench.metrics.faithfulness.nli_acc import (
    Linked,
    encoded_statements,
    load_nli,
    nli,
    nli_logits,
    nli_scores,
    row_cells,
)
from bench.metrics.faithfulness.table_cells import TableText, table_text
from tests.metrics import tiny_nli

torch.set_num_threads(1)

TABLE = TableText(
    ["region", "length", "share", "year"],
    [["aldra", "10", "7.1", "1"], ["sorn", "nan", "1.0", "2"], ["the long river", "3", "", "3"]],
)
TALL = TableText(["a"], [[str(i % 10)] for i in range(45)])
"""More rows than are read."""
LONG = TableText(["region", "year"], [["the longest river of the region", str(i)] for i in range(60)])
SENTENCES = ["aldra is long", "sorn is longest", "the river is in aldra and it rose", "no river", "", "three"]
STATEMENTS = [
    (Linked(TABLE, (0,), "aldra"), SENTENCES[0]),
    (Linked(TABLE, (0, 2), "the rivers of sorn"), SENTENCES[1]),
    (Linked(TABLE, (3, 1), "aldra"), SENTENCES[2]),
    (Linked(LONG, (0, 1), "years"), SENTENCES[3]),
    (Linked(LONG, (1,), "years"), SENTENCES[4]),
    (Linked(TableText(["a"], []), (0,), "x"), SENTENCES[5]),
    (Linked(TABLE, (1,), "river " * 600), "it fell"),
    (Linked(TABLE, (1,), "aldra"), "river " * 600),
]


def balanced(folder):
    """Write a checkpoint that holds half of the statements for entailed: a constant answer would show nothing."""
    made = tiny_nli.nli(folder)
    margins = sorted(row[0] - row[1] for row in logits(load_nli(str(made)), *zip(*STATEMENTS, strict=True)))
    shift = torch.tensor([0.0, (margins[3] + margins[4]) / 2])
    return tiny_nli.changed(made, lambda weights: weights | {"classifier.bias": weights["classifier.bias"] + shift})


def logits(verifier, linked, sentences, *tokens):
    return nli_logits(verifier, encoded_statements(linked, sentences, verifier.tokenizer), *tokens)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return balanced(tmp_path_factory.mktemp("nli"))


@pytest.fixture(scope="module")
def verifier(folder):
    return load_nli(str(folder))


@pytest.fixture
def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


# The oracle: one statement, float64, a loop for each position, cell and head, written from the description alone.
def dense(weights, name, vector):
    return weights[f"{name}.weight"] @ vector + weights[f"{name}.bias"]


def attended(query, keys, values, heads):
    """One position's attention; the positions it does not see are not there."""
    size, parts = len(query) // heads, []
    for h in range(heads):
        own = slice(h * size, (h + 1) * size)
        scores = [math.exp(float(query[own] @ key[own]) / math.sqrt(size)) for key in keys]
        parts.append(sum(s * value[own] for s, value in zip(scores, values, strict=True)) / sum(scores))
    return torch.cat(parts)


def bert_norm(weights, name, vector):
    spread = math.sqrt(float(((vector - vector.mean()) ** 2).mean()) + 1e-12)
    return weights[f"{name}.weight"] * (vector - vector.mean()) / spread + weights[f"{name}.bias"]


def own_norm(weights, name, vector):
    spread = math.sqrt(float(((vector - vector.mean()) ** 2).sum()) / (len(vector) - 1)) + 1e-6
    return weights[f"{name}.a_2"] * (vector - vector.mean()) / spread + weights[f"{name}.b_2"]


def layer(states, seen, heads, names, norm, weights, act):
    """A transformer layer over a list of states; `seen[i]` are the positions that i sees."""
    query, key, value, merge, up, down, *norms = names
    q, k, v = ([dense(weights, name, state) for state in states] for name in (query, key, value))
    found = []
    for i, state in enumerate(states):
        mixed = attended(q[i], [k[j] for j in seen[i]], [v[j] for j in seen[i]], heads)
        state = norm(weights, norms[0], state + dense(weights, merge, mixed))
        inner = act(dense(weights, up, state))
        found.append(norm(weights, norms[1], state + dense(weights, down, inner)))
    return found


def oracle(weights, tokenizer, linked, sentence):
    """Logits of one statement."""
    weights = {name: some.double() for name, some in weights.items()}
    pieces, kinds, spans = [], [], []

    def read(text, kind, is_cell=False):
        words = tokenizer.tokenize(text)
        spans.extend([range(len(pieces), len(pieces) + len(words))] if is_cell else [])
        pieces.extend(words)
        kinds.extend([kind] * len(words))

    read(f"[CLS] {sentence} [SEP]", "statement")
    read(f"title is : {linked.title} .", "title")
    for number, cells in enumerate(linked.table.rows[:40], start=1):
        read(f"row {number} is : ", number)
        for column in linked.columns:
            read(f"{linked.table.header[column]} is {cells[column]} , ", number, is_cell=True)
    pieces, kinds = pieces[:512], kinds[:512]
    seen = [
        [j for j, other in enumerate(kinds)
         if kind == "statement" or kind == other or (kind != "title" and other in ("statement", "title"))]
        for kind in kinds
    ]  # fmt: skip
    states = []
    for position, (piece, kind) in enumerate(zip(pieces, kinds, strict=True)):
        rows = (tokenizer.convert_tokens_to_ids(piece), int(kind != "statement"), position)
        names = ("word_embeddings", "token_type_embeddings", "position_embeddings")
        total = sum(weights[f"BASE.embeddings.{name}.weight"][row] for name, row in zip(names, rows, strict=True))
        states.append(bert_norm(weights, "BASE.embeddings.LayerNorm", total))
    parts = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
             "intermediate.dense", "output.dense", "attention.output.LayerNorm", "output.LayerNorm")  # fmt: skip
    for number in range(2):
        names = [f"BASE.encoder.layer.{number}.{part}" for part in parts]
        states = layer(states, seen, 2, names, bert_norm, weights, torch.nn.functional.gelu)
    statement = [state for state, kind in zip(states, kinds, strict=True) if kind == "statement"]
    inside = [[states[i] for i in span if i < 512] for span in spans]
    cells = [sum(some) / len(some) for some in inside if some]
    kind = weights["biflow.embedding.weight"]
    states = [state + kind[0] for state in statement] + [cell + kind[1] for cell in cells]
    seen = [range(len(states))] * len(statement) + [range(len(statement))] * len(cells)
    parts = ("mhatt.linear_q", "mhatt.linear_k", "mhatt.linear_v", "mhatt.linear_merge", "ffn.mlp.fc.linear",
             "ffn.mlp.linear", "norm1", "norm2")  # fmt: skip
    for number in range(3):
        names = [f"biflow.encoders.{number}.{part}" for part in parts]
        states = layer(states, seen, 4, names, own_norm, weights, torch.relu)
    return dense(weights, "classifier", states[0]).tolist()


@pytest.mark.parametrize("number", [0, 1, 2, 5, 8])
def test_logits_are_those_of_plain_loops(verifier, number):
    linked, sentence = [*STATEMENTS, (Linked(TALL, (0,), "y"), "sorn")][number]
    expected = oracle(verifier.model.state_dict(), verifier.tokenizer, linked, sentence)
    assert logits(verifier, [linked], [sentence])[0] == pytest.approx(expected, abs=1e-5, rel=0)


def test_plain_loops_where_512_pieces_cut_a_cell(verifier):
    linked, sentence = Linked(LONG, (0, 1), "years"), "no river it it it it it"
    encoded = encoded_statements([linked], [sentence], verifier.tokenizer)[0]
    assert len(encoded["input_ids"]) == 512
    last = encoded["cell"][-1]
    assert 0 < encoded["cell"].count(last) < encoded["cell"].count(last - 2)  # of the same column
    expected = oracle(verifier.model.state_dict(), verifier.tokenizer, linked, sentence)
    assert nli_logits(verifier, [encoded])[0] == pytest.approx(expected, abs=1e-5, rel=0)


def test_batched_is_single(verifier):
    linked, sentences = zip(*STATEMENTS, strict=True)
    single = [logits(verifier, [table], [sentence])[0] for table, sentence in STATEMENTS]
    for tokens in (16_384, 1200, 1):
        for together, alone in zip(logits(verifier, linked, sentences, tokens), single, strict=True):
            assert together == pytest.approx(alone, abs=2e-5)
    verdicts = [row[1] > row[0] for row in single]
    assert nli(linked, sentences, verifier) == verdicts
    assert sum(verdicts) == 4


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda w: {k: v for k, v in w.items() if k != "biflow.encoders.2.norm2.b_2"}, "Missing key.*"),
        (lambda w: w | {"biflow.encoders.3.norm1.a_2": torch.ones(16)}, "Unexpected key.*"),
        (lambda w: w | {"classifier.weight": torch.zeros(3, 16)}, "size mismatch for classifier.weight.*"),
        (lambda w: [1], "ValueError: model_ep4.pt has no weights by name"),
    ],
)
def test_other_weights_are_refused(copy, change, why):
    with pytest.raises(NotApplicable, match=rf"^copy does not load \(.*{why}\): bench doctor"):
        load_nli(str(tiny_nli.changed(copy, change)))


def test_other_folders_are_refused(copy, tmp_path):
    with pytest.raises(NotApplicable, match=r"^needs nothing: bench doctor"):
        load_nli(str(tmp_path / "no" / "nothing"))
    words = (copy / "vocab.txt").read_text(encoding="utf-8")
    (copy / "vocab.txt").write_text(words + "more\n", encoding="utf-8")
    with pytest.raises(NotApplicable, match=r"copy has \d+ words in vocab.txt, \d+ in its weights: bench doctor"):
        load_nli(str(copy))
    torch.save(NotApplicable("x"), copy / tiny_nli.FILE)  # no code is run
    with pytest.raises(NotApplicable, match=r"copy does not load \(ValueError: model_ep4.pt is no file of weights"):
        load_nli(str(copy))
    for name in (tiny_nli.FILE, "vocab.txt"):
        (copy / name).unlink()
        with pytest.raises(NotApplicable, match=rf"needs {name} in copy: bench doctor"):
            load_nli(str(copy))
        (copy / name).touch()


def stored():
    rows, gold = [], {}
    for i, sentence in enumerate(SENTENCES):
        table, columns = ((TABLE, (0, 2)), (LONG, [1]))[i % 2]
        rows.append({"id": f"t{i % 2}/{i:02}", "text": sentence})
        gold[rows[-1]["id"]] = {"table": {"header": table.header, "rows": table.rows}, "columns": columns,
                                "title": "rivers"}  # fmt: skip
    return rows, gold


def test_the_column(folder, monkeypatch):
    monkeypatch.setenv("BENCH_NLI", str(folder))
    rows, gold = stored()
    (score,) = nli_scores(rows, gold)
    assert (score.name, score.unit, score.higher_is_better, score.n) == ("nli-acc", "percent", True, 6)
    linked = [Linked(table_text(gold[row["id"]]["table"]), tuple(gold[row["id"]]["columns"]), "rivers") for row in rows]
    expected = nli(linked, SENTENCES, load_nli(str(folder)))
    assert 0 < sum(expected) < 6
    assert score.value == 100 * sum(expected) / 6
    assert score.signature.startswith("nli-acc|cells:plog|rows:40|columns:linked|max:512|dtype:float32|checkpoint:nli")
    assert score.signature.endswith("|version:1")
    assert str(folder) not in score.signature


def test_what_cannot_be_scored_is_no_number(folder, tmp_path, monkeypatch):
    rows, gold = stored()
    for change, checkpoint, why in [
        ({}, "", "needs model_ep4.pt of NLI_models.zip, its folder named by BENCH_NLI: bench doctor"),
        ({}, str(tmp_path / "a" / "b"), "needs b: bench doctor"),
        ({"columns": []}, str(folder), "no linked columns"),
        ({"columns": None}, str(folder), "no linked columns"),
        ({"title": ""}, str(folder), "no title"),
        ({"table": None, "columns": None, "title": None}, "", "no table"),
    ]:
        monkeypatch.setenv("BENCH_NLI", checkpoint)
        (score,) = nli_scores(rows, gold | {rows[2]["id"]: gold[rows[2]["id"]] | change})
        assert score.value is None
        assert score.signature.endswith(f"|version:1|not applicable: {why}")


def test_cells_are_those_of_rows():
    """Pandas gives a row of numbers one type."""
    mixed = TableText(["a", "b"], [["1990", "7.1"], ["3", "nan"]])
    assert row_cells(mixed).rows == [["1990.0", "7.1"], ["3.0", "nan"]]
    for rows in ([["1990", "7"]], [["1990", "7.1"], ["x", "2.0"]], [["True", "1.0"]], [["1_0", "1.0"]], [["-3"]], []):
        assert row_cells(TableText(["a", "b"], rows)).rows == rows


def test_the_column_reads_cells_as_the_published_script(folder, monkeypatch):
    given = []
    monkeypatch.setenv("BENCH_NLI", str(folder))
    monkeypatch.setattr(f"{nli.__module__}.nli", lambda linked, *_: given.extend(linked) or [True] * len(linked))
    table = {"header": ["a", "b"], "rows": [["1990", "7.10"]]}
    nli_scores([{"id": "a", "text": "b"}], {"a": {"table": table, "columns": (1,), "title": "t"}})
    assert given[0].table.rows == [["1990.0", "7.1"]]
