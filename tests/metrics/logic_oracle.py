"""Functions of LogicNLG's programs over pandas, number or text by the type of the column: a slow second way."""

import io
import operator

import pandas as pd

ORDERS = {"less": operator.lt, "greater": operator.gt, "less_eq": operator.le, "greater_eq": operator.ge}
OF_A_COLUMN = {"avg": "mean", "sum": "sum", "max": "max", "min": "min"}


def read(text):
    table = pd.read_csv(io.StringIO(text), sep="#")
    return table.assign(**{name: table[name].astype(object) for name in table if not numeric(table[name])})


def numeric(column):
    return pd.api.types.is_numeric_dtype(column)


def kept(relation, table, column, value):
    cells = table[column]
    if relation in ORDERS:
        return ORDERS[relation](cells, float(value) if numeric(cells) else value)
    if numeric(cells):
        found = cells == float(value)
    elif value.isascii():
        found = cells.str.contains("".join(f"(?=.*{word})" for word in value.split(" ")), regex=True, na=False)
    else:
        found = cells.str.contains(value, regex=False, na=False)
    return ~found if relation == "not_eq" else found


def pair(one, two):
    """Both as numbers, or both as they are."""
    try:
        return float(one), float(two), True
    except ValueError:
        return one, two, False


def run(program, table):
    """Return the value of a read program; raise whatever pandas raises where it has none."""
    if isinstance(program, str):
        return table if program == "all_rows" else program
    name, values = program.function, [run(argument, table) for argument in program.arguments]
    kind, _, relation = name.partition("_")
    if kind in ("filter", "all"):
        found = kept(relation, *values)
        return bool(found.all()) if kind == "all" else values[0][found]
    if name in OF_A_COLUMN:
        return getattr(values[0][values[1]], OF_A_COLUMN[name])()
    if name in ("argmax", "argmin"):
        cells = values[0][values[1]].values
        return values[0][cells == getattr(cells, name[3:])()]
    if name in ("greater", "eq", "not_eq"):
        one, two, numbers = pair(*values)
        if name == "greater":
            return bool(one > two)
        same = bool(one == two if numbers else one in two or two in one)
        return same == (name == "eq")
    return {
        "count": lambda rows: len(rows),
        "only": lambda rows: len(rows) == 1,
        "hop": lambda rows, column: rows[column].values[0],
        "diff": lambda one, two: float(one) - float(two),
        "and": lambda one, two: one and two,
    }[name](*values)
