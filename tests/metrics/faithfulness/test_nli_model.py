"""The NLI model: its logits against plain loops, batches against single statements, what it reads of a table."""

import math

import pytest
import torch

from bench.metrics.faithfulness.nli_acc import Linked, encoded_statements, load_nli, nli, nli_logits
from bench.metrics.faithfulness.table_cells import TableText
from tests.metrics.nli_statements import LONG, STATEMENTS, TABLE, balanced, logits, one

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return balanced(tmp_path_factory.mktemp("nli"))


@pytest.fixture(scope="module")
def verifier(folder):
    return load_nli(str(folder))


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
    said = [state for state, kind in zip(states, kinds, strict=True) if kind == "statement"]
    inside = [[states[i] for i in span if i < 512] for span in spans]
    cells = [sum(some) / len(some) for some in inside if some]
    kind = weights["biflow.embedding.weight"]
    states = [state + kind[0] for state in said] + [cell + kind[1] for cell in cells]
    seen = [range(len(states))] * len(said) + [range(len(said))] * len(cells)
    parts = ("mhatt.linear_q", "mhatt.linear_k", "mhatt.linear_v", "mhatt.linear_merge", "ffn.mlp.fc.linear",
             "ffn.mlp.linear", "norm1", "norm2")  # fmt: skip
    for number in range(3):
        names = [f"biflow.encoders.{number}.{part}" for part in parts]
        states = layer(states, seen, 4, names, own_norm, weights, torch.relu)
    return dense(weights, "classifier", states[0]).tolist()


@pytest.mark.parametrize("number", [0, 1, 2, 5])
def test_logits_are_those_of_plain_loops(verifier, number):
    linked, sentence = STATEMENTS[number]
    expected = oracle(verifier.model.state_dict(), verifier.tokenizer, linked, sentence)
    assert one(verifier, linked, sentence) == pytest.approx(expected, abs=1e-5, rel=0)


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
    single = [one(verifier, *some) for some in STATEMENTS]
    for tokens in (16_384, 1200, 1):
        for together, alone in zip(logits(verifier, linked, sentences, tokens), single, strict=True):
            assert together == pytest.approx(alone, abs=2e-5)
    verdicts = [row[1] > row[0] for row in single]
    assert nli(linked, sentences, verifier) == verdicts
    assert sum(verdicts) == 4
    assert nli(linked[::-1], sentences[::-1], verifier) == verdicts[::-1]
    assert nli([], [], verifier) == []


@pytest.mark.parametrize("kind", ["sdpa", "eager"])
def test_every_attention_obeys_the_mask(folder, kind):
    model = load_nli(str(folder)).model
    model.BASE.set_attn_implementation(kind)
    model.BASE.encoder.layer = model.BASE.encoder.layer[:1]  # through a second layer a row sees rows by the statement
    states = []
    model.BASE.register_forward_hook(lambda *given: states.append(given[2].last_hidden_state[0]))
    block = torch.tensor([[0, 0, 1, 1, 2, 2, 3, 3, -1]])
    for changed in ([], [0], [2], [4], [6], [8]):
        ids = torch.arange(10, 19)[None]
        ids[0, changed] = 30
        with torch.inference_mode():
            model(ids, block, torch.full_like(block, -1))
    same = [[bool(torch.allclose(after[i], states[0][i], atol=1e-6)) for i in (1, 3, 5, 7)] for after in states[1:]]
    assert same == [  # what reads: statement, title, rows 1 and 2
        [False, True, False, False],  # the statement changed
        [False, False, False, False],  # the title
        [False, True, False, True],  # row 1
        [False, True, True, False],  # row 2
        [True, True, True, True],  # padding
    ]


def test_kinds_of_attention_agree(folder):
    found = {}
    for kind in ("sdpa", "eager"):
        verifier = load_nli(str(folder))
        verifier.model.BASE.set_attn_implementation(kind)
        found[kind] = [value for row in logits(verifier, *zip(*STATEMENTS, strict=True)) for value in row]
    assert found["sdpa"] == pytest.approx(found["eager"], abs=2e-5)


def test_what_the_model_is_given(verifier):
    tokenizer = verifier.tokenizer
    table = TableText(["Region", "length"], [["Aldra", "10"], ["sorn", "3"]])
    (given,) = encoded_statements([Linked(table, (1, 0), "The Rivers")], ["The Aldra [SEP]rose"], tokenizer)
    text = tokenizer.decode(given["input_ids"])
    assert text.startswith(
        "[CLS] the aldra rose [SEP] title is : the rivers. row 1 is : length is 10, region is aldra,"
    )
    assert text.endswith("row 2 is : length is 3, region is sorn,")
    assert [given["block"].count(i) for i in range(2)] == [
        len(tokenizer.tokenize(part)) for part in ("[CLS] the aldra rose [SEP]", "title is : the rivers .")
    ]
    assert list(dict.fromkeys(given["block"])) == [0, 1, 2, 3]
    assert [number for number in dict.fromkeys(given["cell"]) if number >= 0] == [0, 1, 2, 3]
    assert tokenizer.decode([i for i, cell in zip(given["input_ids"], given["cell"], strict=True) if cell == 2]) == (
        "length is 3,"
    )
    for column in (2, -1):
        with pytest.raises(ValueError, match="expected columns 0 to 1, got "):
            encoded_statements([Linked(table, (column,), "a")], ["a"], tokenizer)


def with_cell(row, column, text, table=TABLE):
    rows = [list(cells) for cells in table.rows]
    rows[row][column] = text
    return table._replace(rows=rows)


def test_only_linked_columns_are_read(verifier):
    linked, sentence = Linked(TABLE, (0, 2), "aldra"), "aldra is long"
    before = one(verifier, linked, sentence)
    for row in range(3):
        for column in range(4):
            after = one(verifier, linked._replace(table=with_cell(row, column, "no one")), sentence)
            assert (after == before) is (column in (1, 3))
    for column in range(4):
        header = [*TABLE.header]
        header[column] = "no one"
        after = one(verifier, linked._replace(table=TABLE._replace(header=header)), sentence)
        assert (after == before) is (column in (1, 3))
    assert one(verifier, linked._replace(title="sorn"), sentence) != before
    assert one(verifier, linked, "sorn is long") != before


def test_rows_past_forty_are_not_read(verifier):
    table = TableText(["a"], [["x"] for _ in range(45)])
    linked = Linked(table, (0,), "y")
    before = one(verifier, linked, "sorn")
    assert len(encoded_statements([linked], ["sorn"], verifier.tokenizer)[0]["input_ids"]) < 512
    assert one(verifier, linked._replace(table=with_cell(40, 0, "z", table)), "sorn") == before
    assert one(verifier, linked._replace(table=with_cell(39, 0, "z", table)), "sorn") != before
    assert one(verifier, linked._replace(table=table._replace(rows=table.rows[:40])), "sorn") == before
    assert one(verifier, linked._replace(table=table._replace(rows=table.rows[:39])), "sorn") != before
