"""News of the built-in samples: articles about invented events, with their summaries, highlights and headlines.

Rows of XSum, CNN/DM, Gigaword and DUC2004 where no data folder is given. An article is one event of a grammar of this
project's own; nobody and nothing in it is real. Sections of the grammar of an event: `facts`, a name and a pattern
each, bound once for an article; the `lead`, `first` and `second` sentence, which always stand in the body; what the
official (`{chief}`) and the `witness` say; `more`, of which some are told; and what others write about the article:
`summary`, `point 1` to `point 4`, `headline`. Those use only what lead, first and second say, so all of it is true.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from bench.tasks.samples.grammar import Writer, patterns, sections
from bench.tasks.samples.news_emergencies import EMERGENCIES
from bench.tasks.samples.news_occasions import BACKGROUND, CLOSING, OCCASIONS

__all__ = ["N_ARTICLES", "Article", "articles"]

N_ARTICLES = {"train": 300, "valid": 50, "test": 100}
_SEED = "news sample 1"
_NAMES = ("she", "he", "surname.head", "surname.tail", "town.head", "town.tail")
_EVENTS = EMERGENCIES | OCCASIONS
_LENGTHS = (25, 35), (12, 25), (6, 10)
"""Fewest and most words of a lead, a summary and a headline; what comes out otherwise is drawn again."""

_WORDS = {
    "town": "{town.head}{town.tail}",
    "town.head": "Brack Adder Carn Dray Eskel Fallow Garr Hollin Ister Jarrow Kelder Lorn Marrin Norden Ossel Pell "
    "Quarn Ruddel Sorrel Tamber Under Vessel Wickel Yarrel Zander Bannow Corrin Dellow Ember Firrel",
    "town.tail": "port ford burg stead field mouth ham bridge wick dale ton haven minster cliff",
    "region": "the~Northern~Uplands the~Vesper~Coast the~Lower~Marches Karelle~Province the~Lake~District~of~Orr "
    "the~Amber~Islands the~Western~Heath the~Tolm~Valley Sarnia~County the~Border~Hills Upper~Losna the~Grey~Fens",
    "she": "Ilka Maren Dorota Selma Yasmin Petra Naveen Orla Thea Birgit Carmen Fatima Greta Hilde Ines Judit Katya "
    "Leonie Mirela Nadia Paloma Ruta Sanna Tilda Ursula Vera Wanda Zelda Amaya Bronwen",
    "he": "Anton Tarik Emeric Jonas Milan Pavel Rasmus Viktor Bruno Casper Dario Edgar Farid Goran Hamish Igor Janek "
    "Kofi Lucian Marek Nestor Otis Piet Ruben Stellan Tomas Ulrich Vasco Yannis Zoltan",
    "surname": "{surname.head}{surname.tail}",
    "surname.head": "Bress Tolv Kard Hald Verr Mand Osk Sell Tarr Vint Brand Corv Dress Eld Farn Grav Holm Jask Kest "
    "Lund Morr Nask Pend Rask Storv Ulm Wend Yald",
    "surname.tail": "ane ell ow ander ik ini ova ers ard ett osa ing ulla orn eby ansky",
    "river": "Orrin Losna Tamber Velm Isk Drava~Minor Sarn Little~Ouze Marn Ebbel Culm Wyre~Brook",
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "month": "March June October January May September December April November February August July",
    "trade": "teacher baker nurse driver farmer plumber student gardener electrician cook fisherman translator "
    "pharmacist carpenter librarian dentist tailor beekeeper painter postman locksmith organist",
    "kin": "mother father brother sister grandmother uncle daughter son cousin grandfather niece nephew",
    "animal": "dog cat goat horse parrot pig donkey sheepdog hen mule",
    "food": "bread soup cheese cider honey plums herring sausages cherries dumplings mustard pears",
    "stone": "marble granite slate amber glass copper sandstone jade limestone basalt",
    "school": "primary~school sports~hall town~library grammar~school parish~hall music~school",
    "shop": "bakery pharmacy post~office bookshop butcher's~shop barber's~shop tea~house market~hall fish~shop",
    "industry": "fishing tourism timber glass shipbuilding paper beekeeping wool salt",
    "adjective": "surprising sad good strange bad curious alarming",
    "rescuer": "fire~chief head~of~the~rescue~service mayor civil~protection~officer harbour~master district~engineer",
    "ruler": "governor president culture~minister prime~minister first~minister",
    "police": "police~chief chief~inspector state~prosecutor police~spokesman detective~in~charge",
    "hall": "warehouse furniture~factory theatre hotel paper~mill shopping~centre sawmill cinema dance~hall brewery",
    "room": "kitchen cellar store~room lift~shaft boiler~room workshop laundry",
    "side": "Civic~League Harbour~Party Green~Alliance National~Labour~Party Farmers'~Union Liberal~Reform~Movement "
    "People's~Front Citizens'~List",
    "promise": "lower~the~rents build~a~second~bridge plant~ten~thousand~trees open~the~old~harbour "
    "make~buses~free repair~every~school halve~the~number~of~councillors bring~back~the~night~train",
    "work": "concert~hall public~library swimming~pool art~gallery railway~station planetarium town~hall theatre "
    "botanical~garden maritime~museum ice~rink observatory",
    "club": "Rovers United Athletic City Wanderers Albion Rangers",
    "league": "Premier~Division Northern~League Coastal~League Second~Division Union~League",
    "wanderer": "hiker student climber surveyor tourist scout geologist caver photographer",
    "trap": "flooded~cave salt~mine sea~cave railway~tunnel silver~mine drainage~tunnel slate~mine",
    "depth": "900~metres~(2,950~feet) 400~metres~(1,310~feet) 1,200~metres~(3,940~feet) 650~metres~(2,130~feet) "
    "2,100~metres~(6,890~feet) 300~metres~(980~feet)",
    "union": "Transport~Workers'~Union Federation~of~Port~Workers General~Trades~Union Union~of~Metal~Workers "
    "Food~and~Drink~Union Alliance~of~Public~Employees",
    "firm": "Kestran~Foods Halden~Motors Merran~Steel Northline~Ferries Tarva~Glass Lumar~Power Orbel~Paper "
    "Sable~Freight Corona~Textiles Vorna~Chemicals",
    "job": "workers drivers mechanics technicians packers cleaners engineers clerks electricians",
    "loot": "gold~coins silver~masks rare~stamps medieval~maps ivory~chessmen royal~jewels bronze~figures old~violins "
    "painted~fans antique~clocks",
    "museum": "City~Museum Museum~of~Glass Maritime~Museum Royal~Gallery Museum~of~Coins House~of~Music "
    "Folk~Museum Castle~Museum",
    "find": "burial~ship stone~temple painted~tomb clay~oven bronze~chariot mosaic~floor wooden~bridge bath~house "
    "grain~store",
    "under": "car~park school~yard vegetable~garden football~pitch supermarket bus~station churchyard",
}


class Article(NamedTuple):
    """One article: its sentences, a summary of one sentence, short highlights, and headlines of four writers."""

    id: str
    body: tuple[str, ...]
    summary: str
    highlights: tuple[str, ...]
    headline: str
    headlines: tuple[str, ...]


def articles(split: str) -> Sequence[Article]:
    """Return the built-in articles of `train`, `valid` or `test`, the same on every machine.

    No lead, summary, highlights or headline is in two articles, not even with other numbers.

    >>> row = articles("test")[1]
    >>> row.id, row.headline
    ('sample-test-001', 'Six hurt as fire destroys warehouse in Isterford')
    """
    names = list(N_ARTICLES)
    start = sum(N_ARTICLES[name] for name in names[: names.index(split)])
    made = _everything()[start : start + N_ARTICLES[split]]
    return tuple(article._replace(id=f"sample-{split}-{number:03d}") for number, article in enumerate(made))


@cache
def _everything() -> tuple[Article, ...]:
    """All articles from one stream of random numbers; the kinds of event take turns."""
    rng, made, seen = random.Random(_SEED), list[Article](), set[str]()
    while len(made) < sum(N_ARTICLES.values()):
        article = _article(rng, tuple(_EVENTS)[len(made) % len(_EVENTS)])
        texts = (article.body[0], article.summary, " ".join(article.highlights), *article.headlines)
        plain = {re.sub(r"\d", "#", text.lower()) for text in texts}
        fits = [
            low <= len(text.split()) <= high for text, (low, high) in zip(_measured(article), _LENGTHS, strict=True)
        ]
        if all(fits) and not plain & seen:
            seen |= plain
            made.append(article)
    return tuple(made)


def _measured(article: Article) -> tuple[str, str, str]:
    return article.body[0], article.summary, article.headline


def _article(rng: random.Random, kind: str) -> Article:
    event, writer = sections(_EVENTS[kind]), Writer(rng, _WORDS, even=_NAMES)
    _bind(writer, event["facts"])
    body = [writer.pick(event[name]) for name in ("lead", "first", "second")]
    middle = [
        *writer.some(event["chief"], 1, 2),
        *writer.some(event["witness"], 1, 1 if "{witness}" in event["witness"][0] else 2),
        *writer.some(event["more"], 3, 6),
        *writer.some(patterns(BACKGROUND), 1, 3),
    ]
    rng.shuffle(middle)
    body += [*middle, *writer.some(patterns(CLOSING), 1, 1)]
    points = [writer.pick(event[f"point {number}"]) for number in range(1, 5)]
    highlights = points[: rng.randint(3, 4)]
    headlines = tuple(writer.some(event["headline"], 4, 4))
    return Article("", tuple(body), writer.pick(event["summary"]), tuple(highlights), headlines[0], headlines)


def _bind(writer: Writer, facts: Iterable[str]) -> None:
    """Draw what stays the same in an article: places, people and the facts of the event."""
    bound = writer.bound
    bound |= {"age": writer.fill("{19-78}"), "trade": writer.fill("{trade}")}
    for name in ("place", "other", "third"):
        bound[name] = writer.fill("{town}")
    for name in ("region", "day"):
        bound[name] = writer.fill(f"{{{name}}}")
    for name in ("chief", "witness", "rival"):
        he = writer.rng.choice(("she", "he"))
        first, last = writer.fill(f"{{{he}}}"), writer.fill("{surname}")
        while last in bound.values():
            last = writer.fill("{surname}")
        bound |= {name: f"{first} {last}", f"{name}.last": last, f"{name}.he": he}
        bound |= {f"{name}.his": "her" if he == "she" else "his", f"{name}.him": "her" if he == "she" else "him"}
    for fact in facts:
        name, _, pattern = fact.partition(" = ")
        bound[name] = value = writer.fill(pattern)
        bound[f"{name}.short"] = "".join(re.findall(r"\b[A-Z]", value))
