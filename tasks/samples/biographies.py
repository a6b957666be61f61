"""Biographies of the built-in samples: a box of facts about an invented person, and a first sentence made of them.

Rows of Wikibio where no data folder is given, in its form: lower case, Penn Treebank tokens, empty fields kept. Every
word of a sentence that is a name, a number or a trade stands in a field; nobody is real.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from bench.tasks.samples.grammar import Writer

__all__ = ["N_PEOPLE", "Person", "people"]

N_PEOPLE = {"train": 300, "valid": 50, "test": 100}
_SEED = "biographies sample 1"
_NAMES = ("she", "he", "surname.head", "surname.tail", "town.head", "town.tail")
_ACTIVE = ("footballer", "athlete")

_WORDS = {
    "she": "ilse marta oona dagny rhea talia selka vesna annika bettina corinna elspeth freya gilda hesper imke jorunn "
    "katrin lioba minna nerea odette pernille renske signe tova una violet wilma ysolde",
    "he": "anders ivo tomas rolf edmund karel ansel bram cormac dirk emil fabrice gustav hendrik ignaz joost klaas "
    "lennart matteo niklas olav pascal quentin rainer stefan thijs ulf valentin wolfram yorick",
    "surname": "{surname.head}{surname.tail}",
    "surname.head": "ald ber cal dor ev fal gren har isk jor kal lin mar nor ost pal rav sol tor ul ver wes zan",
    "surname.tail": "mann quist by stad eau ier ova ini ger hoff land ström beck ano ek is ford",
    "town": "{town.head}{town.tail}",
    "town.head": "amber bran cor dell ever fen gil hol iver kell lan mel nor oster pen quill ros sel tarn ulver win",
    "town.tail": "mouth ville ton stadt borg ham dale minster hafen field by",
    "month": "january february march april may june july august september october november december",
    "club": "{town}~{united}",
    "united": "united rovers athletic city fc",
    "position": "midfielder goalkeeper defender striker winger centre-back",
    "style": "landscape portrait abstract still-life mural",
    "gallery": "{town}~museum~of~art",
    "party": "liberal~party labour~party farmers~'~union progressive~alliance people~'s~party green~list",
    "office": "mayor~of~{town} minister~of~{ministry} member~of~parliament~for~{town} governor~of~{town}",
    "ministry": "finance health transport agriculture education justice",
    "instrument": "piano violin cello trumpet organ guitar flute clarinet",
    "genre": "jazz folk opera chamber~music blues choral~music rock",
    "label": "halfmoon~records kestrel~music north~star blue~door",
    "science": "botanist chemist physicist astronomer geologist mathematician zoologist",
    "university": "university~of~{town} {town}~institute",
    "discovery": "alpine~mosses double~stars river~clays sea~snails magnetic~glass prime~gaps blue~moulds volcanic~ash",
    "kind": "detective historical children~'s science-fiction romantic travel",
    "title": "``~the~{quality}~{object}~''",
    "quality": "silent last golden hidden broken distant seventh unwritten burning paper",
    "object": "harbour winter garden letter road mirror tower orchard ferry lantern",
    "event": "marathon high~jump 400~metres javelin~throw 100~metres~hurdles pole~vault",
    "medal": "gold silver bronze",
    "games": "continental~championships coastal~games world~student~games national~championships",
    "image": "{last}.jpg portrait.png {last}~{prime}.jpg",
}

_NATIONS = {
    "arlia": "arlian", "borland": "borlandic", "castora": "castoran", "delland": "dellish", "estova": "estovan",
    "fennmark": "fennish", "hestria": "hestrian", "ilmora": "ilmoran", "jorvia": "jorvian", "ulvaland": "ulvish",
}  # fmt: skip

_TRADES = {
    "footballer": """
position = {position}
clubs = {club} , {club}
current club = {clubs.rest}
height = {1.6-2.0} m
caps = {3-90}
| {born} is a {nation} footballer who plays as a {position} for {current_club} .
| {born} is a {nation} professional footballer , currently playing for {current_club} .
| {born} is a footballer from {country} who plays for {current_club} as a {position} .
| {dates} was a {nation} footballer who played as a {position} for {clubs.and} .
| {dates} was a {nation} footballer , who played for {clubs.and} .
""",
    "painter": """
field = {style} painting
works = {title}
collection = {gallery}
training = {town} academy
movement = none
| {born} is a {nation} painter known for {field} .
| {born} is a {nation} painter who studied at the {training} and is best known for {works} .
| {dates} was a {nation} painter of the {training} whose works include {works} .
| {dates} was a {nation} artist and painter , known for {field} .
| {dates} was a painter from {birth_place} whose {field} is shown in the {collection} .
""",
    "politician": """
party = {party}
office = {office}
term start = {prime}
predecessor = {he} {surname}
religion = none
| {born} is a {nation} politician of the {party} and has been {office} since {term_start} .
| {born} is a {nation} politician who has served as {office} since {term_start} .
| {dates} was a {nation} politician and {office} , who followed {predecessor} in {term_start} .
| {dates} was a politician of the {party} who served as {office} .
| {dates} was a {nation} politician who represented the {party} .
""",
    "musician": """
instrument = {instrument}
genre = {genre}
label = {label}
years active = {prime} -- {end}
associated acts = {town} trio
| {born} is a {nation} musician who plays the {instrument} and records for {label} .
| {born} is a {nation} {genre} musician and a member of the {associated_acts} .
| {dates} was a {nation} {genre} musician who played the {instrument} .
| {dates} was a {nation} musician , best known for playing the {instrument} in the {associated_acts} .
| {dates} was a {genre} musician from {birth_place} , active in {years_active} .
""",
    "scientist": """
fields = {science}
workplaces = {university}
known for = {discovery}
alma mater = {university}
awards = {town} medal
| {born} is a {nation} {fields} at the {workplaces} known for work on {known_for} .
| {born} is a {nation} {fields} who received the {awards} .
| {dates} was a {nation} {fields} known for {his} work on {known_for} .
| {dates} was a {nation} {fields} who studied at the {alma_mater} and taught at the {workplaces} .
| {dates} was a {nation} {fields} and winner of the {awards} .
""",
    "writer": """
genre = {kind} novels
notable works = {title}
language = {nation}
spouse = {he} {surname}
pseudonym = {he} {surname}
| {born} is a {nation} writer of {genre} , best known for {notable_works} .
| {born} is a {nation} author who writes {genre} under the name {pseudonym} .
| {dates} was a {nation} writer whose best known book is {notable_works} .
| {dates} was a {nation} writer of {genre} who also wrote as {pseudonym} .
| {dates} was an author of {genre} from {birth_place} .
""",
    "athlete": """
event = {event}
club = {town} harriers
medals = {medal} , {games} {prime}
weight = {52-96} kg
coach = {he} {surname}
| {born} is a {nation} athlete who competes in the {event} .
| {born} is a {nation} athlete who won {medals.first} at the {medals.rest} in the {event} .
| {born} is an athlete from {country} who trains with {coach} and competes in the {event} .
| {dates} was a {nation} athlete who competed in the {event} .
| {dates} was a {nation} athlete of the {club} who competed in the {event} .
""",
}


class Person(NamedTuple):
    """One invented person: the fields of the box, empty ones among them, and the first sentence."""

    id: str
    fields: tuple[tuple[str, str], ...]
    sentence: str


def people(split: str) -> Sequence[Person]:
    """Return the built-in people of `train`, `valid` or `test`, the same on every machine; no name is there twice.

    >>> row = people("test")[3]
    >>> row.fields[0], row.sentence.partition(" -rrb- ")[2]
    (('name', 'stefan harbeck'), 'is an arlian opera musician and a member of the amberton trio .')
    """
    names = list(N_PEOPLE)
    start = sum(N_PEOPLE[name] for name in names[: names.index(split)])
    made = _everyone()[start : start + N_PEOPLE[split]]
    return tuple(person._replace(id=f"sample-{split}-{number:03d}") for number, person in enumerate(made))


@cache
def _everyone() -> tuple[Person, ...]:
    """All people from one stream of random numbers; the trades take turns."""
    rng, made = random.Random(_SEED), dict[str, Person]()
    while len(made) < sum(N_PEOPLE.values()):
        person = _person(rng, tuple(_TRADES)[len(made) % len(_TRADES)])
        made.setdefault(person.fields[0][1], person)
    return tuple(made.values())


def _person(rng: random.Random, trade: str) -> Person:
    writer, lines = Writer(rng, _WORDS, even=_NAMES), _TRADES[trade].split("\n")
    fields = _life(writer, 1972 if trade in _ACTIVE else 1940) | {"occupation": trade}
    alive = not fields["death date"]
    own = dict(line.split(" = ") for line in lines if " = " in line)
    for name, pattern in own.items():
        pattern = "none" if name == "current club" and not alive else pattern
        own[name] = _bind(writer, name, writer.fill(pattern) if pattern != "none" else "")
    starts = "| {born}" if alive else "| {dates}"
    pattern = rng.choice([line for line in lines if line.startswith(starts)]).removeprefix("| ")
    for name in own:  # what the sentence does not tell may be missing
        if f"{{{name.replace(' ', '_')}" not in pattern:
            kept = rng.random()
            fields |= {} if kept < 0.2 else {name: own[name] if kept > 0.35 else ""}
        else:
            fields[name] = own[name]
    return Person("", tuple(fields.items()), writer.sentence(pattern).lower())


def _life(writer: Writer, earliest: int) -> dict[str, str]:
    """Draw name, places and dates, and bind the words for them; the living are born in the earliest year or later."""
    rng, alive = writer.rng, writer.rng.random() < 0.5
    he = rng.choice(("she", "he"))
    country, nation = rng.choice(list(_NATIONS.items()))
    last = writer.fill("{surname}")
    born = rng.randint(earliest, 1986) if alive else rng.randint(1860, 1940)
    died = 0 if alive else born + rng.randint(45, 72)
    prime = born + rng.randint(22, 30)
    writer.bound |= {"last": last, "country": country, "nation": nation, "his": "her" if he == "she" else "his"}
    writer.bound |= {"prime": str(prime), "end": str(prime + rng.randint(4, 14))}
    fields = {"name": writer.fill(f"{{{he}}} {last}")}
    if rng.random() < 0.5:
        fields["image"] = rng.choice(("", writer.fill("{image}")))
    birth, death = _date(writer, born), _date(writer, died) if died else ("", "")
    fields |= {"birth date": birth[0], "birth place": f"{writer.fill('{town}')} , {country}", "death date": death[0]}
    form = rng.randrange(2)
    place = f" in {fields['birth place']}" if rng.random() < 0.3 else ""
    writer.bound |= {
        "born": f"{fields['name']} -lrb- born {birth[form]}{place} -rrb-",
        "dates": f"{fields['name']} -lrb- {birth[form]} -- {death[form]} -rrb-",
    }
    for name, value in (fields | {"nationality": nation}).items():
        _bind(writer, name, value)
    return fields | {"nationality": nation}


def _bind(writer: Writer, name: str, value: str) -> str:
    """Bind a field: `{a_b}` is field `a b`; of a list, `.first`, `.rest` and `.and`, with "and" in place of commas."""
    key, (first, _, rest) = name.replace(" ", "_"), value.partition(" , ")
    writer.bound |= {
        key: value,
        f"{key}.first": first,
        f"{key}.rest": rest,
        f"{key}.and": value.replace(" , ", " and "),
    }
    return value


def _date(writer: Writer, year: int) -> tuple[str, str]:
    """Draw a day of the year, written in both ways: `3 may 1920` and `may 3 , 1920`."""
    day, month = writer.rng.randint(1, 28), writer.rng.choice(_WORDS["month"].split())
    return f"{day} {month} {year}", f"{month} {day} , {year}"
