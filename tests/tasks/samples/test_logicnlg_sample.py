"""LogicNLG's built-in sample: every statement is checked against its table by an evaluator written for this test."""

import hashlib
import json
import re
from collections import Counter
from fractions import Fraction

import pytest

from bench.tasks.files.tables import Table, linearise
from bench.tasks.logicnlg import LogicNLG

ROWS = {split: LogicNLG().sample(split) for split in ("train", "valid", "test")}
EVERY = [example for rows in ROWS.values() for example in rows]


def number(text):
    return Fraction(text.replace(",", ""))


def holds(table, logic):
    """Evaluate a program on the words of the table alone."""
    kind, *rest = logic
    names = [row[0] for row in table.rows]

    def cell(name, column):
        (row,) = [row for row in table.rows if row[0] == name]
        return row[column]

    def column(index):
        return [row[index] for row in table.rows]

    def compared(sign, index, value):
        values = column(index)
        if sign == "=":
            return [v == value for v in values]
        return [number(v) > number(value) if sign == ">" else number(v) < number(value) for v in values]

    match kind, rest:
        case "superlative", [direction, index, name]:
            return holds(table, ("ordinal", direction, 1, index, name))
        case "ordinal", [direction, k, index, name]:
            mine = number(cell(name, index))
            beyond = [v for v in map(number, column(index)) if (v > mine if direction == "max" else v < mine)]
            same = sum(number(v) == mine for v in column(index))
            return same == 1 and len(beyond) == len(set(beyond)) == k - 1
        case "compare", [sign, index, name, other]:
            return (
                names.index(name) != names.index(other)
                and (compared(sign, index, cell(other, index))[names.index(name)])
            )
        case "difference", [index, name, other, amount]:
            return number(cell(name, index)) - number(cell(other, index)) == number(amount) > 0
        case "count", [sign, index, value, n]:
            return sum(compared(sign, index, value)) == n
        case "quantifier", [word, sign, index, value]:
            share = Fraction(sum(compared(sign, index, value)), len(names))
            return {"most": Fraction(1, 2) < share < 1, "all": share == 1, "no": share == 0}[word]
        case "sum", [index, value]:
            return sum(map(number, column(index))) == number(value)
        case "average", [index, value]:
            return sum(map(number, column(index))) == number(value) * len(names)
        case "unique", [index, value, name]:
            return [n for n, v in zip(names, column(index), strict=True) if v == value] == [name]
        case "both", [index, value, name, other]:
            return name != other and cell(name, index) == cell(other, index) == value
        case "negation", [index, value, name]:
            return value in column(index) and cell(name, index) != value
    raise AssertionError(f"no such program: {logic}")


@pytest.mark.parametrize("split", ROWS)
def test_every_statement_is_true(split):
    wrong = [(e.target, e.fields["logic"]) for e in ROWS[split] if not holds(e.fields["table"], e.fields["logic"])]
    assert not wrong


def test_the_evaluator_can_say_no():
    table = Table(
        ("team", "division", "points"), (("a", "x", "3"), ("b", "y", "1,005"), ("c", "y", "4"), ("d", "x", "4"))
    )
    false = [
        ("superlative", "max", 2, "a"), ("ordinal", "max", 2, 2, "c"), ("ordinal", "min", 2, 2, "b"),
        ("compare", ">", 2, "a", "b"), ("compare", "<", 2, "c", "d"), ("difference", 2, "b", "a", "1,003"),
        ("count", ">", 2, "3", 4), ("count", "=", 1, "x", 3), ("quantifier", "most", "<", 2, "4"),
        ("quantifier", "all", ">", 2, "3"), ("quantifier", "no", "<", 2, "4"), ("sum", 2, "1,017"),
        ("average", 2, "4"), ("unique", 1, "y", "b"), ("both", 1, "x", "a", "b"), ("negation", 1, "x", "a"),
    ]  # fmt: skip
    assert not [logic for logic in false if holds(table, logic)]
    assert holds(table, ("superlative", "max", 2, "b"))
    assert holds(table, ("ordinal", "min", 1, 2, "a"))


UP = r"\b(most|more|longest|longer|tallest|taller|oldest|older|later|after)\b"
DOWN = r"\b(fewest|fewer|shortest|shorter|lowest|lower|youngest|younger|earlier|before)\b"


@pytest.mark.parametrize("split", ROWS)
def test_the_words_say_what_the_program_says(split):
    """Direction, names and numbers of the program stand in the sentence, and no other name or number does."""
    for example in ROWS[split]:
        check_words(example)


def check_words(example):
    sentence, logic, table = example.target, example.fields["logic"], example.fields["table"]
    kind, names = logic[0], [row[0] for row in table.rows]
    texts = [str(part) for part in logic[1:] if part not in ("max", "min", ">", "<", "=")]
    index = next(part for place, part in enumerate(logic) if isinstance(part, int) and (kind, place) != ("ordinal", 2))
    texts.remove(str(index))
    if kind == "ordinal":
        texts.remove(str(logic[2]))
        assert {2: "second", 3: "third"}[logic[2]] in sentence.split()
    left = f" {sentence} "
    for text in texts:
        assert f" {text} " in left
        left = left.replace(f" {text} ", "  ", 1)
    assert not re.search(r"\d", left)
    assert [name for name in names if name in sentence] == [name for name in names if name in texts]
    if kind in ("superlative", "ordinal", "compare", "count", "quantifier") and "=" not in logic:
        # "most" counts rows in a quantifier, and "won the most" is a direction
        said = left.replace(" most ", " ", 1) if logic[1] == "most" else left
        up = "max" in logic or ">" in logic
        assert bool(re.search(UP, said)) == up
        assert bool(re.search(DOWN, said)) != up
    if kind == "negation":
        assert " not " in left
    assert (
        table.header[index].rstrip("s").split()[-1] in sentence
        or index == 1
        or re.search(r"length|distance|height|minutes|age|year", table.header[index])
    )


def test_sizes_and_fields():
    assert {split: len(rows) for split, rows in ROWS.items()} == {"train": 300, "valid": 60, "test": 100}
    assert len({e.id for e in EVERY}) == len(EVERY)
    for example in EVERY:
        table, columns = example.fields["table"], example.fields["columns"]
        assert example.source == ""
        assert example.target in example.references
        assert len(example.references) == 5
        assert example.id.startswith(f"{example.fields['table_id']}/")
        assert columns
        assert all(0 <= column < len(table.header) for column in columns)
        assert 5 <= len(table.rows) <= 8
        assert len({row[0] for row in table.rows}) == len(table.rows)
        assert example.target == example.target.lower()
        assert "  " not in example.target
        assert not re.search("[{}]", example.target + example.fields["title"])


def test_no_table_or_title_is_in_two_splits():
    for what in ("table", "title", "table_id"):
        seen = [{e.fields[what] for e in rows} for rows in ROWS.values()]
        assert sum(map(len, seen)) == len(set().union(*seen)) == 92


def test_every_kind_of_logic_and_every_domain_is_in_train_and_test():
    kinds = {split: Counter(e.fields["logic"][0] for e in rows) for split, rows in ROWS.items()}
    assert len(kinds["train"]) == len(kinds["test"]) == 11
    assert {e.fields["table"].header for e in ROWS["train"]} == {e.fields["table"].header for e in ROWS["test"]}
    assert max(kinds["train"].values()) < 0.3 * 300


def test_statements_of_a_table_differ_and_rows_are_short_enough_for_small_models():
    assert all(len(set(e.references)) == 5 for e in EVERY)
    texts = [linearise(e.fields["table"], e.fields["title"], e.fields["columns"], style="compact").text for e in EVERY]
    assert max(len(text.split()) for text in texts) < 100


def test_the_rows_are_the_same_everywhere():
    """A change of the sample changes numbers: this hash says so."""
    rows = [
        (e.id, e.target, e.fields["title"], e.fields["columns"], e.fields["table"].rows, e.fields["logic"])
        for e in EVERY
    ]
    assert hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16] == "cb4d67127877781b"
