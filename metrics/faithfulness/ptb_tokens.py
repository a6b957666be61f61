"""PTB tokens: the words of the Penn Treebank in lower case, as models trained on CoreNLP's output read them.

nltk's Treebank tokenizer by sentence, with what CoreNLP's tokenizer adds: brackets become `-lrb-`, `-rsb-` and so on,
the pound sign becomes `#`, a unit is separated from a number that has a point or comma (`1.5 m`), and typographic
quotes, dashes and ellipses become plain. Sentences end at a line break or by Punkt's rules without training, with a
list of abbreviations, because only at the end of a sentence a full stop is separated from its word. No data files are
needed.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

ABBREVIATIONS = """
mr mrs ms dr prof st sr jr rev hon gen col capt lt sgt maj adm sen rep gov pres vs v co corp inc ltd dept univ
jan feb mar apr jun jul aug sep sept oct nov dec e.g i.e a.m p.m u.s u.k u.n etc
"""
BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}
PLAIN = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": " -- ", "—": " -- ", "…": " ... ", "£": " # "})
DECIMAL_UNIT = re.compile(r"(\d[.,]\d+)(?=[A-Za-z])")


def ptb_tokens(text: str) -> list[str]:
    """Return the tokens of a text of any number of sentences.

    >>> " ".join(ptb_tokens('Aldra (Sorn) "can\\'t pay" its £1.5m debt. It rose.'))
    "aldra -lrb- sorn -rrb- `` ca n't pay '' its # 1.5 m debt . it rose ."
    >>> ptb_tokens("Mr. Orr's [sic] dam")
    ['mr.', 'orr', "'s", '-lsb-', 'sic', '-rsb-', 'dam']
    """
    words, sentences = _tokenizers()
    plain = DECIMAL_UNIT.sub(r"\1 ", text.translate(PLAIN))
    tokens = []
    for line in plain.splitlines():
        for sentence in sentences.tokenize(line):
            tokens += [BRACKETS.get(token, token.lower()) for token in words.tokenize(sentence)]
    return tokens


def same_letters(tokens: Sequence[str], text: str) -> bool:
    """Return whether tokens have the same letters and digits as a text, whatever their case and boundaries.

    >>> same_letters(["ca", "n't", "-lrb-", "#", "5"], "Can't (£5)"), same_letters(["aldra"], "sorn")
    (True, False)
    """
    return _letters(tokens) == _letters(ptb_tokens(text))


def _letters(tokens: Sequence[str]) -> str:
    words = [token.lower() for token in tokens if token.lower() not in BRACKETS.values()]
    return "".join(letter for word in words for letter in word if letter.isalnum())


@cache
def _tokenizers() -> tuple[Any, Any]:
    """Return the tokenizer of words and that of sentences."""
    from nltk.tokenize import TreebankWordTokenizer
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    rules = PunktParameters()
    rules.abbrev_types.update(ABBREVIATIONS.split())
    return TreebankWordTokenizer(), PunktSentenceTokenizer(rules)
