"""The questions sample: every answer is worked out again, from the words of its question alone."""

import datetime
import re
from typing import NamedTuple

from bench.tasks.samples import sample_rows

KINDS = 15  # they take turns
SMALL = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen
"""
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
OPPOSITES = """
hot cold, tall short, open closed, early late, full empty, heavy light, wet dry, loud quiet, old young, wide narrow,
deep shallow, rich poor, clean dirty, strong weak, sharp blunt, rough smooth, near far, cheap expensive
"""
VERBS = """
goes went, eats ate, buys bought, writes wrote, finds found, sells sold, brings brought, takes took, loses lost,
draws drew, sees saw, forgets forgot
"""
OPPOSITE = dict(map(str.split, OPPOSITES.split(",")))
PAST = dict(map(str.split, VERBS.split(",")))


class Pair(NamedTuple):
    source: str
    target: str


def in_words(number):
    """A number below 1,000."""
    small = SMALL.split()
    if number < 20:
        return small[number]
    if number < 100:
        return TENS[number // 10 - 2] + (f"-{small[number % 10]}" if number % 10 else "")
    return f"{small[number // 100]} hundred" + (f" and {in_words(number % 100)}" if number % 100 else "")


ROWS = [row for split in ("train", "valid", "test") for row in sample_rows("pairs", split)]
PAIRS = [Pair(" ".join(row["source"]), " ".join(row["target"])) for row in ROWS]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
WORDS = {in_words(number): number for number in range(1000)}


def minutes(clock):
    hour, minute = map(int, clock.split(":"))
    return 60 * hour + minute


def solve(source):  # noqa: C901 - one case for each kind of question
    """Numbers, names and words that the answer must have, in its order; None where this solver has no rule."""

    def found(pattern):
        match = re.fullmatch(pattern, source)
        return match.groups() if match else None

    if got := found(r"Today is (\w+)\. (\w+) will come in ([\w-]+) days\. On which day is that\?"):
        return [got[1], DAYS[(DAYS.index(got[0]) + WORDS[got[2]]) % 7]]
    if got := found(r"It is (\d+) (\w+) and not a leap year\. What is the date in (\d+) days\?"):
        start = datetime.datetime.strptime(f"{got[0]} {got[1]} 2023", "%d %B %Y")
        then = start + datetime.timedelta(days=int(got[2]))
        return [got[2], str(then.day), then.strftime("%B")]
    if got := found(r"What is ([\w -]+) plus ([\w -]+)\?"):
        return [f"is {in_words(WORDS[got[0]] + WORDS[got[1]])}."]
    if got := found(r"(\w+) has (\d+) (\w+) and \d+ \w+ and buys (\d+) more (\w+)\. How many \w+ are there\?"):
        assert got[2] == got[4]
        return [got[0], f" {int(got[1]) + int(got[3])} ", got[2]]
    if got := found(r"One pack of (\w+) costs (\d+) crowns\. How much do ([\w-]+) packs cost\?"):
        return [got[0], f" {int(got[1]) * WORDS[got[2]]} crowns"]
    if got := found(r"The (.+) in (.+) opens at (\d+):00 and closes at (\d+):00\. Can I go there at (\d+):00\?"):
        return ["Yes" if int(got[2]) < int(got[4]) < int(got[3]) else "No", got[0], got[1], got[2], got[3]]
    if got := found(r"The (.+) in (.+) is open every day except (\w+)\. Is it open on (\w+)\?"):
        return ["No" if got[2] == got[3] else "Yes", got[3], got[0], got[1]]
    if got := found(r"Give the opposites of (\w+) and (\w+)\."):
        return [OPPOSITE[got[0]], " and ", OPPOSITE[got[1]]]
    if got := found(r"Put into the past: (\w+) (\w+) (.*)"):
        return [got[0], PAST[got[1]], got[2]]
    if got := found(r"How many (\w+) are (\d+) (\w+)\?"):
        size = {"centimetres": 100, "metres": 1000, "minutes": 60, "hours": 24, "days": 7, "grams": 1000, "seconds": 60,
                "pieces": 12}[got[0]]  # fmt: skip
        return [got[1], got[2], f" {int(got[1]) * size} ", got[0]]
    if got := found(r"(\w+) is (\d+), (\w+) is (\d+), (\w+) is (\d+)\. Who is the (\w+)\?"):
        ages = {int(got[place + 1]): got[place] for place in (0, 2, 4)}
        best = max(ages) if got[6] == "oldest" else min(ages)
        return [ages[best], got[6], str(best)]
    if got := found(r"Put in alphabetical order: (.*)\."):
        return [", ".join(sorted(got[0].split(", ")))]
    if got := found(r"(\w+)'s train leaves at (\S+) and takes (\d+) minutes\. When does it arrive\?"):
        end = minutes(got[1]) + int(got[2])
        return [got[0], f" {end // 60}:{end % 60:02d}."]
    if got := found(r"Continue the row: ([\d, ]+), \.\.\."):
        row = [int(number) for number in got[0].split(", ")]
        (step,) = {b - a for a, b in zip(row, row[1:], strict=False)}
        return [f" {row[-1] + step},", f" {step} "]
    if got := found(r"(\w+) carries (.+) and (\w+) carries (.+)\. Who has the (\w+), and in which box\?"):
        who, box = (got[0], got[1]) if got[1].endswith(got[4]) else (got[2], got[3])
        return [who, got[4], re.search(r"the (\w+) box", box)[1]]
    return None


def answers(pair):
    """Whether the answer has all that it must have, in order."""
    place = 0
    for part in solve(pair.source):
        place = pair.target.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return True


def test_every_question_has_its_answer():
    assert not [pair.source for pair in PAIRS if solve(pair.source) is None]
    assert not [pair for pair in PAIRS if not answers(pair)]


def test_the_solver_can_say_no():
    """The answer to another question of the same kind is wrong."""
    wrong = [answers(pair._replace(target=PAIRS[place + KINDS].target)) for place, pair in enumerate(PAIRS[:200])]
    assert sum(wrong) < 4, "a few have the same answer by chance"


def test_every_kind_is_asked_equally_often():
    openings = [re.sub(r"\d+|[A-Z]\w+", "", pair.source)[:12] for pair in PAIRS[:KINDS]]
    assert len(set(openings)) >= 13
    assert all(len(pair.source.split()) <= 40 and len(pair.target.split()) <= 20 for pair in PAIRS)


def test_yes_and_no_are_both_frequent():
    said = [pair.target.split(",")[0] for pair in PAIRS if pair.target.startswith(("Yes,", "No,"))]
    assert 0.25 < said.count("Yes") / len(said) < 0.75
