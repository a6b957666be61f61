"""Statements about linked tables, and a tiny verifier that holds half of them for entailed."""

import torch

from bench.metrics.faithfulness.nli_acc import Linked, encoded_statements, load_nli, nli_logits
from bench.metrics.faithfulness.table_cells import TableText
from tests.metrics import tiny_nli

TABLE = TableText(
    ["region", "length", "share", "year"],
    [["aldra", "10", "7.1", "1"], ["sorn", "nan", "1.0", "2"], ["the long river", "3", "", "3"]],
)
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


def one(verifier, linked, sentence):
    return logits(verifier, [linked], [sentence])[0]
