"""LogicNLG's built-in sample: invented tables and statements that are true of them, both generated here.

Nobody and nothing in them is real. Each statement carries its logic, a small program in `fields["logic"]`:

    ("superlative", "max" | "min", column, name)         ("ordinal", "max" | "min", k, column, name)
    ("compare", ">" | "<", column, name, other)          ("difference", column, name, other, amount)
    ("count", ">" | "<" | "=", column, value, n)         ("quantifier", "most" | "all" | "no", ">" | "<", column, value)
    ("sum", column, value)                               ("average", column, value)
    ("unique", column, value, name)                      ("both", column, value, name, other)
    ("negation", column, value, name)

where column is an index, names are cells of column 0, and values are written as in the sentence.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Literal

from bench.tasks.example import Example
from bench.tasks.tables import Table

__all__ = ["N_TABLES", "STATEMENTS_PER_TABLE", "sample"]

N_TABLES = {"train": 60, "valid": 12, "test": 20}
STATEMENTS_PER_TABLE = 5
_SEED = "logicnlg sample 1"
_ORDINALS = {2: "second", 3: "third"}
_ROUND = (1, 5, 10, 50, 100, 500, 1000, 5000, 10000)
_LABEL = 1  # every table has its names first, then what rows share, then numbers

Logic = tuple[str | int, ...]


@dataclass(frozen=True)
class Measure:
    """A numeric column and how one speaks of it; {x} is a name or a number, {d} a difference, {k} '' or 'second '."""

    header: str
    low: int
    high: int
    verb: str
    verbs: str  # the same for several
    up: str
    down: str
    over: str
    under: str
    by: str
    top: str = ""  # empty where nobody says it
    bottom: str = ""
    total: str = ""
    mean: str = ""
    tenths: bool = False  # written 12.3, drawn as 123
    commas: bool = False  # written 12,300

    def write(self, value: int | Fraction) -> str:
        """Write a value of the column, or a sum or difference of such."""
        if self.tenths:
            return f"{float(value / 10):.1f}"
        return f"{int(value):,}" if self.commas else str(int(value))


@dataclass(frozen=True)
class Category:
    """A column of names that rows may share; `verb rest` as in `plays | play | does not play` `in {x}`."""

    header: str
    values: Sequence[str]
    verb: str
    verbs: str
    negated: str
    rest: str


@dataclass(frozen=True)
class Domain:
    """A kind of table; {place}, {region}, {person} and {year} in title and names are filled in."""

    title: str
    noun: str
    nouns: str
    names: Sequence[str]
    category: Category
    measures: Sequence[Measure]


def amount(noun: str, verb: str, low: int, high: int, verbs: str = "", *, commas: bool = False) -> Measure:
    """Something one has more or fewer of: `scored more goals than {x}`."""
    verbs = verbs or verb
    return Measure(
        noun, low, high, verb, verbs, commas=commas,
        up=f"more {noun} than {{x}}", down=f"fewer {noun} than {{x}}", by=f"{{d}} more {noun} than {{x}}",
        over=f"more than {{x}} {noun}", under=f"fewer than {{x}} {noun}",
        top=f"the {{k}}most {noun}", bottom=f"the {{k}}fewest {noun}",
        total=f"{verbs} {{x}} {noun} in total", mean=f"{verbs} {{x}} {noun} on average",
    )  # fmt: skip


def degree(header: str, words: str, unit: str, low: int, high: int, noun: str, *, tenths: bool = False) -> Measure:
    """Something one is more or less of; words as in `long longer longest shorter shortest`."""
    plain, more, most, less, least = words.split()
    return Measure(
        header, low, high, "is", "are", tenths=tenths,
        up=f"{more} than {{x}}", down=f"{less} than {{x}}", by=f"{{d}} {unit} {more} than {{x}}",
        over=f"{more} than {{x}} {unit}", under=f"{less} than {{x}} {unit}",
        top=f"the {{k}}{most} {noun}", bottom=f"the {{k}}{least} {noun}", mean=f"are {{x}} {unit} {plain} on average",
    )  # fmt: skip


def year(verb: str, low: int, high: int, verbs: str = "") -> Measure:
    """A year in which something happened."""
    return Measure(
        "year", low, high, verb, verbs or verb, up="later than {x}", down="earlier than {x}",
        over="after {x}", under="before {x}", by="{d} years later than {x}",
    )  # fmt: skip


def _words(text: str, before: str = "") -> tuple[str, ...]:
    return tuple(before + word for word in text.split())


def _pairs(first: str, second: str, between: str = " ") -> tuple[str, ...]:
    """Every word of one before every word of the other."""
    return tuple(f"{a}{between}{b}" for a in first.split() for b in second.split())


_PLACES = _pairs("ald bren cor dun el far gal hol mar os", "ford ton mere wick by", "")
_PEOPLE = _pairs("ada emil ines jonas lena milo nora otto", "arden brook calder dane ferris holt lund")
_REGIONS = ("northern", "southern", "eastern", "western", "central", "coastal", "upland", "island")
_SEAS = ("amber sea", "grey sea", "long bay", "lake orrin")

_LENGTH = "long longer longest shorter shortest"

DOMAINS = (
    Domain(
        "{year} {region} football league", "team", "teams", _pairs(" ".join(_PLACES[::2]), "rovers united athletic"),
        Category("division", ("north", "south", "east"), "plays", "play", "does not play", "in the {x} division"),
        (amount("points", "collected", 12, 78), amount("goals", "scored", 15, 80), amount("losses", "had", 2, 20)),
    ),
    Domain(
        "{year} {place} council election", "party", "parties",
        _pairs("harbour orchard lantern bridge meadow anchor summit compass river forge", "party"),
        Category("wing", ("government", "opposition"), "sits", "sit", "does not sit", "with the {x}"),
        (amount("votes", "received", 900, 24000, commas=True), amount("seats", "won", 2, 19),
         amount("candidates", "fielded", 8, 40)),
    ),
    Domain(
        "films of {person}", "film", "films",
        _pairs("last silent golden hidden broken distant", "harbour winter garden letter road mirror"),
        Category("director", _PEOPLE[::9], "was", "were", "was not", "directed by {x}"),
        (degree("minutes", _LENGTH, "minutes", 74, 168, "film"), amount("awards", "won", 2, 14),
         year("was released", 1950, 2010, "were released")),
    ),
    Domain(
        "rivers around {place}", "river", "rivers", _pairs(" ".join(_PLACES), "river"),
        Category("mouth", ("amber sea", "grey sea", "long bay", "lake orrin"), "flows", "flow", "does not flow",
                 "into the {x}"),
        (degree("length", _LENGTH, "km", 250, 4200, "river", tenths=True), amount("bridges", "has", 2, 30, "have"),
         amount("towns", "passes", 3, 25, "pass")),
    ),
    Domain(
        "{person} discography", "album", "albums",
        _pairs("paper blue slow open second", "days songs rooms lines tides"),
        Category("label", ("kestrel records", "north star", "halfmoon"), "was", "were", "was not", "issued by {x}"),
        (amount("copies", "sold", 1200, 98000, commas=True), amount("tracks", "has", 8, 17, "have"),
         year("was recorded", 1965, 2012, "were recorded")),
    ),
    Domain(
        "departures from {place} airport in {year}", "flight", "flights", _pairs("ka vo zl", "104 111 125 139 160 188"),
        Category("airline", ("kardan air", "volare", "zephyr lines"), "is", "are", "is not", "operated by {x}"),
        (amount("passengers", "carried", 40, 280), degree("distance", _LENGTH, "miles", 180, 2400, "flight"),
         amount("crew members", "has", 3, 14, "have")),
    ),
    Domain(
        "medal table of the {year} {region} games", "nation", "nations",
        _words("arlia borland castora delia estland fennia gorland havia ilmora jorland kestia lumora"),
        Category("group", ("a", "b", "c"), "started", "started", "did not start", "in group {x}"),
        (amount("gold medals", "won", 2, 24), amount("silver medals", "won", 2, 24),
         amount("athletes", "sent", 20, 260)),
    ),
    Domain(
        "tallest buildings in {place}", "building", "buildings",
        _pairs("amber willow granite copper falcon juniper", "tower house plaza"),
        Category("district", ("harbour", "market", "station"), "stands", "stand", "does not stand",
                 "in the {x} district"),
        (degree("height", "tall taller tallest lower lowest", "m", 620, 3100, "building", tenths=True),
         amount("floors", "has", 14, 72, "have"), year("opened", 1930, 2015)),
    ),
    Domain(
        "museums around {place}", "museum", "museums",
        _words("glass clocks maps toys ships coins salt tea stone wool bells paper", "museum of "),
        Category("city", _PLACES[2::7], "lies", "lie", "does not lie", "in {x}"),
        (amount("visitors", "received", 2100, 64000, commas=True), amount("rooms", "has", 3, 40, "have"),
         year("opened", 1880, 2010)),
    ),
    Domain(
        "{year} tour of the {region} province", "rider", "riders", _PEOPLE,
        Category("team", ("blue wheel", "velo forte", "team summit", "cadence"), "rides", "ride", "does not ride",
                 "for {x}"),
        (amount("points", "earned", 5, 120), amount("attacks", "made", 2, 25),
         degree("age", "old older oldest younger youngest", "years", 19, 38, "rider")),
    ),
)  # fmt: skip


def sample(split: Literal["train", "valid", "test"]) -> list[Example]:
    """Return the built-in rows of a split, the same on every machine; no table is in two splits.

    >>> example = sample("test")[0]
    >>> example.id, example.target
    ('sample-test-000.csv/0', '4 films were directed by jonas lund')
    >>> example.fields["title"], example.fields["logic"]
    ('films of nora lund', ('count', '=', 1, 'jonas lund', 4))
    """
    names = list(N_TABLES)
    start = sum(N_TABLES[name] for name in names[: names.index(split)])
    tables = _everything()[start : start + N_TABLES[split]]
    examples = []
    for number, (table, title, statements) in enumerate(tables):
        table_id = f"sample-{split}-{number:03d}.csv"
        references = tuple(sentence for sentence, _, _ in statements)
        for place, (sentence, columns, logic) in enumerate(statements):
            fields = {"table": table, "title": title, "columns": columns, "table_id": table_id, "logic": logic}
            examples.append(Example(f"{table_id}/{place}", "", sentence, references, fields))
    return examples


Statement = tuple[str, tuple[int, ...], Logic]


@cache
def _everything() -> list[tuple[Table, str, list[Statement]]]:
    """All tables from one stream of random numbers, with different titles."""
    rng, made, titles = random.Random(_SEED), list[tuple[Table, str, list[Statement]]](), set[str]()
    while len(made) < sum(N_TABLES.values()):
        drawn = _Drawn(DOMAINS[len(made) % len(DOMAINS)], rng)
        statements = _statements(drawn, rng)
        if drawn.title not in titles and len(statements) == STATEMENTS_PER_TABLE:
            titles.add(drawn.title)
            made.append((drawn.table, drawn.title, statements))
    return made


class _Drawn:
    """One table of a domain, with the numbers behind its cells."""

    def __init__(self, domain: Domain, rng: random.Random) -> None:
        """Draw title, names, categories and numbers."""
        self.domain = domain
        words = {"place": _PLACES, "region": _REGIONS, "person": _PEOPLE, "year": range(1960, 2020)}
        self.title = domain.title.format(**{name: rng.choice(pool) for name, pool in words.items()})
        self.names = rng.sample(list(domain.names), rng.randint(5, 8))
        labels = rng.sample(list(domain.category.values), min(3, len(domain.category.values)))
        self.labels = [rng.choice(labels) for _ in self.names]
        self.numbers = [[rng.randint(measure.low, measure.high) for _ in self.names] for measure in domain.measures]
        written = [map(measure.write, numbers) for measure, numbers in zip(domain.measures, self.numbers, strict=True)]
        header = (domain.noun, domain.category.header, *(measure.header for measure in domain.measures))
        self.table = Table(header, tuple(zip(self.names, self.labels, *written, strict=True)))


def _statements(drawn: _Drawn, rng: random.Random) -> list[Statement]:
    """Statements of different kinds; fewer than wanted when the numbers do not allow more."""
    found: list[Statement] = []
    for kind in rng.sample(_KINDS, len(_KINDS)):
        statement = kind(drawn, rng)
        if statement and len(found) < STATEMENTS_PER_TABLE:
            found.append(statement)
    return found


def _superlative(drawn: _Drawn, rng: random.Random) -> Statement | None:
    column, measure, numbers = _measure(drawn, rng, "top")
    direction, best, phrase = rng.choice((("max", max(numbers), measure.top), ("min", min(numbers), measure.bottom)))
    if numbers.count(best) > 1:
        return None
    name, phrase = drawn.names[numbers.index(best)], phrase.format(k="")
    turned = (
        f"{phrase} is {name}"
        if measure.verb == "is"
        else f"{name} is the {drawn.domain.noun} that {measure.verb} {phrase}"
    )
    sentence = rng.choice((f"{name} {measure.verb} {phrase}", turned))
    return sentence, (0, column), ("superlative", direction, column, name)


def _ordinal(drawn: _Drawn, rng: random.Random) -> Statement | None:
    column, measure, numbers = _measure(drawn, rng, "top")
    k, direction = rng.choice((2, 3)), rng.choice(("max", "min"))
    ordered = sorted(numbers, reverse=direction == "max")
    if len(set(ordered[: k + 1])) <= k:  # a tie near the k-th place: nobody could say who is meant
        return None
    name = drawn.names[numbers.index(ordered[k - 1])]
    phrase = (measure.top if direction == "max" else measure.bottom).format(k=f"{_ORDINALS[k]} ")
    return f"{name} {measure.verb} {phrase}", (0, column), ("ordinal", direction, k, column, name)


def _compare(drawn: _Drawn, rng: random.Random) -> Statement | None:
    column, measure, numbers = _measure(drawn, rng)
    one, other = rng.sample(range(len(numbers)), 2)
    if numbers[one] == numbers[other]:
        return None
    sign, phrase = (">", measure.up) if numbers[one] > numbers[other] else ("<", measure.down)
    name, second = drawn.names[one], drawn.names[other]
    return f"{name} {measure.verb} {phrase.format(x=second)}", (0, column), ("compare", sign, column, name, second)


def _difference(drawn: _Drawn, rng: random.Random) -> Statement | None:
    column, measure, numbers = _measure(drawn, rng)
    less, more = sorted(rng.sample(range(len(numbers)), 2), key=numbers.__getitem__)
    if numbers[more] - numbers[less] < 2:  # no "1 more points"
        return None
    by, name, other = measure.write(numbers[more] - numbers[less]), drawn.names[more], drawn.names[less]
    sentence = f"{name} {measure.verb} {measure.by.format(d=by, x=other)}"
    return sentence, (0, column), ("difference", column, name, other, by)


def _count(drawn: _Drawn, rng: random.Random) -> Statement | None:
    column, measure, numbers = _measure(drawn, rng)
    found = _threshold(rng, measure, numbers, lambda n: 1 < n < len(numbers))
    if not found:
        return None
    sign, value, n = found
    what = f"{measure.verbs} {_beyond(measure, sign, value)}"
    sentence = rng.choice((f"{n} {drawn.domain.nouns} {what}", f"there are {n} {drawn.domain.nouns} that {what}"))
    return sentence, (column,), ("count", sign, column, value, n)


def _count_label(drawn: _Drawn, rng: random.Random) -> Statement | None:
    value = rng.choice(drawn.labels)
    n = drawn.labels.count(value)
    sentence = f"{n} {drawn.domain.nouns} {_does(drawn, value, several=True)}"
    return (sentence, (_LABEL,), ("count", "=", _LABEL, value, n)) if n > 1 else None


def _quantifier(drawn: _Drawn, rng: random.Random) -> Statement | None:
    column, measure, numbers = _measure(drawn, rng)
    word, low, high = rng.choice(
        (("most", len(numbers) // 2 + 1, len(numbers) - 1), ("all", len(numbers), 99), ("no", 0, 0))
    )
    found = _threshold(rng, measure, numbers, lambda n: low <= n <= high)
    if not found:
        return None
    sign, value, _ = found
    noun, verb = (drawn.domain.noun, measure.verb) if word == "no" else (drawn.domain.nouns, measure.verbs)
    sentence = f"{word} {noun} {verb} {_beyond(measure, sign, value)}"
    return sentence, (column,), ("quantifier", word, sign, column, value)


def _sum(drawn: _Drawn, rng: random.Random) -> Statement | None:
    column, measure, numbers = _measure(drawn, rng, "total")
    value = measure.write(sum(numbers))
    return f"the {drawn.domain.nouns} {measure.total.format(x=value)}", (column,), ("sum", column, value)


def _average(drawn: _Drawn, rng: random.Random) -> Statement | None:
    column, measure, numbers = _measure(drawn, rng, "mean")
    mean = Fraction(sum(numbers), len(numbers))
    if mean.denominator > 1:  # rounded, it would not be true
        return None
    value = measure.write(mean)
    return f"the {drawn.domain.nouns} {measure.mean.format(x=value)}", (column,), ("average", column, value)


def _unique(drawn: _Drawn, rng: random.Random) -> Statement | None:
    single = [place for place, label in enumerate(drawn.labels) if drawn.labels.count(label) == 1]
    if not single:
        return None
    place = rng.choice(single)
    name, value = drawn.names[place], drawn.labels[place]
    sentence = f"{name} is the only {drawn.domain.noun} that {_does(drawn, value)}"
    return sentence, (0, _LABEL), ("unique", _LABEL, value, name)


def _both(drawn: _Drawn, rng: random.Random) -> Statement | None:
    one, other = rng.sample(range(len(drawn.labels)), 2)
    if drawn.labels[one] != drawn.labels[other]:
        return None
    name, second, value = drawn.names[one], drawn.names[other], drawn.labels[one]
    kind = drawn.domain.category
    both = f"{kind.verbs} both" if kind.verbs in ("are", "were") else f"both {kind.verbs}"
    sentence = f"{name} and {second} {both} {kind.rest.format(x=value)}"
    return sentence, (0, _LABEL), ("both", _LABEL, value, name, second)


def _negation(drawn: _Drawn, rng: random.Random) -> Statement | None:
    place, value = rng.randrange(len(drawn.labels)), rng.choice(drawn.labels)
    if drawn.labels[place] == value:
        return None
    name, kind = drawn.names[place], drawn.domain.category
    return f"{name} {kind.negated} {kind.rest.format(x=value)}", (0, _LABEL), ("negation", _LABEL, value, name)


_KINDS: tuple[Callable[[_Drawn, random.Random], Statement | None], ...] = (
    _superlative, _ordinal, _compare, _difference, _count, _count_label, _quantifier, _sum, _average, _unique, _both,
    _negation,
)  # fmt: skip


def _does(drawn: _Drawn, value: str, several: bool = False) -> str:
    kind = drawn.domain.category
    return f"{kind.verbs if several else kind.verb} {kind.rest.format(x=value)}"


def _measure(drawn: _Drawn, rng: random.Random, needed: str = "by") -> tuple[int, Measure, list[int]]:
    """Pick a numeric column that has the needed phrase: its index, how to speak of it, its numbers."""
    able = [place for place, measure in enumerate(drawn.domain.measures) if getattr(measure, needed)]
    place = rng.choice(able)
    return _LABEL + 1 + place, drawn.domain.measures[place], drawn.numbers[place]


def _threshold(
    rng: random.Random, measure: Measure, numbers: Sequence[int], wanted: Callable[[int], bool]
) -> tuple[str, str, int] | None:
    """Pick a round number with a wanted count of values above or below it: (sign, number as written, count)."""
    step = max(size for size in _ROUND if size <= max(1, (measure.high - measure.low) // 8))
    found = []
    for value in range((min(numbers) // step - 2) * step, max(numbers) + 3 * step, step):
        above, below = sum(n > value for n in numbers), sum(n < value for n in numbers)
        found += [(sign, value, n) for sign, n in ((">", above), ("<", below)) if wanted(n) and value > 1]
    if not found:
        return None
    sign, value, n = rng.choice(found)
    return sign, measure.write(value).removesuffix(".0"), n


def _beyond(measure: Measure, sign: str, value: str) -> str:
    return (measure.over if sign == ">" else measure.under).format(x=value)
