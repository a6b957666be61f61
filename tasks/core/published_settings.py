"""Published settings: what papers say of their training and decoding, and what their released code does.

A file of `tasks/papers` has `paper`, `code` and `[[setting]]`. A setting has a `name` as typed after --set, or one of
the facts that `bench.config.deviations` adds; the `tasks` it is of, and `methods` (without variants) and `backbones` if
not all; and `paper` or `code`, or both: a value, or a list of which each is as stated, where `*` stands for any text.
`where` is the place in the paper, `words` say values in words, `how` says what to do. `given = true` is for files, such
as word vectors: any value will do.
`[[unstated]]` has the `names` of what a recipe sets although the paper says nothing of it.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator


def as_text(value: Any) -> str:
    """Return a value as it is compared: as typed after --set.

    >>> as_text(1e-4), as_text(True), as_text(None), as_text(20)
    ('0.0001', 'true', 'none', '20')
    """
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def _values(value: Any) -> tuple[str, ...]:
    """Return a stated value, or each of a list of them, as text."""
    return tuple(map(as_text, value if isinstance(value, list | tuple) else [value]))


Values = Annotated[tuple[str, ...], BeforeValidator(_values)]


class PublishedSetting(BaseModel, frozen=True, extra="forbid"):
    """What is stated of one setting.

    Args:
        name: of the setting.
        tasks: that it is of.
        methods: that it is of, without variants; empty for all.
        backbones: likewise.
        paper: values that are as the paper states; empty where it says nothing.
        code: values that are as the released code does; empty where that is not known.
        where: place of the statement.
        how: what to do to have it so.
        given: whether any value but an empty one is as stated.
        words: of values.
    """

    name: str
    tasks: tuple[str, ...]
    methods: tuple[str, ...] = ()
    backbones: tuple[str, ...] = ()
    paper: Values = ()
    code: Values = ()
    where: str = ""
    how: str = ""
    given: bool = False
    words: Mapping[str, str] = {}

    def is_of(self, task: str, method: str, backbone: str) -> bool:
        """Return whether it is about a run: its task, method (with or without a variant) and backbone."""
        is_of_method = not self.methods or method.partition(".")[0] in self.methods
        is_of_backbone = not self.backbones or backbone in self.backbones
        return task in self.tasks and is_of_method and is_of_backbone

    def in_words(self, values: Sequence[str]) -> str:
        """Return values as a reader sees them."""
        return " or ".join(self.words.get(value, value) for value in values)

    def met(self, value: str, values: Sequence[str]) -> bool:
        """Return whether a value is as stated; nothing stated is met by all."""
        if self.given and values:
            return bool(value)
        return not values or any(fnmatchcase(value, pattern) for pattern in values)


@dataclass(frozen=True)
class Deviation:
    """One setting that deviates from the paper, from the released code, or from both.

    Args:
        setting: its name, `section.name`.
        ours: its value here, in words where `tasks/papers` has some.
        paper: what the paper states; empty where it says nothing.
        code: what the released code does; empty where that is not known.
        where: place of the paper's statement.
        how: how to get the stated value; empty where that is impossible, or one option.
    """

    setting: str
    ours: str
    paper: str = ""
    code: str = ""
    where: str = ""
    how: str = ""

    @property
    def section(self) -> str:
        """What its name begins with: `trainer`, `method`, ..."""
        return self.setting.partition(".")[0]

    @property
    def is_of_paper(self) -> bool:
        """Whether the paper states another value, and not its code alone."""
        return self.paper not in ("", self.ours)

    @property
    def text(self) -> str:
        """As a sentence.

        >>> Deviation("method.reduction", "pair_mean", "sum", "authors", "eq. 5").text
        'method.reduction: ours pair_mean; paper: sum (eq. 5); code: authors'
        >>> Deviation("trainer.schedule", "linear", "linear", "constant", "A").text
        'trainer.schedule: ours linear; paper: the same (A); code: constant'
        >>> Deviation("trainer.precision", "32-true", code="16-mixed").text
        'trainer.precision: ours 32-true; paper: not stated; code: 16-mixed'
        """
        same = {self.ours: "the same"}
        paper = same.get(self.paper, self.paper) or "not stated"
        if self.where:
            paper += f" ({self.where})"
        parts = [f"{self.setting}: ours {self.ours}", f"paper: {paper}"]
        if self.code:
            parts.append(f"code: {same.get(self.code, self.code)}")
        return ". ".join(filter(None, ["; ".join(parts), self.how]))

    def as_dict(self) -> Mapping[str, Any]:
        """Return it as plain content, without what is empty."""
        return {name: value for name, value in asdict(self).items() if value}


@cache
def published_settings() -> tuple[PublishedSetting, ...]:
    """Return every setting that is stated, paper by paper."""
    files = sorted((Path(__file__).parents[1] / "papers").glob("*.toml"))
    contents = [tomllib.loads(file.read_text(encoding="utf-8")) for file in files]
    return tuple(PublishedSetting(**entry) for content in contents for entry in content["setting"])
