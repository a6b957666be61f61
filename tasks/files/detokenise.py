"""Detokenise: English text whose tokens stand apart, as in the Penn Treebank, back to how people write it.

Much is as in the Moses detokenizer: marks join the word before them, opening brackets and currency signs the word after
them, `'s` and the like the word before, and plain quotes open and close in turn. Moses differs in that it

- leaves `ca n't` and `gon na` as they are, its own tokens being `can 't` and `gonna`;
- takes `` and '' for two quotes that open and close in turn each, and so puts the spaces of `` no , '' wrongly;
- leaves -lrb- and the like, and joins a-b where it finds `a @-@ b`;
- takes all of “ ” ‘ ’ for quotes that open and close in turn, also in `don ’ t`;
- knows other languages.
"""

import re
from typing import ClassVar

BRACKETS = {"-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]", "-lcb-": "{", "-rcb-": "}"}
BRACKET = re.compile(r"(?<!\S)-[lr][rsc]b-(?!\S)", re.IGNORECASE)
GLUED = re.compile(r"(?<=``)(?=\S)|(?<=\S)(?=''(?:\s|\Z))")
QUOTE = re.compile(r"(?<!\S)(?:``|''|[\"'`])(?!\S)")
RIGHT, LEFT = "\1", "\2"
"""Marks next to a quote: it joins the word after it, or the word before it."""

JOINED = re.compile(
    r" ’ (?=(?:s|t|m|d|re|ve|ll)\b)"  # the space before and after
    r"| (?=[.,?!:;%)\]}…”’]+(?: |\Z))"
    r"|(?<=\w) (?=(?:n['’]t|['’](?:s|m|d|re|ve|ll))[.,?!:;…]*(?: |\Z))"
    rf"|{RIGHT} ?| ?{LEFT}",
    re.IGNORECASE,
)
OPENING = re.compile(r"(?<![^ \1])([(\[{$£€¥¿¡“‘]+) ")
HALVES = re.compile(r"\b(can not|gon na|wan na|got ta|gim me|lem me)\b", re.IGNORECASE)


def detokenise(text: str) -> str:
    r"""Join the tokens of an English text; any white space separates them, and becomes one space or none.

    >>> detokenise("`` I ca n't , '' he said . `` You 're gon na ( maybe ) ? ''")
    '"I can\'t," he said. "You\'re gonna (maybe)?"'
    >>> detokenise('The dogs \' tails cost $ 5 , or 50 % ... " cheap , " she said -- \' very \' .')
    'The dogs\' tails cost $5, or 50%... "cheap," she said -- \'very\'.'
    >>> detokenise("It 's -lrb- not -rrb- `` glued'' , is n't. “ Don ’ t , ” he said")
    'It\'s (not) "glued", isn\'t. “Don’t,” he said'
    """
    text = BRACKET.sub(lambda match: BRACKETS[match[0].lower()], text)
    text = " ".join(GLUED.sub(" ", text).split())
    text = QUOTE.sub(_Quotes(), text)
    text = OPENING.sub(r"\1", text)
    text = JOINED.sub(lambda match: "’" if "’" in match[0] else "", text)  # an apostrophe stays, a space goes
    return HALVES.sub(lambda match: match[0].replace(" ", ""), text)


class _Quotes:
    """Decides of each quote in turn whether it opens or closes, and puts a mark before or after it."""

    PLAIN: ClassVar[dict[str, str]] = {"``": '"', "''": '"', "`": "'"}

    def __init__(self) -> None:
        self.open: set[str] = set()

    def __call__(self, match: re.Match[str]) -> str:
        token, before = match[0], match.string[max(0, match.start() - 2) : match.start()]
        quote = self.PLAIN.get(token, token)
        if quote in self.open or token == "''":
            self.open.discard(quote)
            return LEFT + quote
        if token == "'" and before in ("s ", "S "):
            return LEFT + quote
        self.open.add(quote)
        return quote + RIGHT
