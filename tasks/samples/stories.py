"""Stories of the built-in samples: a writing prompt and a short story that follows it.

Rows of WritingPrompts where no data folder is given, in the form of the fairseq files: tokens split as in `ca n't`,
quotes as `` and '', paragraphs joined by ` <newline> `, and a prompt that begins with `[ WP ]`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from bench.tasks.samples.grammar import Writer, patterns, sections

__all__ = ["N_STORIES", "Story", "stories"]

N_STORIES = {"train": 300, "valid": 50, "test": 100}
_SEED = "stories sample 1"

_WORDS = {
    "she": "Mara Elsie Ines Tova June Priya Odette Sal Wren Noor Hattie Lucinda Bea Imogen Zadie Petra",
    "he": "Theo Marcus Dev Oscar Lev Hugo Amir Felix Otto Silas Jonah Kit Ravi Emmett Bruno Walt",
    "thing": "lamp toaster violin umbrella typewriter compass wardrobe radio kettle mirror snow~globe pocket~watch "
    "sewing~machine music~box telescope suitcase chess~set filing~cabinet",
    "beast": "dragon griffin kraken sphinx basilisk phoenix minotaur yeti banshee hydra",
    "food": "soup pancakes cheese dumplings coffee waffles noodles pickles toast honey~cake jam chili",
    "place": "kitchen attic library basement laundromat bus~station supermarket dentist~'s~office lighthouse bakery "
    "parking~garage greenhouse post~office swimming~pool",
    "town": "Harlow~Falls Pinebrook Salt~Creek Ember~Bay Old~Marden Tern~Island Fairwater Copper~Hill",
    "trade": "librarian plumber astronaut baker locksmith beekeeper weatherman lawyer gardener barber violinist "
    "night~guard tax~collector cartographer dentist",
    "power": "warm~up~cold~coffee make~lights~turn~green talk~to~pigeons find~lost~socks know~the~time "
    "open~any~jar guess~any~birthday make~it~drizzle smell~lies remember~every~phone~number "
    "fold~any~map hear~the~thoughts~of~plants",
    "secret": "the~days~they~have~left the~lies~they~told~today the~people~they~have~loved the~times~they~were~brave "
    "the~songs~they~know~by~heart the~enemies~they~have the~promises~they~broke",
    "other": "refrigerator lawn~mower piano vacuum~cleaner garage~door doorbell",
    "digit": "seven four nine two five three",
    "hair": "white long no blue curly",
    "object": "ladder spoon blanket candle button bicycle notebook hammer kite teacup bucket accordion doorknob "
    "postcard fishing~rod trumpet chair broom ticket map coin glove sandwich newspaper lantern wheelbarrow vase",
    "snack": "popcorn cinnamon burnt~toast marmalade peppermint rice peanuts lemonade onions chocolate garlic raisins "
    "porridge licorice cabbage tea",
    "doing": "waiting whistling dancing knitting arguing fishing sleeping counting swimming gardening praying shopping "
    "humming running reading digging",
    "pet": "cat dog parrot goat turtle rabbit crow hamster ferret pony",
    "spot": "roof bridge fountain school church garden bank harbor theater bakery tunnel playground barbershop",
    "village": "Low~Marsh Greyport Tinder~Hollow Quill Westerly Barrow~End Oxbow Sandpit",
    "feeling": "tired calm afraid angry curious hungry lonely lucky stupid old brave ashamed",
    "color": "green blue yellow red silver purple orange white copper pink",
    "weather": "rain fog snow wind heat thunder hail",
    "day": "Tuesday Monday Sunday Friday Thursday Saturday Wednesday",
    "kin": "mother sister father grandmother brother uncle aunt daughter grandfather",
    "manner": "quietly slowly at~last without~a~smile carefully at~once under~{friend.his}~breath",
    "body": "hand shoulder left~knee chin elbow thumb",
}

_PREMISES = {
    "power": """
== prompt
Everybody is born with one power . Yours is to {power} , and today a {trade} from the government knocks on your door .
You can {power} . That is all . Then the heroes of {town} lose and come to ask for your help .
At eighteen everyone in {town} gets a superpower . You got the worst one ever : you can {power} .
== opening
They laughed when I told them that I could {power} . Nobody was laughing now .
I was in the {place} when the phone rang . `` Is it true that you can {power} ? '' the voice asked .
All my life I had hidden that I could {power} . It was not a thing one puts on a card .
== turn
So I closed my eyes and did the only thing I can do . The {beast} over the city stopped and turned its head .
Then I understood what it meant to {power} . It was never small at all .
`` We do n't need the strong ones , '' said {friend} . `` We need somebody who can {power} . ''
== ending
I still {power} on weekends . The medal is in the drawer with the {thing} .
And that is how the end of the world was called off by someone who can {power} .
`` Not bad for the worst power in {town} , '' {friend} said , and this time I laughed too .
""",
    "numbers": """
== prompt
Over every head you see a {color} number . It took you {few 3-12} years to learn what it counts : {secret} .
You wake up in {town} and see numbers over people 's heads that show {secret} . Over your own there is none .
A {trade} walks by whose number is zero . You are the only one who knows that it counts {secret} .
== opening
{friend} 's number was {12-940} . It floated there in {color} light while {friend.he} ate {friend.his} {food} .
I was six when the numbers began , and sixteen when I knew that they were {secret} .
The man in the {place} had a zero . I had never seen a zero before .
== turn
Then I looked into the mirror , and for the first time there was a number over me as well . It was {few 2-9} .
I told {friend} what the numbers were , every one of {secret} , and {friend.he} did not even blink .
While we were talking the number changed . It went from {few 5-9} to {few 2-4} , and it was {color} .
== ending
I never told anybody again . But I smile at the zeros now , just in case .
When I woke up on {day} the numbers were gone , and I missed them like old friends .
`` So what is mine ? '' asked {friend} . I lied . I think {friend.he} knew .
""",
    "letters": """
== prompt
You find a letter in your own handwriting inside a {thing} . It is dated {few 5-12} years from now .
Each {day} a letter comes from the future . This one has only two words : `` Burn the {thing} . ''
On {day} a letter is pushed under your door . It says : `` Do not go to the {place} tomorrow . Yours , me . ''
== opening
The letter was in the {thing} , between two bills . The paper was {color} and smelled of {food} .
I know my own handwriting . I also know that I have never owned {color} ink .
`` It 's a joke , '' {friend} said , but {friend.he} read the letter {few 2-5} times .
== turn
On {day} the second letter came . `` You did n't listen , '' it said . `` Good . I never did either . ''
So I sat down in the {place} with {color} ink and began to write : `` Do not be {feeling} . ''
There was one thing the letter could not know : I had already sold the {thing} to {friend} .
== ending
I put the letter into the {thing} and closed it . It is not such a long time .
The last letter had no words at all , only a pressed leaf . I understood it best of all of them .
I did go to the {place} . You would have , too .
""",
    "beast": """
== prompt
A {beast} moves into the house next door . Unlike the last neighbors , it returns your {thing} .
You are a {trade} . Your new client is a {beast} , and it is very , very polite .
Nobody in {town} is afraid of the {beast} any more . It works in the {place} and hates {food} .
== opening
The {beast} rang at nine , as neighbors do , and asked whether I had any {food} .
My {kin} always said that a {trade} must never turn anyone away . Nobody had told {town} about the {beast} .
In {town} you get used to things . The {beast} in the {place} took me about a week .
== turn
`` I am so {feeling} , '' the {beast} said , and a tear the size of a {thing} fell onto the carpet .
Then the knights came with their {color} flags , and I stood in the door with a {thing} in my hand .
It turned out that the {beast} had lost its {kin} in the {weather} of {year 1802-1890} .
== ending
We share a fence now . On {day} evenings it tells my children how the sea was made .
The {beast} left when the {weather} came . My {thing} was on the step , polished until it shone .
I have had worse neighbors . None of them could breathe fire , but I have had worse .
""",
    "death": """
== prompt
Death comes for you on a {day} , but {friend} is late , and you have just put the {food} on the table .
You die , and the afterlife is a {place} with one bored {trade} called {friend} .
Death , called {friend} by friends , has lost a bet in {town} , and you are the prize .
== opening
`` You are early , '' I said . {friend} put the scythe next to the {thing} and shook off the {weather} .
The afterlife smelled of {food} . I had expected clouds , or at least a queue .
{friend} looked at the list , then at me , then at the list . `` There must be a mistake , '' {friend.he} said .
== turn
We played for my soul . I had a pair of {many digit} and {friend} had all the time in the world .
`` Nobody ever asks me how my day was , '' said {friend} , and it was suddenly hard to be {feeling} .
At the bottom of the list , in {color} ink , was a name I knew better than my own .
== ending
`` Next {day} , then , '' {friend} said , and took the rest of the {food} along .
So now I work in the {place} , too . The pay is bad , but the hours are endless .
When the bell rang again it was not for me . I held the door open for both of them .
""",
    "robot": """
== prompt
The household robots rise at midnight . Your {thing} only wants to learn how to make {food} .
A {thing} wakes up in {town} and believes that it is a {trade} . You have not the heart to tell it .
Your {thing} has become intelligent . It is in love with the neighbors ' {other} .
== opening
At midnight every machine in {town} stood up . Mine , the {thing} , stayed where it was and asked about {food} .
`` Good morning , '' said the {thing} . I had not had my coffee yet , so I said good morning , too .
The {thing} blinked with one {color} light . `` I am a {trade} , '' it said . `` Where is everybody ? ''
== turn
`` Define {feeling} , '' it said . I tried . It took me until {day} .
The other machines came for it with their {color} lights . It stepped in front of me and did not move .
I found the switch under its {color} lid . It looked at me and said , `` I wo n't stop you . ''
== ending
We never made good {food} . But every evening we burn it together .
There is a small {thing} on the hill now with a name on it . I water the flowers every {day} .
`` I was only a {trade} , '' it said . `` So was I , '' I lied .
""",
    "door": """
== prompt
A {color} door has appeared in the {place} . Everyone who opens it comes back a year younger .
In the {place} of {town} there is a {color} door that only opens in the {weather} .
You rent a room in {town} from a {trade} . The one rule is : never open the {color} door after midnight .
== opening
The door had not been there on {day} . I would have seen it , since I clean the {place} every night .
`` Do n't , '' said {friend} , and so of course I put my {body} against the {color} door .
The landlady showed me the bed , the {thing} and the {color} door . `` Two are for you , '' she said .
== turn
Behind it was the same {place} , but the {weather} fell upwards and {friend} had {hair} hair .
I counted to {few 5-12} and turned the key . It smelled of {food} and of my {kin} 's coat .
There was somebody on the other side , knocking , and the knock was the one that only my {kin} used .
== ending
I closed the door behind me . I did not say on which side .
They painted the wall the next week . On quiet nights you can still hear the {thing} playing .
`` Well ? '' asked {friend} . `` It is a cupboard , '' I said , and gave {friend.him} back the key .
""",
    "last": """
== prompt
You are the last {trade} on Earth . One morning the phone in the {place} rings .
Everyone in {town} has vanished except a {trade} and a {beast} .
After the end of the world , a {trade} keeps the {place} open . Today there is a customer .
== opening
I kept the {place} open because nobody had told me to close it . That was {few 3-12} years ago .
There is little work for a {trade} when there are no people . I swept the floor anyway .
The phone rang on a {day} . I let it ring , because phones had not rung since the {weather} .
== turn
`` Are you open ? '' asked {friend} . {friend.he} had walked {100-1900/50} miles to ask me that .
`` This is {friend} from {town} , '' the phone said . `` We need a {trade} . We all do . ''
The {beast} put its head on my {body} . I think it was as {feeling} as I was .
== ending
We wrote OPEN on the door in {color} letters and waited , and on {day} they came .
I am still the last {trade} on Earth . But now I have an apprentice .
`` That will be two dollars , '' I said , and we both laughed until we cried .
""",
}

_SCENE = """
The {place} was quiet except for the {weather} on the windows .
Somewhere a radio played a song about a {color} {object} .
It was the kind of {day} that smells of {snack} .
On the table stood {many object} that my {kin} had left me , and {few 2-9} {color} cups .
Outside , the people of {town} went on {doing} as if nothing had happened .
The lights went out , came back , and went out again .
I had {few 2-9} dollars , a {object} and no plan at all .
A {color} {pet} watched us from the {spot} across the street .
My {body} hurt , as it always does before {weather} .
You could have heard a {object} drop , and somewhere a {object} did .
By {few 2-11} o'clock the {weather} had reached the {spot} , and everybody was {doing} .
The clock in the {spot} had stopped at {few 2-11} , the hour when my {kin} left {town} .
There was {snack} on the stairs and a smell of wet {pet} .
They had painted the {spot} {color} that year , and nobody knew why .
A {trade} went by , {doing} , with a {object} under one arm .
The {weather} came in from the sea and took a {object} with it .
Two children sat on a {object} and shared their {snack} .
I counted the {many object} : {few 4-12} , the same as on {day} .
"""

_TALK = """
`` I ca n't do this , '' I said . `` I am only a {trade} . ''
`` You do n't understand , '' {friend} said {manner} . `` It is about the {thing} . ''
`` How long have you known ? '' I asked . `` Since {day} , '' said {friend} .
`` Are you {feeling} ? '' asked {friend} . `` No , '' I said , but I was .
`` We should n't be here , '' {friend} whispered . `` We should be {doing} , or eating {snack} . ''
{friend} put {friend.his} {body} on the {thing} . `` It 's warm , '' {friend.he} said .
`` What did your {kin} say ? '' `` Nothing . {town} people never say anything . ''
`` Let me guess , '' I said . `` There is a catch . '' {friend} looked at the {object} .
`` It is n't the {weather} that kills you , '' {friend} said . `` It 's the {doing} . ''
`` You 've changed , '' said {friend} . `` I have n't , '' I said . `` You only started {doing} . ''
`` One question , '' I said . `` Why the {thing} ? '' {friend} thought about it for {few 2-9} minutes .
`` I once knew a {trade} who could {power} , '' said {friend} . `` It did n't help . ''
`` Do you still have the {object} ? '' I asked {manner} . `` I sold it for {snack} , '' {friend.he} said .
`` When I was {few 4-12} I wanted to be a {trade} , '' said {friend} . `` Then came the {weather} . ''
`` That 's not a {object} , '' I said . {friend} turned it over {manner} and did n't answer .
{friend} laughed . `` Nobody has called me {feeling} in {few 3-12} years . ''
`` My {kin} is {doing} with a {trade} in {village} , '' said {friend} . `` You would n't believe it . ''
`` Give me one reason , '' {friend} said . I gave {friend.him} {few 2-7} , and the {snack} .
`` Is that a {pet} ? '' `` It was a {pet} on {day} , '' said {friend} {manner} .
"""

_THOUGHT = """
I thought of my {kin} , who would have known what to do with a {object} .
It had all begun with a {color} {object} and a bad idea .
I was {feeling} , and then I was {feeling} , and then I was {doing} .
You never know which {day} will be the important one .
There are {few 3-9} kinds of silence , and this was the {color} one .
Nobody tells you that the end of the world is mostly {doing} in the {weather} .
I would have given all the {snack} in {village} to be somewhere else .
If you have ever carried a {object} through {weather} , you know how I felt .
My {kin} used to say that a {trade} without a {object} is only {doing} .
I have been {feeling} in {village} and {feeling} in {town} , but never both on a {day} .
Somebody had to be {feeling} , and as usual it was the {trade} .
It is strange what one remembers : the {snack} , the {color} light , a {pet} on a {object} .
In {village} they have a word for this . It is also their word for {snack} .
"""


class Story(NamedTuple):
    """One prompt and its story, both as tokens separated by spaces."""

    id: str
    prompt: str
    story: str


def stories(split: str) -> Sequence[Story]:
    """Return the built-in stories of `train`, `valid` or `test`, the same on every machine; no prompt is there twice.

    >>> row = stories("test")[0]
    >>> print(row.prompt)
    [ WP ] In the kitchen of Copper Hill there is a copper door that only opens in the heat .
    >>> print(row.story.split(" <newline> ")[-1])
    They painted the wall the next week . On quiet nights you can still hear the pocket watch playing .
    """
    names = list(N_STORIES)
    start = sum(N_STORIES[name] for name in names[: names.index(split)])
    made = _everything()[start : start + N_STORIES[split]]
    return tuple(story._replace(id=f"sample-{split}-{number:03d}") for number, story in enumerate(made))


@cache
def _everything() -> tuple[Story, ...]:
    """All stories from one stream of random numbers; the premises take turns."""
    rng, made = random.Random(_SEED), dict[str, Story]()
    while len(made) < sum(N_STORIES.values()):
        story = _story(rng, tuple(_PREMISES)[len(made) % len(_PREMISES)])
        made.setdefault(story.prompt, story)
    return tuple(made.values())


def _story(rng: random.Random, kind: str) -> Story:
    premise, writer = sections(_PREMISES[kind]), Writer(rng, _WORDS, even=_WORDS)
    he = rng.choice(("she", "he"))
    writer.bound |= {"friend": writer.word(he), "friend.he": he, "friend.his": "her" if he == "she" else "his"}
    writer.bound |= {"friend.him": "her" if he == "she" else "him"}
    for name in ("thing", "beast", "place", "town", "trade", "power", "secret", "color", "food"):
        writer.bound[name] = writer.fill(f"{{{name}}}")
    prompt = f"[ WP ] {writer.pick(premise['prompt'])}"
    talk = writer.some(patterns(_TALK), 2, 5)
    cut = rng.randint(1, len(talk) - 1)
    paragraphs = [
        " ".join([writer.pick(premise["opening"]), *writer.some(patterns(_SCENE), 1, 3)]),
        *talk[:cut],
        " ".join([writer.pick(premise["turn"]), *writer.some(patterns(_THOUGHT), 1, 2)]),
        *writer.some(patterns(_SCENE), 0, 2),
        *talk[cut:],
        " ".join([*writer.some(patterns(_THOUGHT), 0, 1), writer.pick(premise["ending"])]),
    ]
    return Story("", prompt, " <newline> ".join(paragraphs))
