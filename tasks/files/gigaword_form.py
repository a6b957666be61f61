"""Gigaword's written form: lower case, `#` for digits, words and marks apart, as the published sentences have it."""

import re

UNKNOWN = re.compile(r"(?<!\S)UNK(?!\S)")
BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}

RULES = [
    (re.compile(pattern), by)
    for pattern, by in (
        # Other ways to write a character.
        ("[“”„]", '"'),
        ("[‘’]", "'"),
        ("&(?!amp;)", "&amp;"),
        (r"(?<!\\)([/*])", r"\\\1"),
        # Quotes: a straight one opens after a space or a bracket, and closes elsewhere.
        (r'(?<![^\s(\[{])"', " `` "),
        (r'"', " '' "),
        ("``|''", r" \g<0> "),
        (r"(?<!\S)'(?=[a-z])(?!(?:s|t|re|ve|ll|d|m|em|n|til|cause)(?![a-z]))", " ` "),
        # Marks that are words of their own. Those in numbers stay: 1,200 and 10:30.
        (r"[(\[{)\]}]", lambda mark: f" {BRACKETS[mark[0]]} "),
        (r"-{2,}|\.{3,}|[?!%=+]", r" \g<0> "),
        (r"(?<!amp)[;]", " ; "),
        (r"(?<![\d#])[,:]|[,:](?![\d#])", r" \g<0> "),
        (r"(?<!\S)\$|\$(?=[\d#])", " $ "),
        (r"(?<=[a-z]) \$", "$"),  # of another country: us$ 10
        # Parts of a word.
        (r"(?<=[a-z])n't(?![a-z])", " n't"),
        (r"\bcannot\b", "can not"),
        (r"(?<=[\w.#;])'(?:s|re|ve|ll|d|m)(?![\w#])", r" \g<0>"),
        (r"(?<=[\w.])'(?=\s|$)", " '"),
        # The full stop, and only the last one; "u.s." keeps its own and gets another.
        (r"(?<![\s.])\.(?=(?:\s+(?:''|'|-rrb-))*\s*$)", " ."),
        (r"(?<![^\s.])((?:[a-z]\.)*[a-z]) \.(?=(?:\s+(?:''|'|-rrb-))*\s*$)", r"\1. ."),
    )
]


def one_unknown(text: str) -> str:
    """Return a text with `<unk>` for each unknown word; the published test files have `UNK`, the others `<unk>`.

    >>> one_unknown("nec UNK in computer sales UNKs")
    'nec <unk> in computer sales UNKs'
    """
    if "UNK" not in text:  # nearly always, and faster
        return text
    return UNKNOWN.sub("<unk>", text)


def gigaword_form(text: str) -> str:
    """Write a sentence as Gigaword's published ones are.

    Lower case; `#` for each digit; words and marks apart as in the Penn Treebank, with `` and '' for quotes, -lrb- and
    -rrb- for brackets, &amp; and \\/; only the last full stop is a word. No word becomes unknown. A text
    that has the form already stays as it is.

    >>> gigaword_form('Poland\\'s "zloty" (down 2.5%) fell to 1,200 in the U.S., AT&T said.')
    "poland 's `` zloty '' -lrb- down #.# % -rrb- fell to #,### in the u.s. , at&amp;t said ."
    """
    text = " ".join(text.lower().split())
    for pattern, by in RULES:
        text = pattern.sub(by, text)
    return " ".join(re.sub(r"\d", "#", text).split())
