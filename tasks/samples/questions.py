"""Questions of the built-in samples: everyday questions and instructions with answers that they alone determine.

Rows of Pairs where no file is given. Each kind is a function that draws a question and works its answer out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

__all__ = ["N_PAIRS", "Pair", "in_words", "pairs"]

N_PAIRS = {"train": 300, "valid": 50, "test": 100}
_SEED = "questions sample 1"

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_PEOPLE = ("Anna", "Bela", "Carlos", "Dina", "Emre", "Farah", "Goran", "Hana", "Ivo", "Jana", "Kofi", "Lena", "Milo")
_SHOPS = ("bakery", "library", "museum", "pharmacy", "post office", "bank", "swimming pool", "bookshop", "market hall")
_STREETS = ("Mill Street", "Station Road", "Garden Lane", "Harbour Street", "Church Square", "Oak Avenue")
_GOODS = ("apples", "pears", "candles", "pencils", "stamps", "rolls", "tickets", "cups", "lemons", "notebooks", "eggs")
_COLOURS = ("red", "blue", "green", "yellow", "white", "black", "brown", "grey")
_OPPOSITES = {
    "hot": "cold", "tall": "short", "open": "closed", "early": "late", "full": "empty", "heavy": "light",
    "wet": "dry", "loud": "quiet", "old": "young", "wide": "narrow", "deep": "shallow", "rich": "poor",
    "clean": "dirty", "strong": "weak", "sharp": "blunt", "rough": "smooth", "near": "far", "cheap": "expensive",
}  # fmt: skip
_PAST = {
    "goes": "went", "eats": "ate", "buys": "bought", "writes": "wrote", "finds": "found", "sells": "sold",
    "brings": "brought", "takes": "took", "loses": "lost", "draws": "drew", "sees": "saw", "forgets": "forgot",
}  # fmt: skip
_UNITS = {
    "metres": (100, "centimetres"), "kilometres": (1000, "metres"), "hours": (60, "minutes"), "days": (24, "hours"),
    "weeks": (7, "days"), "kilograms": (1000, "grams"), "minutes": (60, "seconds"), "dozens": (12, "pieces"),
}  # fmt: skip
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


class Pair(NamedTuple):
    """A question or instruction, and its answer."""

    id: str
    source: str
    target: str


def pairs(split: str) -> Sequence[Pair]:
    """Return the built-in pairs of `train`, `valid` or `test`, the same on every machine; none is there twice.

    >>> row = pairs("test")[1]
    >>> print(row.source)
    The library in Station Road is open every day except Tuesday. Is it open on Thursday?
    >>> print(row.target)
    Yes, it is open on Thursday, the library in Station Road.
    """
    names = list(N_PAIRS)
    start = sum(N_PAIRS[name] for name in names[: names.index(split)])
    made = _everything()[start : start + N_PAIRS[split]]
    return tuple(Pair(f"sample-{split}-{number:03d}", *pair) for number, pair in enumerate(made))


def in_words(number: int) -> str:
    """Write a number from 0 to 9,999 in words.

    >>> [in_words(number) for number in (7, 21, 340, 1005)]
    ['seven', 'twenty-one', 'three hundred and forty', 'one thousand and five']
    """
    if number < 20:
        return _ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")
    size, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    most, rest = divmod(number, size)
    joint = " and " if rest < 100 else " "
    return f"{in_words(most)} {name}" + (f"{joint}{in_words(rest)}" if rest else "")


@cache
def _everything() -> tuple[tuple[str, str], ...]:
    """All pairs from one stream of random numbers; the kinds take turns, and no source or target is there twice."""
    rng, made, seen = random.Random(_SEED), list[tuple[str, str]](), set[str]()
    while len(made) < sum(N_PAIRS.values()):
        pair = _KINDS[len(made) % len(_KINDS)](rng)
        if not seen & set(pair):
            seen |= set(pair)
            made.append(pair)
    return tuple(made)


def _weekday(rng: random.Random) -> tuple[str, str]:
    name, today, n = rng.choice(_PEOPLE), rng.randrange(7), rng.randint(2, 12)
    then = _DAYS[(today + n) % 7]
    source = f"Today is {_DAYS[today]}. {name} will come in {in_words(n)} days. On which day is that?"
    return source, f"{name} will come on a {then}, {in_words(n)} days after {_DAYS[today]}."


def _date(rng: random.Random) -> tuple[str, str]:
    month, n = rng.randrange(11), rng.randint(3, 20)
    day = rng.randint(10, _LENGTHS[month])
    later = day + n
    ends = (later, month) if later <= _LENGTHS[month] else (later - _LENGTHS[month], month + 1)
    source = f"It is {day} {_MONTHS[month]} and not a leap year. What is the date in {n} days?"
    return source, f"In {n} days it will be {ends[0]} {_MONTHS[ends[1]]}."


def _sum(rng: random.Random) -> tuple[str, str]:
    a, b = rng.randint(11, 480), rng.randint(11, 480)
    return f"What is {in_words(a)} plus {in_words(b)}?", f"The sum is {in_words(a + b)}."


def _shopping(rng: random.Random) -> tuple[str, str]:
    name, (first, second) = rng.choice(_PEOPLE), rng.sample(_GOODS, 2)
    a, b, more = rng.randint(3, 40), rng.randint(3, 40), rng.randint(2, 20)
    source = f"{name} has {a} {first} and {b} {second} and buys {more} more {first}. How many {first} are there?"
    return source, f"{name} has {a + more} {first}."


def _price(rng: random.Random) -> tuple[str, str]:
    goods, n, cost = rng.choice(_GOODS), rng.randint(3, 12), rng.randint(2, 19)
    source = f"One pack of {goods} costs {cost} crowns. How much do {in_words(n)} packs cost?"
    return source, f"{in_words(n).capitalize()} packs of {goods} cost {n * cost} crowns."


def _hours(rng: random.Random) -> tuple[str, str]:
    shop, street, opens, closes = rng.choice(_SHOPS), rng.choice(_STREETS), rng.randint(6, 11), rng.randint(15, 21)
    asked = rng.choice([hour for hour in range(5, 24) if hour not in (opens, closes)])
    if opens < asked < closes:
        answer = f"Yes, the {shop} in {street} is open from {opens}:00 to {closes}:00."
    else:
        answer = f"No, the {shop} in {street} is open from {opens}:00 to {closes}:00."
    source = f"The {shop} in {street} opens at {opens}:00 and closes at {closes}:00. Can I go there at {asked}:00?"
    return source, answer


def _closed(rng: random.Random) -> tuple[str, str]:
    shop, street, rest = rng.choice(_SHOPS), rng.choice(_STREETS), rng.choice(_DAYS)
    day = rng.choice((rest, rng.choice(_DAYS)))
    answer = f"No, on {rest} it is closed" if day == rest else f"Yes, it is open on {day}"
    source = f"The {shop} in {street} is open every day except {rest}. Is it open on {day}?"
    return source, f"{answer}, the {shop} in {street}."


def _opposites(rng: random.Random) -> tuple[str, str]:
    first, second = rng.sample(list(_OPPOSITES), 2)
    return f"Give the opposites of {first} and {second}.", f"{_OPPOSITES[first]} and {_OPPOSITES[second]}"


def _past(rng: random.Random) -> tuple[str, str]:
    name, other, verb = *rng.sample(_PEOPLE, 2), rng.choice(list(_PAST))
    rest = {"goes": "to", "writes": "to", "sees": "", "finds": "", "forgets": ""}.get(verb, "something for")
    sentence = " ".join(f"{name} {{}} {rest} {other} every {rng.choice(_DAYS)}.".split())
    return f"Put into the past: {sentence.format(verb)}", sentence.format(_PAST[verb])


def _units(rng: random.Random) -> tuple[str, str]:
    unit, n = rng.choice(list(_UNITS)), rng.randint(2, 40)
    size, small = _UNITS[unit]
    return f"How many {small} are {n} {unit}?", f"{n} {unit} are {n * size} {small}."


def _oldest(rng: random.Random) -> tuple[str, str]:
    names, ages = rng.sample(_PEOPLE, 3), rng.sample(range(7, 80), 3)
    said = ", ".join(f"{name} is {age}" for name, age in zip(names, ages, strict=True))
    word, best = rng.choice((("oldest", max(ages)), ("youngest", min(ages))))
    return f"{said}. Who is the {word}?", f"{names[ages.index(best)]} is the {word} with {best} years."


def _sort(rng: random.Random) -> tuple[str, str]:
    words = rng.sample((*_GOODS, *_COLOURS), rng.randint(3, 4))
    return f"Put in alphabetical order: {', '.join(words)}.", ", ".join(sorted(words))


def _clock(rng: random.Random) -> tuple[str, str]:
    name, start, n = rng.choice(_PEOPLE), 5 * rng.randint(72, 240), 5 * rng.randint(3, 36)
    end = (start + n) % 1440
    source = f"{name}'s train leaves at {_time(start)} and takes {n} minutes. When does it arrive?"
    return source, f"{name} arrives at {_time(end)}."


def _missing(rng: random.Random) -> tuple[str, str]:
    start, step = rng.randint(2, 60), rng.randint(2, 15)
    row = [start + place * step for place in range(6)]
    said = ", ".join(map(str, row[:5]))
    return f"Continue the row: {said}, ...", f"The next number is {row[5]}, always {step} more."


def _where(rng: random.Random) -> tuple[str, str]:
    things, colours, people = rng.sample(_GOODS, 2), rng.sample(_COLOURS, 2), rng.sample(_PEOPLE, 2)
    one, two = (f"the {colour} box with the {thing}" for colour, thing in zip(colours, things, strict=True))
    asked = rng.randrange(2)
    source = f"{people[0]} carries {one} and {people[1]} carries {two}. Who has the {things[asked]}, and in which box?"
    return source, f"{people[asked]} has the {things[asked]} in the {colours[asked]} box."


def _time(minutes: int) -> str:
    return f"{minutes // 60}:{minutes % 60:02d}"


_KINDS: tuple[Callable[[random.Random], tuple[str, str]], ...] = (
    _weekday, _date, _sum, _shopping, _price, _hours, _closed, _opposites, _past, _units, _oldest, _sort, _clock,
    _missing, _where,
)  # fmt: skip
