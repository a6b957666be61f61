"""The news sample: what is written about an article stands in it."""

import re
from typing import NamedTuple

import pytest

from bench.tasks.samples import sample_lines, sample_rows


class Article(NamedTuple):
    body: tuple[str, ...]
    summary: str
    highlights: tuple[str, ...]
    headline: str
    headlines: tuple[str, ...]


def articles(split):
    rows = sample_rows("news", split)
    return [Article(r["body"], r["summary"][0], r["highlights"], r["headlines"][0], r["headlines"]) for r in rows]


def forms_about_articles():
    """The forms of summaries, highlights and headlines, found from the numbers of the rows."""
    lines = sample_lines("news")
    forms = [line for line in lines if isinstance(line, str)]
    found = set()
    for line in lines:
        for field in ("summary", "highlights", "headlines"):
            numbers = iter(line[field] if "split" in line else ())
            for number in numbers:
                form = number if isinstance(number, str) else forms[number]
                found.add(form)
                for _ in re.findall(r"\{\w+\}", form):
                    next(numbers)
    return found


ARTICLES = [article for split in ("train", "valid", "test") for article in articles(split)]


def words(text):
    """Words and numbers, `4-1` as two numbers."""
    return re.findall(r"\d[\d,]*\d|\d|[a-z']+(?<!')", text.lower().replace("'s", ""))


LITERAL = {word for form in forms_about_articles() for word in words(re.sub(r"\{[^}]*\}", " ", form))}


def untold(text, told):
    """Names, numbers and whatever else was drawn for a text and does not stand in another."""
    return set(words(text)) - LITERAL - set(words(told))


def texts(article):
    return (article.summary, *article.highlights, *article.headlines)


def test_everything_written_about_an_article_stands_in_it():
    for article in ARTICLES:
        body = " ".join(article.body)
        wrong = [(text, untold(text, body)) for text in texts(article) if untold(text, body) - {"he", "she"}]
        assert not wrong, (body, wrong)


def test_headline_and_summary_can_be_written_from_what_gigaword_and_xsum_show():
    for article in ARTICLES:
        assert not untold(article.headline, article.body[0]), (article.headline, article.body[0])
        assert not untold(article.summary, " ".join(article.body[:3]))
    copied = [set(words(a.headline)) & set(words(a.body[0])) - LITERAL for a in ARTICLES]
    assert sum(bool(found) for found in copied) > 0.99 * len(ARTICLES), "names to copy"


def test_the_check_can_say_no():
    article = ARTICLES[0]
    name, number = "Brackwater", "9,871"
    assert untold(f"{article.headline} in {name}", " ".join(article.body)) == {"brackwater"}
    assert untold(re.sub(r"\d+", number, "Flood takes 12 homes"), " ".join(article.body)) >= {number}
    others = ARTICLES[1:40]
    assert sum(bool(untold(a.summary, " ".join(article.body))) for a in others) > 0.9 * len(others)


def test_lengths_and_form():
    for article in ARTICLES:
        body = " ".join(article.body)
        assert 8 <= len(article.body) <= 20
        assert 120 <= len(body.split()) <= 300
        assert 25 <= len(article.body[0].split()) <= 35
        assert 12 <= len(article.summary.split()) <= 25
        assert 3 <= len(article.highlights) <= 4
        assert 6 <= len(article.headline.split()) <= 10
        assert len(set(article.headlines)) == 4
        assert article.headlines[0] == article.headline
        assert all(len(headline) <= 90 for headline in article.headlines)
        assert not any(headline.endswith(".") for headline in article.headlines)
        for sentence in (*article.body, article.summary, *article.highlights):
            assert re.fullmatch(r'["A-Z0-9].*(\.|\.")', sentence), sentence
            assert not re.search(r"[{}~]|  | [,.]|\b[Aa] [aeiou](?!ni|ne)|\b(\w+) \1\b", sentence), sentence
            assert sentence.count('"') in (0, 2)
        assert article.summary not in article.body
        assert len(set(article.body)) == len(article.body)
        assert '"' not in article.body[0]


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_every_kind_of_event_is_there(split):
    telling = {
        "flood": "banks", "fire": "fire", "rescue": "to safety", "theft": "crowns", "trial": "prison",
        "election": "mayor", "opening": "opened", "match": "beat", "strike": "strike", "discovery": "archaeologists",
    }  # fmt: skip
    for kind, article in zip(list(telling), articles(split)[:10], strict=True):
        assert telling[kind] in article.body[0].lower(), (kind, article.body[0])


def test_people_of_an_article_have_names_of_their_own_and_come_back():
    for article in ARTICLES:
        body = " ".join(article.body)
        found = re.search(r"([A-Z]\w+) ([A-Z]\w+), (?:a |the )?\d\d", body)
        if found:
            assert len(re.findall(rf"\b{found[2]}\b", body)) >= 1
    names = [re.findall(r'" (?:said )?([A-Z]\w+)', " ".join(a.body)) for a in ARTICLES]
    assert all(names)
    assert sum(name in " ".join(a.body[:3]) for a, said in zip(ARTICLES, names, strict=True) for name in said) > 450
