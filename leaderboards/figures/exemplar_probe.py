"""Exemplar probe: does a text follow its exemplar in form and its source in content? (Peng et al. 2019, Figure 3)

A probe has sources, each under several exemplars, and what the paper's model wrote. Four measures, all over words in
lower case without full stops, in which every digit is `#`:

style following   How much nearer the form of a text is to its own exemplar than to the other exemplars of its source.
                  The form of a text is its words, where a content word is replaced by its ending (-ing, -ed, -s, none)
                  or `#` for a number. Two forms are as near as their longest common subsequence: twice its length over
                  both lengths. Own less the mean of the others, times 100; 0 for a model that does not read exemplars.
content leak      Percentage of a text's content words that stand in its exemplar and not in its source.
from neither      Percentage of a text's content words that stand in neither: other words for the same, or inventions.
differing texts   Percentage of the texts of a source that are unlike all before them; the first one counts.

Content words are compared without their ending. The mean over texts is what is shown.
"""

from __future__ import annotations

import re
import statistics
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

from bench.errors import DataError
from bench.leaderboards.published.paper_files import LEVELS, Level

__all__ = ["MEASURES", "ExemplarProbe", "ProbeSource", "form_of", "measures", "nearness", "probes", "read_probe"]

MEASURES = ("style following", "content leak", "from neither", "differing texts")
FUNCTION_TEXT = """
    a an the this that these those of in on at by for to from with into over after before under between against
    and or but as than is are was were be been being has have had will would can could may might must do does did
    not no it its he she they his her their who which up out off
"""
FUNCTION_WORDS = frozenset(FUNCTION_TEXT.split())
ENDINGS = ("ment", "ing", "ed", "es", "s")
SHORTEST_STEM = 3


@dataclass(frozen=True)
class ProbeSource:
    """A source, the exemplars it is written under, and what the paper's model wrote under each."""

    text: str
    exemplars: tuple[str, ...]
    printed: tuple[str, ...]


@dataclass(frozen=True)
class ExemplarProbe:
    """A fixed set of sources and exemplars.

    Args:
        address: its name on the command line.
        title, about, note: for people.
        level: how near ours can come.
        task, methods, backbone, decoding: of ours.
        sources: its texts.
    """

    address: str
    title: str
    about: str
    note: str
    level: Level
    task: str
    methods: tuple[str, ...]
    backbone: str
    decoding: str
    sources: tuple[ProbeSource, ...]

    @property
    def printed(self) -> list[tuple[str, ...]]:
        """What the paper's model wrote, by source."""
        return [source.printed for source in self.sources]


def read_probe(text: str, file: str) -> ExemplarProbe:
    """Read one probe's file.

    Raises:
        DataError: a key is missing, or a source has not as many texts as exemplars.
    """
    data = tomllib.loads(text)
    try:
        sources = []
        for number, source in enumerate(data.pop("source"), start=1):
            sources.append(ProbeSource(source["text"], tuple(source["exemplars"]), tuple(source["printed"])))
            if not 2 <= len(sources[-1].exemplars) == len(sources[-1].printed):
                raise DataError(f"{file}, source {number}: expected two exemplars or more, and a text for each")
        level = Level("", data.pop("level"), data.pop("level_why"))
        methods = tuple(data.pop("methods"))
    except KeyError as error:
        raise DataError(f"{file}: missing {error}") from error
    if level.level not in LEVELS:
        raise DataError(f"{file}: unknown level '{level.level}'; expected one of {', '.join(LEVELS)}")
    return ExemplarProbe(**data, level=level, methods=methods, sources=tuple(sources))


@cache
def probes() -> Mapping[str, ExemplarProbe]:
    """Return every probe by its address."""
    folder = resources.files("bench.leaderboards").joinpath("probes")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    read = [read_probe(file.read_text(encoding="utf-8"), f"probes/{file.name}") for file in files]
    return {probe.address: probe for probe in read}


# Measures ----------------------------------------------------------------------------------------------------------


def measures(sources: Sequence[ProbeSource], written: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return the four measures of what a model wrote, by name.

    Args:
        sources: of a probe.
        written: for each source a text for each of its exemplars.

    Raises:
        ValueError: not a text for each exemplar.
    """
    if [len(texts) for texts in written] != [len(source.exemplars) for source in sources]:
        raise ValueError(f"expected a text for each exemplar of {len(sources)} sources")
    values: dict[str, list[float]] = {name: [] for name in MEASURES}
    for source, texts in zip(sources, written, strict=True):
        for number, text in enumerate(texts):
            leak, neither = origins(text, source.text, source.exemplars[number])
            values["style following"].append(following(text, source.exemplars, number))
            values["content leak"].append(leak)
            values["from neither"].append(neither)
            values["differing texts"].append(100.0 * (text not in texts[:number]))
    return {name: statistics.fmean(numbers) for name, numbers in values.items()}


def following(text: str, exemplars: Sequence[str], own: int) -> float:
    """Return how much nearer in form a text is to its own exemplar than to the others, in points.

    >>> round(following("ships sink in storm", ["cars crash in fog", "the fog makes cars crash"], 0), 1)
    55.6
    """
    near = [nearness(text, exemplar) for exemplar in exemplars]
    others = [number for place, number in enumerate(near) if place != own]
    return 100.0 * (near[own] - statistics.fmean(others))


def nearness(text: str, other: str) -> float:
    """Return how near two texts are in form, from 0 to 1; 0 where one has no word."""
    one, two = form_of(text), form_of(other)
    if not one or not two:
        return 0.0
    return 2 * _longest_common(one, two) / (len(one) + len(two))


def form_of(text: str) -> list[str]:
    """Return the form of a text.

    >>> form_of("Two people were killed in Britain, losing 2.5 homes.")
    ['-', '-', 'were', '-ed', 'in', '-', '-ing', '#', '-s']
    """
    form = []
    for word in words_of(text):
        if word in FUNCTION_WORDS:
            form.append(word)
        elif "#" in word:
            form.append("#")
        else:
            form.append(f"-{_ending(word)}".replace("-es", "-s").replace("-ment", "-"))
    return form


def origins(text: str, source: str, exemplar: str) -> tuple[float, float]:
    """Return which percentage of a text's content words is from its exemplar only, and which from neither.

    >>> origins("Trains collide in Canada, again", "A train collided in Oporto", "A bus burns in Canada")
    (25.0, 25.0)
    """
    stems, in_source, in_exemplar = content_of(text), set(content_of(source)), set(content_of(exemplar))
    if not stems:
        return 0.0, 0.0
    leaked = sum(stem in in_exemplar and stem not in in_source for stem in stems)
    neither = sum(stem not in in_exemplar and stem not in in_source for stem in stems)
    return 100.0 * leaked / len(stems), 100.0 * neither / len(stems)


def content_of(text: str) -> list[str]:
    """Return the content words of a text without their endings.

    >>> content_of("U.S. sales of new homes increased")
    ['us', 'sal', 'new', 'hom', 'increas']
    """
    content = [word for word in words_of(text) if word not in FUNCTION_WORDS]
    return [word.removesuffix(_ending(word)).removesuffix("e") for word in content]


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without full stops, `#` for each digit."""
    plain = re.sub(r"\d", "#", text.lower()).replace(".", "")
    return re.findall(r"[^\W_]+|#+", plain)


def _ending(word: str) -> str:
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST_STEM:
            return ending
    return ""


def _longest_common(one: Sequence[str], two: Sequence[str]) -> int:
    """Return the length of the longest common subsequence."""
    lengths = [0] * (len(two) + 1)
    for word in one:
        before = 0
        for place, other in enumerate(two, start=1):
            here = lengths[place]
            if word == other:
                lengths[place] = before + 1
            else:
                lengths[place] = max(lengths[place], lengths[place - 1])
            before = here
    return lengths[-1]
