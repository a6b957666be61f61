"""Encyclopedia of the built-in samples: articles about invented towns, rivers, birds, ships, albums and battles.

Rows of WikiText-103 where no data folder is given, in its raw form: lines with a space at both ends, headings
` = Title = `, words split from punctuation, `@-@`, `@,@` and `@.@` inside words and numbers, `<unk>` for rare names.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache

from bench.tasks.samples.encyclopedia_kinds import KINDS
from bench.tasks.samples.grammar import Writer, sections

__all__ = ["N_ARTICLES", "articles"]

N_ARTICLES = {"train": 220, "valid": 30, "test": 50}
_SEED = "encyclopedia sample 1"
_NAMES = ("first", "he", "surname.head", "surname.tail", "town.head", "town.tail")

_WORDS = {
    "town": "{town.head}{town.tail}",
    "town.head": "Aster Brun Cald Dorn Elm Falk Grim Hav Irn Jost Karl Lind Mald Nord Osk Pral Quist Ravn Sund Tors "
    "Ulv Vald Wend Ystr Zell",
    "town.tail": "berg vik holm stad havn sund fors borg by mark dal rup",
    "first": "Alrik Beate Carsten Dagmar Eskil Frida Gerda Holger Inga Jens Karin Leif Margit Nanna Oluf Pelle Ragna "
    "Sören Tilde Ulrik Viggo",
    "person": "{first}~{surname} {first}~{surname.head}{surname.tail} {first}~<unk>",
    "surname": "Ahlgren Bremer Dahlin Ekman Falck Grip Holst Kjellin Moberg",
    "surname.head": "Aspe Birke Dale Enger Fjell Grane Hjort Isak Kvist Lauv Myhr",
    "surname.tail": "lund strand gaard berg sen son feldt",
    "he": "Alrik Carsten Eskil Holger Jens Leif Oluf Pelle Sören Ulrik Viggo",
    "lord": "Duke~{he} King~{he}~II Bishop~{he} Count~{he}~of~{town} Queen~Margit Abbess~Ragna",
    "region": "Norland East~Valmark Halvia Upper~Sorn Vestria the~Karst~Country Lower~Halvia",
    "country": "Valmark Norland Ostrava~Minor Gelria Tarnland Ispera Maronia",
    "country2": "Sorvia Arland Petrania Lower~Gelria Kestria",
    "river": "Luhr Tesna Ammer~Minor Vild Sorn Kalda Irve Orla",
    "river.long": "{river.head}{river.tail}",
    "river.head": "Am Bel Cor Dra Ess Fin Gol Hal Ill Jar Kel Lor Mur Nid Ost Pel Rud Sar Tor Ur Vel Wer Yss",
    "river.tail": "na ra lva tter ssa mme nde rth be",
    "sea": "Amber~Sea Grey~Sea Gulf~of~Maron North~Lagoon",
    "hill": "Hornberg Kahlfell Great~Tor Wolf~'s~Head Langfjell Stone~Table",
    "side": "western northern eastern southern south~@-@~eastern north~@-@~western",
    "way": "west north east south south~@-@~east north~@-@~west",
    "building": "castle church town~hall abbey mill lighthouse theatre monastery~@-@~school observatory synagogue "
    "granary customs~house",
    "adjective": "small cold narrow famous long quiet steep heavy bright well~@-@~known dark rare strange shallow late "
    "ornate short~@-@~lived sombre rugged",
    "harsh": "mild cold long wet dry windy",
    "sound": "shrill soft sad clear rattling",
    "mood": "sombre tender bright quiet warm restless solemn",
    "capital": "Last Silent Drowned Laughing Seventh",
    "ordinal": "second third fourth fifth sixth",
    "century": "15th 17th 14th 18th 16th 13th",
    "food": "cheese salt butter wool honey timber linen wine barley mustard cider",
    "land": "forest meadow marsh heath farmland pasture moor vineyard bog peatland",
    "stone": "granite limestone sandstone marble slate basalt porphyry gneiss",
    "month": "May September March October July December January August February November June April",
    "weather": "rain fog snow frost storm drought mist hail",
    "war": "Seven~Towns~'~War War~of~the~Two~Crowns Salt~War Great~Northern~Campaign First~River~War",
    "factory": "paper~mill brewery glass~works sugar~refinery cotton~mill ironworks soap~factory",
    "music": "folk~music jazz chamber~music choral~music rock~music blues brass~music",
    "club": "Athletic United Rovers 1908 Union",
    "fish": "trout pike salmon perch eel sturgeon grayling",
    "bird": "heron tern plover sandpiper kingfisher avocet",
    "tree": "birch alder willow oak pine ash larch walnut juniper rowan",
    "colour": "grey brown black red yellow blue green white olive chestnut~@-@~coloured",
    "colour2": "pale cream rufous bluish spotted buff streaked",
    "birdkind": "warbler finch thrush lark wagtail tanager honeyeater woodcreeper flycatcher bunting swift rail "
    "babbler pipit sunbird antbird",
    "genus": "{genus.head}{genus.tail}",
    "genus.head": "Cali Phyla Tro Myrme Sylvi Aego Xeno Loph Chryso Melano",
    "genus.tail": "drella parus cichla phaga cola rhynchus psitta",
    "species": "montana borealis gracilis vulgaris maculata insularis <unk> flavescens obscura",
    "prey": "insects spiders snails beetles larvae ants berries moths",
    "shipname": "{shipname.head}~{shipname.tail}",
    "shipname.head": "Northern Silver Empress Morning Royal Star~of Golden Evening City~of",
    "shipname.tail": "Norland Halvia Maronia Valmark Gelria Ispera Hornberg Tesna",
    "shipyard": "{surname}~Brothers {surname}~&~Sons the~{town}~yard {surname}~and~<unk>",
    "albumname": "{albumname.head}~{albumname.tail}",
    "albumname.head": "Paper Blue Slow Open Second Winter Seven Glass Borrowed Salt",
    "albumname.tail": "Days Songs Rooms Lines Tides Engines Letters Harbours Gardens Machines",
    "band": "The~{bandname} {town}~Quartet The~{surname}~Sisters",
    "bandname": "Lanterns Foghorns Commas Understudies Weathermen Stowaways Postcards",
    "label": "Halfmoon~Records North~Star~Music Kestrel~Records Blue~Door",
    "instrument": "accordion cello mandolin trumpet hurdy~@-@~gurdy harmonium clarinet zither",
    "archer": "archer pikeman crossbowman musketeer guardsman",
}


def articles(split: str) -> Sequence[Sequence[str]]:
    """Return the built-in articles of `train`, `valid` or `test`, each its lines; no title is there twice.

    >>> lines = articles("test")[0]
    >>> list(lines[:3])
    [' \\n', ' = Blue Rooms = \\n', ' \\n']
    """
    names = list(N_ARTICLES)
    start = sum(N_ARTICLES[name] for name in names[: names.index(split)])
    return _everything()[start : start + N_ARTICLES[split]]


@cache
def _everything() -> tuple[tuple[str, ...], ...]:
    """All articles from one stream of random numbers; the kinds take turns."""
    rng, made = random.Random(_SEED), dict[str, tuple[str, ...]]()
    while len(made) < sum(N_ARTICLES.values()):
        lines = _article(rng, tuple(KINDS)[len(made) % len(KINDS)])
        made.setdefault(lines[1], lines)
    return tuple(made.values())


def _article(rng: random.Random, kind: str) -> tuple[str, ...]:
    written, writer = sections(KINDS[kind]), Writer(rng, _WORDS, even=_NAMES, comma=" @,@ ", point=" @.@ ")
    for fact in written["facts"]:
        name, _, pattern = fact.partition(" = ")
        writer.bound[name] = writer.fill(pattern)
    lead = [writer.pick(written["lead"][:2]), *writer.some(written["lead"][2:], 1, 2)]
    lines = [*_heading(writer.sentence("{title}"), 1), _paragraph(lead)]
    for name, choice in written.items():
        if name not in ("facts", "lead"):
            sentences = writer.some(choice, min(2, len(choice)), len(choice))
            cut = rng.randint(2, 4)
            lines += [*_heading(name.rpartition(" / ")[2], 2 + name.count(" / ")), _paragraph(sentences[:cut])]
            lines += [_paragraph(sentences[cut:])] if sentences[cut:] else []
    return (*lines, " \n")


def _heading(title: str, level: int) -> tuple[str, str, str]:
    marks = " ".join("=" * level)
    return " \n", f" {marks} {title} {marks} \n", " \n"


def _paragraph(sentences: Sequence[str]) -> str:
    return f" {' '.join(sentences)} \n"
