"""The built-in samples: enough rows, the same everywhere, none in two splits, and in their set's form."""

import re
from collections import Counter
from typing import NamedTuple

import pytest

from bench.errors import DataError
from bench.tasks import TASKS, samples
from bench.tasks.samples import sample_lines, sample_rows
from bench.tasks.wikitext103 import sample_text
from tests.tasks.sample_files import forms, words

SPLITS = ("train", "valid", "test")
FILES = sorted(path.stem for path in samples.FOLDER.glob("*.jsonl"))

MANIFESTS = {  # the first 16 digits of the sha256 of train, valid and test
    "ambiguous_template": "19793f2ea402f9d2 9e6bbeedef400bfc b787175535b2103d",
    "logicnlg": "d0d02418e9efce59 067fd7b63ea3992e e4554a4fda744e3d",
    "wikitext103": "fb63514cb0bbda54 973e9682d934966f 02f7348c25fe7520",
    "xsum": "4650cdc517d51570 245e24fe39974df6 e10c4dca36052b80",
    "cnndm": "9039c0ccbfc2dc04 81a07cd70a09053a a15bbe35b25f9d91",
    "gigaword": "f23359ab5152befe 5921694c73e0e1fc 300ca2051ae6c0d8",
    "duc2004": "f23359ab5152befe 5921694c73e0e1fc 52072aff1cc55a60",
    "nyt": "35b0d27cfc642a09 dc1793e2ca84efea a98b7b149e6542f8",
    "writingprompts": "09eaf1b64dd53d91 803ea8f797d73277 6baee33016074646",
    "wikibio": "f208ba3d2417bd3d 6d2a3f17d845817b 9123f6aef8f64d51",
    "lyrics": "314c89fc337dd6fb a94764b5f4972055 dcb609d060073506",
    "nsmc": "b89553515094243f 79aabd627a9b0e7a 246fd9fb6d279474",
    "text": "acce86329abb1778 a3021a7abb64dbe3 0fd1bf8fc34ad308",
    "pairs": "369907f0c7a58bf4 a3766bd637f5d3ce fcedc0f6bf8e2f20",
}


@pytest.mark.parametrize("task", TASKS)
def test_the_rows_of_every_task_are_the_same_everywhere(task):
    """A changed row changes numbers: CHANGELOG.md says so, and this table has the new hash."""
    made = TASKS[task].load()()
    assert " ".join(made.manifest(split).sha256[:16] for split in SPLITS) == MANIFESTS[task]


def test_the_samples_are_small():
    assert sum(path.stat().st_size for path in samples.FOLDER.iterdir() if path.is_file()) <= 1_000_000


# --- the loader ---


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write a sample file and return its rows of `train`."""
    monkeypatch.setattr(samples, "FOLDER", tmp_path)

    def write(*lines):
        (tmp_path / "story.jsonl").write_text("\n".join(lines), encoding="utf-8")
        return sample_rows("story", "train")

    samples.sample_rows.cache_clear()
    samples._language.cache_clear()
    yield write
    samples.sample_rows.cache_clear()
    samples._language.cache_clear()


LANGUAGE = (
    '{"list":"fruit","words":"apple|plum"}',
    '{"list":"dish","words":"cake|tart"}',
    '"The {dish} had no {fruit}."',
)


def test_numbers_are_forms_and_words_and_text_stands_for_itself(written):
    rows = written(
        *LANGUAGE,
        '"Good."',
        '{"split":"train","story":[0,1,0,"Nobody ate it.",1,0,"pie",1]}',
        '{"split":"test","story":[1]}',
        '{"split":"train","story":[[1,1],["End."]]}',
    )
    assert rows == (
        {"id": "sample-train-000",
         "story": ("The tart had no apple.", "Nobody ate it.", "Good.", "The pie had no plum.")},
        {"id": "sample-train-001", "story": (("Good.", "Good."), ("End.",))},
    )  # fmt: skip


def test_rows_of_a_file_without_forms_are_what_they_say(written):
    assert written('{"split":"train","n":[1,2]}') == ({"id": "sample-train-000", "n": [1, 2]},)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '{"split":"train","story":[1]}',
            "line 4: expected the number of a form, below 1, found 1; the file is",
        ),
        ('{"split":"train","story":[-1]}', "expected the number of a form, below 1, found -1"),
        ('{"split":"train","story":[0,2,0]}', "expected the number of a dish, below 2, found 2"),
        ('{"split":"train","story":[0,1]}', "expected the number of a fruit, below 2, found None"),
        ('"A {nut}."', "line 4: no list above it is called nut"),
        ('{"split":"train","story"', "line 4: Expecting"),
        ("[]", "line 4: it is neither an object nor text"),
        ('{"split":"test","story":[]}', "expected rows of the split 'train', found none; install bench again"),
    ],
)
def test_a_damaged_file_is_named(written, line, message):
    with pytest.raises(DataError, match=re.escape(message)):
        written(*LANGUAGE, line)


def test_a_sample_that_is_not_there_is_named(written):
    with pytest.raises(DataError, match=r"nothing\.jsonl: expected a built-in sample, .*; install bench again"):
        sample_rows("nothing", "train")


@pytest.mark.parametrize("name", [name for name in FILES if forms(name)])
def test_every_form_and_every_word_is_used_and_none_is_there_twice(name):
    pieces = [re.split(r"\{(\w+)\}", form) for form in forms(name)]
    used = Counter()

    def count(items):
        numbers = iter(items)
        for item in numbers:
            if isinstance(item, list):
                count(item)
            elif isinstance(item, int):
                used["form", item] += 1
                used.update((slot, next(numbers)) for slot in pieces[item][1::2])

    for line in sample_lines(name):
        if "split" in line:
            count([value for value in line.values() if isinstance(value, list)])
    assert len(set(forms(name))) == len(pieces)
    assert not [place for place in range(len(pieces)) if not used["form", place]]
    for slot, listed in words(name).items():
        assert len(set(listed)) == len(listed)
        assert not [word for place, word in enumerate(listed) if not used[slot, place]]


# --- all of them ---


def gigaword(text):
    """A text as Gigaword has it, where numbers that differ may become the same."""
    return re.sub(r"\d", "#", text.lower())


class Person(NamedTuple):
    fields: tuple[tuple[str, str], ...]
    sentence: str


def people(split):
    rows = sample_rows("wikibio", split)
    return [Person(tuple(tuple(f.split(" = ")) for f in row["fields"]), row["sentence"][0]) for row in rows]


class Story(NamedTuple):
    prompt: str
    story: str


def stories(split):
    return [
        Story(f"[ WP ] {' '.join(row['prompt'])}", " <newline> ".join(map(" ".join, row["story"])))
        for row in sample_rows("writingprompts", split)
    ]


def articles(split):
    """The lines of each article, blank ones among them."""
    return [sample_text(row["lines"]).splitlines(keepends=True) for row in sample_rows("wikitext103", split)]


def reviews(film):
    return "\n".join(map(" ".join, film["reviews"]))


SAMPLES = {  # name of the file, source and target of a row
    "news, one sentence": ("news", lambda a: (" ".join(a["body"]), a["summary"][0])),
    "news, highlights": ("news", lambda a: (" ".join(a["body"]), "\n".join(a["highlights"]))),
    "news, headlines": ("news", lambda a: (gigaword(a["body"][0]), gigaword(a["headlines"][0]))),
    "biographies": ("wikibio", lambda p: (str(p["fields"]), p["sentence"][0])),
    "stories": ("writingprompts", lambda s: (" ".join(s["prompt"]), "\n".join(map(" ".join, s["story"])))),
    "encyclopedia": ("wikitext103", lambda a: (a["lines"][0][0], sample_text(a["lines"]))),
    "reviews": ("nsmc", lambda f: (f"film {f['id']}", reviews(f))),
    "songs": ("lyrics", lambda s: ("\n".join(s["lines"][:6]), "\n".join(s["lines"]))),
    "questions": ("pairs", lambda p: (" ".join(p["source"]), " ".join(p["target"]))),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_there_are_enough_rows_and_their_ids_differ(name):
    file, _ = SAMPLES[name]
    sizes = [len(sample_rows(file, split)) for split in SPLITS]
    assert sizes == ([220, 30, 50] if name == "encyclopedia" else [300, 50, 100])
    ids = [row["id"] for split in SPLITS for row in sample_rows(file, split)]
    assert len(set(ids)) == len(ids)
    assert ids[0] == "sample-train-000"


@pytest.mark.parametrize("name", SAMPLES)
def test_no_source_and_no_target_is_there_twice(name):
    file, ends = SAMPLES[name]
    for texts in zip(*(ends(row) for split in SPLITS for row in sample_rows(file, split)), strict=True):
        repeated = [text for text, n in Counter(texts).items() if n > 1]
        assert not repeated


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_is_left_to_fill_in_and_there_are_words_enough(name):
    file, ends = SAMPLES[name]
    texts = {split: " ".join(" ".join(ends(row)) for row in sample_rows(file, split)) for split in SPLITS}
    counts = {split: Counter(text.lower().split()) for split, text in texts.items()}
    for split in SPLITS:
        assert not [word for word in counts[split] if re.search(r"[{}~]|은/는|이/가|을/를", word)]
    assert len(counts["train"]) > 500, "variety"
    unseen = sum(n for word, n in counts["test"].items() if word not in counts["train"]) / sum(counts["test"].values())
    assert unseen < 0.25, "what is learned in train is of use in test"
    assert name in ("stories", "reviews", "songs") or unseen > 0, "rare words"


# --- biographies ---


def untold(person):
    """Words of the sentence that no field has and no pattern."""
    told = set(" ".join(value for _, value in person.fields).split()) | {"and", "an"}
    literal = {word for form in forms("wikibio") for word in re.sub(r"\{[^}]*\}", " ", form).split()}
    return set(person.sentence.split()) - told - literal - {"book"}  # in rare sentences, which have no form


def test_sentences_of_biographies_say_what_the_fields_say():
    everyone = [person for split in SPLITS for person in people(split)]
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
        for person in people(split):
            assert re.fullmatch(form, person.sentence), person.sentence
            assert person.sentence == person.sentence.lower()
            assert not re.search(r"\S[,;]|\S\.$|\S's|[()\"]|  |\ba [aeiou]", person.sentence), person.sentence
            assert 6 <= len(person.fields) <= 12
            assert len({name for name, _ in person.fields}) == len(person.fields)
            assert all(value == " ".join(value.lower().split()) for _, value in person.fields)
    values = [value for person in people("train") for _, value in person.fields]
    assert 0.05 < values.count("") / len(values) < 0.3


# --- stories ---


def test_stories_have_the_form_of_the_fairseq_files():
    for split in SPLITS:
        for story in stories(split):
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
    rows = stories("test")
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
        for lines in articles(split):
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
    tokens = [word for lines in articles("train") for line in lines for word in line.split()]
    assert len(tokens) >= 40_000
    assert {"@-@", "@,@", "@.@", "<unk>"} <= set(tokens)
    assert 0.001 < tokens.count("<unk>") / len(tokens) < 0.02


def test_numbers_of_an_article_agree():
    """A length, a year or a tonnage that is told twice is the same twice."""
    ships = [a for a in articles("train") if a[1].startswith(" = SS ")]
    tonnages = [re.findall(r"(?:Of|measured) ((?:\d+ @,@ )?\d+) (?:gross register )?tons", "".join(a)) for a in ships]
    assert any(len(found) == 2 for found in tonnages)
    assert all(len(set(found)) <= 1 for found in tonnages)
