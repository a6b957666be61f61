"""Text's built-in sample: short tales of lost things, written by a small grammar of this project's own.

Some symbols are bound for a whole tale (`{hero}`, `{home}`), the others drawn anew from their lists.
"""

from __future__ import annotations

import random
from functools import cache

from bench.tasks.samples.grammar import Writer, patterns

__all__ = ["N_TALES", "sample"]

N_TALES = {"train": 260, "valid": 40, "test": 100}
_SEED = "text sample 1"

_WORDS = {
    "she": "Marta Elin Rosa Ingrid Tamsin Oda Bryony Celia Nessa Ylva Hanne Greta Maren Sunniva Thora Lisbet Willa "
    "Agnes Dorrit Petra Runa Solveig Etta Isaura Odile Kaja Merete Blanche Zita Ursel Fenna Jorun Avice Sidony Rikke",
    "he": "Anders Tobias Joren Pell Hakon Emil Bastian Corin Matthis Lorcan Osric Nils Gideon Ewald Sander Wystan "
    "Rufus Caspar Torvald Aldous Fabian Ivo Leopold Magnus Quentin Sixten Edmund Hobart Ansgar Dunstan Jasper Linus",
    "head": "Harrow Elder Stone Salt Wester Thorn Mill Raven Ash Grey Lind Oster Cold Black Fern Hazel Marsh Corn "
    "Wolf Amber Barrow Crane Dun Fox Gold Heather Iron Juniper Kestrel Lark Moss Nettle Otter Quarry Rook Swan Tarn",
    "village": "{head}{tail}",
    "tail": "by ford wick mouth dale haven stead ness bridge low holm gate cote mere hurst combe",
    "trade": "baker fisher weaver miller shepherd smith carpenter farrier tailor gardener potter clerk mason cooper "
    "glazier beekeeper printer saddler thatcher clockmaker bookbinder chandler fiddler surveyor apothecary "
    "cartwright tinker bellfounder lamplighter charcoal-burner netmaker ropemaker cheesemonger dyer engraver",
    "adjective": "old young quiet poor patient clever stubborn careful cheerful honest proud weary gentle lonely shy "
    "restless solemn generous thoughtful thrifty curious talkative absent-minded tall lame red-haired grave "
    "sharp-eyed soft-spoken short-tempered bashful widowed long-legged freckled unlucky untidy",
    "quality": "small old dark broken heavy narrow wooden cold empty bright grey long silent strange green painted "
    "rusty golden crooked plain dusty warm steep pale hollow polished faded ragged slender round smooth damp clumsy "
    "shallow scarlet mended gilded knotted cracked weathered enormous delicate sooty mossy lopsided iron-bound blue",
    "treasure": "ring key lantern letter bell map coin knife clock book cup violin compass brooch spoon mirror "
    "thimble whistle ladle locket chessboard almanac spyglass teapot candlestick music-box quill barometer seal "
    "sundial globe hourglass snuffbox tankard tapestry flute inkwell bracelet psalter weathervane",
    "thing": "door table rope basket boat cart window chair blanket wall ladder box barrel bench sack candle gate "
    "stool hammer kettle bucket saddle broom curtain anchor cradle plough loom cupboard lamp anvil spade wheelbarrow "
    "trough oar chimney pulley lattice trestle hinge bolster sieve easel hammock scythe awning tarpaulin",
    "animal": "dog horse goat crow cat gull hen mule fox owl hare donkey heron magpie badger otter hedgehog swallow "
    "weasel stork toad jackdaw ferret pony squirrel lynx kingfisher marten beetle raven salamander",
    "plant": "oak apple-tree willow reed thistle birch rose bramble pine elm nettle fern hawthorn hazel alder "
    "foxglove mistletoe yew juniper chestnut-tree medlar quince",
    "food": "bread soup cheese milk apples fish honey porridge beer onions plums eggs butter cake beans pears "
    "turnips bacon cider walnuts mushrooms chestnuts oatcakes herring gooseberries mustard dumplings cabbage raisins",
    "site": "mill church bridge harbour inn market well tower orchard chapel forge barn quarry lighthouse weir stable "
    "tollhouse boathouse brewery schoolhouse windmill graveyard granary tannery monastery observatory almshouse",
    "land": "hill river wood valley road field marsh shore meadow lake moor forest cliff heath stream island ridge "
    "pasture ravine estuary plateau waterfall thicket glade causeway headland gorge dune fen vineyard",
    "weather": "rain wind fog snow frost sunshine mist thunder hail sleet drizzle heat",
    "storm": "rain wind hail sleet",
    "number": "two three four seven five ten six nine twelve twenty eight eleven thirty forty fifteen ninety",
    "season": "autumn winter spring summer",
    "manner": "slowly quietly at~once without~a~word gladly carefully with~both~hands in~silence as~well~as~possible "
    "in~haste gravely patiently with~a~smile reluctantly politely sideways with~great~ceremony clumsily solemnly",
    "feeling": "afraid glad tired hungry sorry ashamed surprised cold content angry lonely puzzled cheerful thirsty "
    "hopeful uneasy grateful homesick jealous bewildered drowsy impatient footsore",
    "cloth": "coat cloak hat shirt apron shawl boot glove scarf stocking sleeve hood belt jacket petticoat waistcoat",
    "stuff": "silver wood copper iron brass gold glass bone pewter ivory tin amber leather clay horn bronze slate wax",
    "body": "hand head shoulder foot ear back knee elbow neck thumb",
    "kin": "mother father brother sister grandmother uncle aunt daughter son cousin grandfather niece nephew",
    "verb": "carried mended opened painted sold found washed hid counted dragged sharpened polished measured borrowed "
    "buried tied swept turned greased folded unlocked lowered weighed hoisted scrubbed patched copied stacked",
    "went": "walked went climbed ran rode wandered hurried turned crept strode limped stumbled trudged marched",
    "said": "said answered replied whispered cried muttered repeated called~out murmured admitted grumbled",
    "law": "what~is~lost~wants~to~be~found a~slow~foot~comes~home~dry nobody~drowns~in~a~shallow~promise "
    "every~key~has~been~in~the~wrong~door bread~tastes~best~after~a~quarrel an~owl~is~no~wiser~than~its~tree "
    "a~borrowed~boat~leaks~twice the~last~mile~is~measured~by~the~heart silence~is~the~cheapest~coat "
    "whoever~counts~the~waves~gets~wet",
}

_PLOT = (  # name, fewest and most sentences, and their patterns: a new one begins where a line is not indented
    ("opening", 1, 1, """
{hero} was a {adjective} {craft} who lived in {home}, near the {site} by the {land}.
In {home}, where the {land} meets the {land}, there lived a {adjective} {craft} whose name was {hero}.
There was once a {craft} in {home}, {adjective} and {adjective}, and everybody called {him} {hero}.
Nobody in {home} was as {adjective} as {hero}, the {craft} behind the {site}.
When {hero} was still a {adjective} {craft}, {he} lived alone in a {quality} house at the edge of {home}.
It was in {home}, in the {season} of the great {storm}, that {hero} became a {craft}."""),
    ("habit", 1, 3, """
Every morning {he} {verb} the {thing} and gave {food} to the {animal}.
{he} had a {quality} {thing}, a {animal} and {number} {quality} {many plant}, and {he} was content with them.
On market days {he} sold {food} at the {site} and came home before the {weather}.
{his} {kin} had been a {craft} too, and had left {him} a {thing} and a great deal of advice.
In the evening {he} sat under the {plant} with {friend}, and they talked about {food} and the {weather}.
People said that {he} could hear {storm} a day before it came."""),
    ("heirloom", 1, 1, """
What {he} loved most was a {treasure} of {stuff}, which had belonged to {his} {kin}.
{he} owned one precious thing, a {treasure} of {stuff} that {his} {kin} had brought from {far}.
On a shelf beside the {thing} stood a {treasure} of {stuff}; {his} {kin} had won it from a {trade} in {far}."""),
    ("loss", 1, 1, """
One day in the {season} the {treasure} was gone.
Then, on the night of the first {weather}, somebody came through the window and took the {treasure}.
One morning {he} came back from the {site} and the place of the {treasure} was empty.
But when the {storm} came that {season}, a {animal} knocked over the {thing}, and in the confusion the {treasure}
 vanished.
In the {season} a {adjective} stranger slept in {his} barn, and the next day the {treasure} could not be found."""),
    ("search", 1, 3, """
{hero} looked behind the {thing}, under the {thing} and even in the {site}, but there was nothing.
{he} asked the {trade} and the {trade}, and neither of them had seen it.
For {number} days {he} did not eat, and the {animal} went {feeling} too.
{he} turned out every {thing} in the house and found only {number} buttons and some old {food}."""),
    ("counsel", 1, 1, """
"Go to {far}," said {friend}, who was a {trade} and knew the world. "Everything that is lost comes to {far}."
{friend} the {trade} touched {fhis} {body} and said that a man from {far} had been seen on the {land}.
"I would ask in {far}," {friend} {said}. "My {kin} once lost a {thing}, and it was there."
It was {friend}, the {adjective} {trade}, who remembered the people of {far} and what they did with the {many thing}
 of others."""),
    ("leaving", 1, 1, """
So {hero} put some {food} into a sack, took {his} {cloth} and left {home} {manner}.
The next morning {he} locked the door, gave the {animal} to {friend} and {went} towards {far}.
{he} packed {food} for {number} days, {verb} the {thing} once more, and set out for {far} in the {weather}.
"Then I will go," {said} {hero}, and {he} {went} out through the {weather} without {his} {cloth}."""),
    ("road", 2, 6, """
The road went over a {quality} {land} and then along a {land}, and all day there was {weather}.
{he} {went} past the {site} of {village}, where {number} {many trade} were mending a {thing}.
On the {land} {he} met a {animal} that looked at {him} as if it knew the way.
At noon {he} rested under a {plant} and ate {food} with {food}.
For {number} days {he} saw nothing but {land} and {weather}.
In {village} a {adjective} {trade} let {him} sleep beside the {thing}, and asked for nothing but a story.
The {land} was {quality}, and the {land} behind it was {quality} too.
Near {village} {he} lost a {cloth} in the {land}, and a {animal} found it.
{he} {went} until {his} {body} hurt, and when the {weather} began {he} crept into a {quality} {site}.
A {trade} with a {quality} {thing} on {his} {body} showed {him} the way to {village}.
By evening {he} was {feeling}, and by night {he} was {feeling} and {feeling}.
There was a {site} on the {land}, but nobody answered when {he} called.
{he} crossed the {land} in a {quality} boat that a {trade} from {village} had lent {him}."""),
    ("night", 0, 2, """
That night {he} dreamed of the {treasure}, and in the dream it was made of {food}.
In the dark a {animal} cried from the {plant}, and {hero} thought of {home}.
{he} did not sleep well, for the {storm} beat against the {thing} until morning.
Before {he} slept {he} wrote to {friend}: "I am {feeling}, and the {food} here is bad."
The stars stood over the {land}, and somewhere a {trade} was singing of {village}."""),
    ("meeting", 1, 1, """
On the {land} before {far} sat {other}, a {adjective} {trade} with a {quality} {cloth}.
At the gate of {far} {he} met {other}, who {verb} a {thing} and did not look up.
The first person {he} saw in {far} was {other}, the {trade}, standing in the {weather} with a {thing} under one arm.
In the {site} of {far} there was only one light, and beside it sat a {adjective} {trade} called {other}."""),
    ("talk", 2, 5, """
"What do you want here?" {other} {said}. "{weather} is all we have."
"I have come from {home}," {hero} {said}, "to look for a {treasure} of {stuff}."
"Many people look for a {treasure}," {other} {said}. "Few of them bring {food}."
"Have you seen it?" asked {hero}. "I have seen a {thing}, a {animal} and {number} {many trade}," {said} {other}.
"I know nothing of {stuff}," {other} {said}, "but ask at the {site} behind the {many plant}."
"My {kin} always used to say that {law}," {other} {said} {manner}.
"If you help me with the {thing}," said {other}, "I will tell you what the {animal} told me."
{hero} was {feeling} and said nothing, and so {other} went on talking about the {weather}."""),
    ("trial", 1, 4, """
So {he} {verb} the {thing}, {verb} the {thing} and {verb} the {thing}, and it took {him} {number} days.
First {he} had to carry {number} sacks of {food} from the {site} to the {site}.
{he} sat up all night with a sick {animal} and fed it {food} from {his} own plate.
There was a {quality} wall between the {site} and the {land}, and {hero} {went} over it {manner}.
When the {storm} came {he} held the {thing} with both hands, and {other} {verb} the {thing}.
{other} gave {him} a {thing} without a handle, and {he} {verb} it {manner}.
{he} was asked {number} questions about {village}, and answered all of them {manner}."""),
    ("finding", 1, 1, """
And there, under a {quality} {thing} in the {site}, lay the {treasure}.
Then a {animal} ran across the floor, and behind it, in the light from the open door, shone the {treasure}.
"Is this what you are looking for?" asked {other}, and took the {treasure} out of a {quality} {thing}.
At last {he} looked into the {quality} {thing} by the {plant}, and the {treasure} was in it, a little {quality} but
 whole.
The {treasure} hung on a nail in the {site}, between a {cloth} and a {thing}, as if it had always been there."""),
    ("reason", 0, 1, """
A {animal} had carried it there, for it had smelled of {food}.
{other} had bought it from a {adjective} {trade} for {number} eggs and had never liked it.
It turned out that {his} own {kin} had sold it in {village} for a {thing} and some {food}.
Nobody could say how it had come so far, and {other} said that {law}.
The {trade} who had taken it was {feeling} and begged {him} for forgiveness, and {he} gave it {manner}."""),
    ("home", 1, 3, """
{hero} thanked {other}, left {number} jars of {food} at the {site} and {went} home through the {weather}.
The way back was shorter, as it always is, and in {village} they gave {him} {food}.
In the {season} {he} came over the {land} and saw the {site} of {home}, and {his} heart grew light.
{friend} stood at the {site} with the {animal} and said that {he} had become thin."""),
    ("ending", 1, 2, """
Since then the {treasure} stands on the {thing} again, and nobody in {home} locks a door.
{he} put the {treasure} in its place, {verb} the {thing} and slept for {number} days.
And when people ask {hero} how far it is to {far}, {he} says that {law}.
In the end {he} gave the {treasure} to {friend}, because a {trade} needs a {treasure} more than a {craft} does.
That is why, in {home}, they still say that {law}.
As for {other}, a {quality} {thing} full of {food} comes from {far} every {season}."""),
)  # fmt: skip


def sample(split: str) -> list[str]:
    """Return the built-in tales of `train`, `valid` or `test`, the same on every machine.

    >>> tales = sample("valid")
    >>> len(tales), " ".join(tales[0].split()[:9])
    (40, 'Nobody in Harrowby was as young as Torvald, the')
    """
    return list(_tales(split))


@cache
def _tales(split: str) -> tuple[str, ...]:
    rng = random.Random(f"{_SEED}/{split}")
    return tuple(_tale(rng) for _ in range(N_TALES[split]))


def _tale(rng: random.Random) -> str:
    """Draw people, places and the lost thing, and write the sentences of each part of the plot."""
    writer = Writer(rng, _WORDS)
    hero, friend = rng.choice(("she", "he")), rng.choice(("she", "he"))
    names = [writer.word(hero), writer.word(friend), writer.word(rng.choice(("she", "he")))]
    writer.bound = dict(zip(("hero", "friend", "other"), names, strict=True))
    writer.bound |= {"he": hero, "him": "her" if hero == "she" else "him", "his": "her" if hero == "she" else "his"}
    writer.bound |= {"fhis": "her" if friend == "she" else "his", "home": writer.word("village")}
    writer.bound |= {"far": writer.word("village"), "craft": writer.word("trade")}
    writer.bound |= {"treasure": writer.word("treasure"), "stuff": writer.word("stuff")}
    parts = [writer.some(patterns(written), fewest, most) for _, fewest, most, written in _PLOT]
    return " ".join(sentence for part in parts for sentence in part)
