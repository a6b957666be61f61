"""The built-in samples: enough rows, the same everywhere, none in two splits, quickly made, and in their set's form."""

import hashlib
import json
import random
import re
import time
from collections import Counter

import pytest

from bench.tasks.samples import biographies, encyclopedia, korean, news, questions, stories
from bench.tasks.samples.grammar import Writer, patterns, sections

SPLITS = ("train", "valid", "test")


def gigaword(text):
    """A text as Gigaword has it, where numbers that differ may become the same."""
    return re.sub(r"\d", "#", text.lower())


SAMPLES = {  # rows, their source and target, what makes them, content
    "news, one sentence": (news.articles, lambda a: (" ".join(a.body), a.summary), news._everything),
    "news, highlights": (news.articles, lambda a: (" ".join(a.body), "\n".join(a.highlights)), news._everything),
    "news, headlines": (news.articles, lambda a: (gigaword(a.body[0]), gigaword(a.headline)), news._everything),
    "biographies": (biographies.people, lambda p: (str(p.fields), p.sentence), biographies._everyone),
    "stories": (stories.stories, lambda s: (s.prompt, s.story), stories._everything),
    "encyclopedia": (encyclopedia.articles, lambda a: (a[1], "".join(a)), encyclopedia._everything),
    "reviews": (korean.reviews, lambda f: (f.title, "\n".join(r.text for r in f.reviews)), korean._films),
    "songs": (korean.songs, lambda s: ("\n".join(s.lines[:6]), "\n".join(s.lines)), korean._all_songs),
    "questions": (questions.pairs, lambda p: (p.source, p.target), questions._everything),
}

HASHES = {
    "news, one sentence": "d573f093f4191f06",
    "biographies": "4f0946891053d71f",
    "stories": "5ea255880e198363",
    "encyclopedia": "fd992c7af38458dc",
    "reviews": "b64c69cb719a42a0",
    "songs": "7d1cf823991ab831",
    "questions": "c9185409606f323f",
}


def digest(rows):
    content = json.dumps([list(map(list, map(tuple, rows(split)))) for split in SPLITS], ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


@pytest.mark.parametrize("name", SAMPLES)
def test_there_are_enough_rows_and_their_ids_differ(name):
    rows, _, _ = SAMPLES[name]
    sizes = [len(rows(split)) for split in SPLITS]
    assert sizes == ([220, 30, 50] if name == "encyclopedia" else [300, 50, 100])
    if name != "encyclopedia":
        ids = [row.id for split in SPLITS for row in rows(split)]
        assert len(set(ids)) == len(ids)
        assert ids[0] == "sample-train-000"


@pytest.mark.parametrize("name", SAMPLES)
def test_no_source_and_no_target_is_there_twice(name):
    rows, ends, _ = SAMPLES[name]
    for texts in zip(*(ends(row) for split in SPLITS for row in rows(split)), strict=True):
        repeated = [text for text, n in Counter(texts).items() if n > 1]
        assert not repeated


@pytest.mark.parametrize("name", HASHES)
def test_the_rows_are_the_same_everywhere_and_quickly_made(name):
    """A change of a sample changes numbers: give the seed in its module another name and this hash with it."""
    rows, _, made_by = SAMPLES[name]
    first = digest(rows)
    made_by.cache_clear()
    started = time.process_time()
    rows("train")
    assert time.process_time() - started < 1
    assert digest(rows) == first == HASHES[name]


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_is_left_to_fill_in_and_there_are_words_enough(name):
    rows, ends, _ = SAMPLES[name]
    words = {split: Counter(" ".join(" ".join(ends(row)) for row in rows(split)).lower().split()) for split in SPLITS}
    for split in SPLITS:
        assert not [word for word in words[split] if re.search(r"[{}~]|은/는|이/가|을/를", word)]
    assert len(words["train"]) > 500, "variety"
    unseen = sum(n for word, n in words["test"].items() if word not in words["train"]) / sum(words["test"].values())
    assert unseen < 0.25, "what is learned in train is of use in test"
    assert name in ("stories", "reviews", "songs") or unseen > 0, "rare words"


# --- biographies ---


def untold(person):
    """Words of the sentence that no field has and no pattern."""
    told = set(" ".join(value for _, value in person.fields).split()) | {"and", "an"}
    literal = {word for line in biographies._TRADES.values() for word in re.sub(r"\{[^}]*\}", " ", line).split()}
    return set(person.sentence.split()) - told - literal - {"-lrb-", "born", "-rrb-", "--", "in", ",", "his", "her"}


def test_sentences_of_biographies_say_what_the_fields_say():
    everyone = [person for split in SPLITS for person in biographies.people(split)]
    assert not [(person.sentence, untold(person)) for person in everyone if untold(person)]
    person = everyone[0]
    other = tuple((name, "ulf nobody" if name == "name" else value) for name, value in person.fields)
    assert untold(person._replace(fields=other)) == set(dict(person.fields)["name"].split())
    for person in everyone:
        box = dict(person.fields)
        assert person.sentence.startswith(f"{box['name']} -lrb- ")
        assert (" was a" in person.sentence) == bool(box["death date"]) != (" is a" in person.sentence)


def test_biographies_are_lower_case_penn_treebank_tokens():
    date = r"(\d+ [a-z]+ \d{4}|[a-z]+ \d+ , \d{4})"
    form = rf"[^ ]+ [^ ]+ -lrb- (born {date}( in \S+ , \S+)?|{date} -- {date}) -rrb- (is|was) .* \."
    for split in SPLITS:
        for person in biographies.people(split):
            assert re.fullmatch(form, person.sentence), person.sentence
            assert person.sentence == person.sentence.lower()
            assert not re.search(r"\S[,;]|\S\.$|\S's|[()\"]|  |\ba [aeiou]", person.sentence), person.sentence
            assert 6 <= len(person.fields) <= 12
            assert len({name for name, _ in person.fields}) == len(person.fields)
            assert all(value == " ".join(value.lower().split()) for _, value in person.fields)
    people = biographies.people("train")
    assert 0.05 < sum(not value for p in people for _, value in p.fields) / sum(len(p.fields) for p in people) < 0.3


# --- stories ---


def test_stories_have_the_form_of_the_fairseq_files():
    for split in SPLITS:
        for story in stories.stories(split):
            assert re.fullmatch(r"\[ WP \] [A-Z].* (\.|'')", story.prompt), story.prompt
            assert 60 <= len(story.story.split()) <= 400
            assert "\n" not in story.prompt + story.story
            assert len(story.story.split(" <newline> ")) >= 4
            for paragraph in story.story.split(" <newline> "):
                assert re.fullmatch(r"(`` )?[A-Z0-9].*( [.!?]| '')", paragraph), paragraph
                assert paragraph.count("``") == paragraph.count("''")
                assert not re.search(r'"|[^ .][,.!?]( |$)|n\'t(?<! n\'t)|\b[Aa] [aeiou](?!ni|ne)|  ', paragraph), (
                    paragraph
                )
                assert not re.search(r" [.?!] (`` )?[a-z](?!aid|sked)", paragraph) or re.search(r"\? '' ", paragraph)


def test_a_story_follows_its_prompt():
    """Most of the rare words of a prompt come back in its story, more than in that of another."""
    rows = stories.stories("test")
    often = Counter(word for row in rows for word in set(row.prompt.split()))
    own, other = [], []
    for row, another in zip(rows, rows[8:], strict=False):
        rare = [word for word in set(row.prompt.split()) if often[word] < 20]
        own.append(sum(word in row.story.split() for word in rare) / len(rare))
        other.append(sum(word in another.story.split() for word in rare) / len(rare))
    assert sum(own) > 1.5 * sum(other)


# --- encyclopedia ---


def test_the_encyclopedia_has_the_form_of_wikitext():
    for split in SPLITS:
        for lines in encyclopedia.articles(split):
            assert re.fullmatch(r" = [^=]+ = \n", lines[1])
            assert sum(bool(re.fullmatch(r" = [^=]+ = \n", line)) for line in lines) == 1
            assert 150 <= sum(len(line.split()) for line in lines) <= 600
            for before, line, after in zip(lines, lines[1:], lines[2:], strict=False):
                if line.startswith(" = "):
                    marks = re.fullmatch(r" ((?:= )+)[^=]+?((?: =)+) \n", line)
                    assert marks[1].split() == marks[2].split()
                    assert before == after == " \n"
                elif line.strip():
                    assert re.fullmatch(r" [A-Z0-9\"].* [.] \n", line), line
                    assert not re.search(r"\S[,;.)](?!@)( |$)|[(]\S|\d[.,]\d|[a-z]-[a-z]|  ", line.strip()), line
                    assert not re.search(r"\b[Aa] [aeiou](?!ni)", line), line
            assert lines[0] == lines[-1] == " \n"
    words = [word for lines in encyclopedia.articles("train") for line in lines for word in line.split()]
    assert len(words) >= 40_000
    assert {"@-@", "@,@", "@.@", "<unk>"} <= set(words)
    assert 0.001 < words.count("<unk>") / len(words) < 0.02


def test_numbers_of_an_article_agree():
    """A length, a year or a tonnage that is told twice is the same twice."""
    ships = [a for a in encyclopedia.articles("train") if a[1].startswith(" = SS ")]
    tonnages = [re.findall(r"(?:Of|measured) ((?:\d+ @,@ )?\d+) (?:gross register )?tons", "".join(a)) for a in ships]
    assert any(len(found) == 2 for found in tonnages)
    assert all(len(set(found)) <= 1 for found in tonnages)


# --- grammar ---


def test_words_of_a_list_become_rarer_and_names_do_not():
    words = {"zipf": "a b c d", "even": "a b c d"}
    writer = Writer(random.Random(0), words, even=("even",))
    counts = {name: Counter(writer.fill(f"{{{name}}}") for _ in range(4000)) for name in words}
    for place, word in enumerate("abcd", 1):
        assert counts["zipf"][word] / 4000 == pytest.approx(12 / 25 / place, abs=0.03)
        assert counts["even"][word] / 4000 == pytest.approx(0.25, abs=0.03)


def test_no_word_is_drawn_twice_in_a_pattern_or_where_it_is_bound():
    writer = Writer(random.Random(0), {"fruit": "apple plum~jam pear"})
    writer.bound["mine"] = "plum jam"
    assert {writer.fill("{mine} {fruit} {fruit}") for _ in range(50)} == {"plum jam apple pear", "plum jam pear apple"}


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a {80-80} and a {8-8} and a {7-7}", "An 80 and an 8 and a 7"),
        ("a {11-11} . it , a user", "An 11 . It , a user"),
        ("{1200-1200} {year 1200-1200} {2.5-2.5} {few 3-3}", "1 @,@ 200 1200 2 @.@ 5 three"),
        ('"it is," she said. "no', '"It is," she said. "No'),
        ("`` it is , '' she said . `` no", "`` It is , '' she said . `` No"),
        ("{many fly} {many day} {many fox}", "Flies days foxes"),
    ],
)
def test_sentences(pattern, text):
    words = {"fly": "fly", "day": "day", "fox": "fox"}
    assert Writer(random.Random(0), words, comma=" @,@ ", point=" @.@ ").sentence(pattern) == text


def test_numbers_keep_to_their_range_and_step():
    writer = Writer(random.Random(0), {})
    assert {writer.fill("{10-30/10}") for _ in range(99)} == {"10", "20", "30"}
    assert {writer.fill("{1.8-2.1}") for _ in range(99)} == {"1.8", "1.9", "2.0", "2.1"}


def test_sections_and_patterns():
    assert patterns("\nOne\n two.\nThree.\n") == ("One two.", "Three.")
    assert list(sections("== a\nx\n== b\ny\n z\n").items()) == [("a", ("x",)), ("b", ("y z",))]


GRAMMARS = {
    "news": (news._WORDS, [*news._EVENTS.values(), news.BACKGROUND, news.CLOSING]),
    "biographies": (biographies._WORDS, list(biographies._TRADES.values())),
    "stories": (stories._WORDS, [*stories._PREMISES.values(), stories._SCENE, stories._TALK, stories._THOUGHT]),
    "encyclopedia": (encyclopedia._WORDS, list(encyclopedia.KINDS.values())),
    "korean": (korean._WORDS, [korean._REVIEWS, korean._SONGS]),
}


@pytest.mark.parametrize("name", GRAMMARS)
def test_words_of_a_list_differ_and_every_list_is_used(name):
    words, texts = GRAMMARS[name]
    code = {"she", "he", "town", "region", "day", "surname", "image", "month"} | set(korean._WORDS)
    used = set(re.findall(r"\{(?:\w+ )?([\w.]+)\}", " ".join([*texts, *words.values()])))
    assert set(words) <= used | (code if name != "stories" else {"she", "he"})
    repeated = {key: [w for w, n in Counter(listed.split()).items() if n > 1] for key, listed in words.items()}
    assert not {key: found for key, found in repeated.items() if found and key != "month"}
