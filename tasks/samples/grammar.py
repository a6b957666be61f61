"""Grammars of the built-in samples: patterns with symbols to fill in, and lists of words to draw from.

A pattern is text with symbols in braces:

    {name}                          what is bound to the name, else a word of its list, drawn anew
    {many name}                     its plural
    {3-40} {100-900/50} {0.5-9.5}   a number between the two, in steps of the third
    {year 1900-1990} {few 2-9}      a number without separator; a number in words

In a list of words the first is drawn most often and the k-th 1/k times as often, as in natural text (Zipf's law);
names are drawn evenly. A `~` in a word is a space, and a word may have symbols of its own.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import accumulate

__all__ = ["NUMBERS", "Writer", "patterns", "sections"]

NUMBERS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]

_SYMBOL = re.compile(r"\{(?:(many|year|few) )?([\w./-]+)\}")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeiouAEIO8]|hourglass|11\b|18\b)(?!uni|use|one\b|eu)")
_START = re.compile(r'(^(?:"|`` )?|\. (?:"|`` )?)([a-z])')


class Writer:
    """Fills patterns in.

    Args:
        rng: where every choice comes from.
        words: the list of each symbol, its words separated by white space.
        even: lists whose words are drawn equally often.
        comma: what stands between thousands.
        point: what stands before tenths.

    >>> writer = Writer(random.Random(1), {"fruit": "apple plum", "dish": "{fruit}~cake"})
    >>> writer.bound["cook"] = "Ada"
    >>> writer.sentence("{cook} baked a {dish} with {few 3-3} {many fruit} and sold {1200-1200} of them.")
    'Ada baked an apple cake with three plums and sold 1,200 of them.'
    """

    def __init__(
        self,
        rng: random.Random,
        words: Mapping[str, str],
        *,
        even: Collection[str] = (),
        comma: str = ",",
        point: str = ".",
    ) -> None:
        self.rng, self.words, self.even, self.comma, self.point = rng, words, even, comma, point
        self.bound, self.drawn = dict[str, str](), set[str]()

    def sentence(self, pattern: str) -> str:
        """Fill a pattern in, with `an` where it belongs and capitals after full stops."""
        text = _ARTICLE.sub(r"\1n ", self.fill(pattern))
        return _START.sub(lambda found: found[1] + found[2].upper(), text)

    def fill(self, pattern: str) -> str:
        """Fill a pattern in; no word is drawn twice for it, or drawn when it is bound."""
        self.drawn = set(self.bound.values())
        return self._fill(pattern)

    def pick(self, choice: Sequence[str]) -> str:
        """Write one of the patterns."""
        return self.sentence(self.rng.choice(choice))

    def some(self, choice: Sequence[str], fewest: int, most: int) -> list[str]:
        """Write some of the patterns, none of them twice."""
        return [self.sentence(pattern) for pattern in self.rng.sample(choice, self.rng.randint(fewest, most))]

    def word(self, name: str) -> str:
        """Draw a word that this sentence does not have yet."""
        words, weights = _zipf(self.words[name])
        while True:
            if len(words) == 1:
                word = words[0]
            elif name in self.even:
                word = self.rng.choice(words)
            else:
                (word,) = self.rng.choices(words, cum_weights=weights)
            if "{" in word:
                return self._fill(word)
            if word not in self.drawn:
                self.drawn.add(word)
                return word

    def _fill(self, pattern: str) -> str:
        return _SYMBOL.sub(lambda found: self._symbol(found[2], found[1]), pattern)

    def _symbol(self, name: str, form: str | None) -> str:
        if name in self.bound:
            return self.bound[name]
        if name[0].isdigit():
            return self._number(name, form)
        word = self.word(name)
        if form == "many":
            return re.sub(r"(?<=[^aeiou])y$", "ie", word) + ("es" if word.endswith(("s", "x", "ch", "sh")) else "s")
        return word

    def _number(self, name: str, form: str | None) -> str:
        span, _, step = name.partition("/")
        scale = 10 if "." in span else 1
        low, high = (round(float(end) * scale) for end in span.split("-"))
        value = self.rng.randrange(low, high + 1, int(step or 1))
        if form:
            return NUMBERS[value] if form == "few" else str(value)
        text = f"{value / 10:,.1f}" if scale > 1 else f"{value:,}"
        return text.replace(".", "/").replace(",", self.comma).replace("/", self.point)


@cache
def patterns(text: str) -> tuple[str, ...]:
    """Split into patterns: a new one begins where a line is not indented.

    >>> patterns("One and a\\n half.\\nTwo.")
    ('One and a half.', 'Two.')
    """
    return tuple(" ".join(pattern.split()) for pattern in re.split(r"\n(?=\S)", text.strip()))


@cache
def sections(text: str) -> Mapping[str, tuple[str, ...]]:
    """Split into sections, each a line `== name` and patterns.

    >>> sections("== greeting\\nGood day.\\nHello.\\n== leave\\nGoodbye.")
    {'greeting': ('Good day.', 'Hello.'), 'leave': ('Goodbye.',)}
    """
    parts = (part.partition("\n") for part in re.split(r"^== ", text, flags=re.M)[1:])
    return {name.strip(): patterns(body) for name, _, body in parts}


@cache
def _zipf(words: str) -> tuple[Sequence[str], Sequence[float]]:
    listed = [word.replace("~", " ") for word in words.split()]
    return listed, list(accumulate(1 / rank for rank in range(1, len(listed) + 1)))
