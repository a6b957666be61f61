"""Built-in rows of Ambiguous Template: pairs and sentences of this project's own making.

A stand-in for the Google analogies and the paper's templates where no data folder is given. The pairs are general
knowledge; no word is in two of them, so words of test pairs never occur in train.
"""

from __future__ import annotations

import random
from functools import cache
from itertools import combinations

from bench.tasks.analogies import split_list
from bench.tasks.example import Example
from bench.tasks.templates import Numbered, expand

__all__ = ["MOST_ROWS", "TEMPLATES", "WORD_PAIRS", "sample"]

MOST_ROWS = 6_000
SEED = 42
ROWS_OF_AN_ANALOGY = 32

TEMPLATES = {
    "people": (
        "At the long table the {} sat beside the {}, and a painter made a portrait of the",
        "Neither the {} nor the {} wanted to answer, so the judge turned first to the",
        "One ticket was left for the {} or the {}, and after much talk it went to the",
        "A letter came for the {} and a parcel for the {}, but the door was opened by the",
    ),
    "location": (
        "Trains leave every night for {} and for {}, and tonight she will board the one to",
        "The exhibition will be shown in {} and in {}, but its opening is planned for",
        "He sent us postcards from {} and from {}, and the one on my desk is from",
        "Half of the team works in {} and half in {}, so this year we all meet in",
    ),
}

_LISTED = {
    "people": (
        "actor actress, waiter waitress, host hostess, heir heiress, duke duchess, baron baroness, emperor empress, "
        "monk nun, wizard witch, lord lady, landlord landlady, hero heroine, widower widow, knight dame, "
        "count countess, abbot abbess, steward stewardess, salesman saleswoman, headmaster headmistress, "
        "godfather godmother, shepherd shepherdess, sorcerer sorceress, viscount viscountess, bridegroom bride"
    ),
    "capitals": (
        "Lisbon Portugal, Vienna Austria, Warsaw Poland, Prague Czechia, Budapest Hungary, Copenhagen Denmark, "
        "Dublin Ireland, Brussels Belgium, Sofia Bulgaria, Bucharest Romania, Zagreb Croatia, Tallinn Estonia, "
        "Riga Latvia, Vilnius Lithuania, Reykjavik Iceland, Valletta Malta, Nicosia Cyprus, Ankara Turkey, "
        "Amman Jordan, Nairobi Kenya, Kampala Uganda, Accra Ghana, Dakar Senegal, Rabat Morocco, Lima Peru, "
        "Santiago Chile, Bogota Colombia, Quito Ecuador, Caracas Venezuela, Montevideo Uruguay, "
        "Manila Philippines, Vientiane Laos, Kathmandu Nepal, Dhaka Bangladesh, "
        "Tashkent Uzbekistan, Yerevan Armenia, Baku Azerbaijan, Ottawa Canada"
    ),
    "regions": (
        "Munich Bavaria, Marseille Provence, Florence Tuscany, Palermo Sicily, Milan Lombardy, Turin Piedmont, "
        "Barcelona Catalonia, Seville Andalusia, Toronto Ontario, Montreal Quebec, Calgary Alberta, Innsbruck Tyrol, "
        "Graz Styria, Dresden Saxony, Erfurt Thuringia, Sapporo Hokkaido, Chengdu Sichuan, Mumbai Maharashtra, "
        "Ahmedabad Gujarat, Brisbane Queensland, Melbourne Victoria, Antwerp Flanders, Glasgow Scotland, Cardiff Wales"
    ),
}

WORD_PAIRS = {
    category: tuple((first, second) for first, second in map(str.split, listed.split(", ")))
    for category, listed in _LISTED.items()
}


def sample(split: str) -> list[Example]:
    """Return the built-in rows of `train`, `valid` or `test`: 5,984 each, and no prompt in two of them.

    Two pairs make one analogy; the other way round it would give the same prompts. Lists are split by pairs, as in the
    recipe, and a fixed choice of each split's analogies is kept.

    >>> row = sample("train")[0]
    >>> row.target in row.source, sorted(row.references) == sorted(row.fields["words"])
    (True, True)
    """
    return list(_rows(split))


@cache
def _rows(split: str) -> tuple[Example, ...]:
    listed: list[tuple[str, Numbered]] = []
    for category, pairs in WORD_PAIRS.items():
        analogies = [(a, b, c, d) for (a, b), (c, d) in combinations(pairs, 2)]
        listed += [(category, numbered) for numbered in split_list(analogies, category, SEED)[split]]
    kept = random.Random(f"{SEED}/{split}").sample(listed, MOST_ROWS // ROWS_OF_AN_ANALOGY)
    return tuple(row for category, numbered in sorted(kept) for row in expand(category, [numbered], TEMPLATES))
