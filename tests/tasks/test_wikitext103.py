"""WikiText-103: articles of the published files, proxy training rows, official counts of articles and words."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.errors import MissingError
from bench.tasks.wikitext103 import WikiText103, articles
from tests.tasks import news_files
from tests.tasks.fake_hub import parquet
from tests.tasks.news_files import loaded

REAL = news_files.REAL / "wikitext" / "wikitext-103"
ARTICLE = " \n = {} = \n \n Some words about {} . \n \n = = Part = = \n \n More words . \n"


def made(folder: Path, form: str, **splits: int) -> Path:
    for split, n in splits.items():
        text = "".join(ARTICLE.format(f"{split} {i}", i) for i in range(n))
        if form == "jsonl":
            lines = [json.dumps({"text": line}) + "\n" for line in text.splitlines(keepends=True)]
            (folder / f"{split}.jsonl").write_text("".join(lines))
        elif form in ("parquet", "hub"):  # the hub's rows have nothing for a blank line
            blank = "" if form == "hub" else " \n"
            rows = [{"text": line if line.strip() else blank} for line in text.splitlines(keepends=True)]
            for part in range(2):
                body = parquet(rows[:10] if part == 0 else rows[10:])
                (folder / f"{split}-{part:05d}-of-00002.parquet").write_bytes(body)
        elif form == "txt.gz":
            (folder / f"{split}.txt.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / f"wiki.{split}.tokens").write_text(text)
    return folder


@pytest.mark.parametrize("form", ["jsonl", "txt.gz", "tokens", "parquet", "hub"])
def test_every_form_gives_the_same_articles(tmp_path: Path, form: str) -> None:
    task = loaded(WikiText103, made(tmp_path, form, train=3, valid=2, test=2))
    split = task.split("train")
    assert [e.target for e in split.examples] == [ARTICLE.format(f"train {i}", i) for i in range(3)]
    assert (split.status, [e.id for e in split.examples]) == ("subset", ["train/0", "train/1", "train/2"])


def test_validation_articles_stand_in_where_there_is_no_training_file(tmp_path: Path) -> None:
    made(tmp_path, "tokens", valid=20, test=2)
    auto, official = loaded(WikiText103, tmp_path), loaded(WikiText103, tmp_path, train="official")
    train, valid = auto.split("train"), auto.split("valid")
    assert (len(train.examples), len(valid.examples), train.status, valid.status) == (18, 2, "proxy", "proxy")
    assert not {e.target for e in train.examples} & {e.target for e in valid.examples}
    assert auto.split("test").status == "subset"
    assert len(official.split("valid").examples) == 20
    with pytest.raises(MissingError, match=r"wiki\.train\.tokens.*Salesforce/wikitext"):
        official.split("train")


def test_only_a_line_between_empty_ones_is_a_title() -> None:
    text = " | = A = | | a | = 1 rad / s = | b | | = = = B = = = | | c |"
    lines = [f" {line.strip()} \n" if line.strip() else " \n" for line in text.split("|")]
    assert list(articles(lines)) == ["".join(lines)]


WORDS = st.lists(st.sampled_from(["a", "of", "= b =", "|", ",", "@-@", "é", "<unk>"]), min_size=1, max_size=5)
LINE = WORDS.map(lambda words: f" {' '.join(words)} . \n")
HEADING = WORDS.map(lambda words: f" \n = = {' '.join(words)} = = \n \n")
ARTICLES = st.lists(
    st.tuples(WORDS, st.lists(st.one_of(LINE, HEADING), min_size=1, max_size=4)).map(
        lambda made: f" \n = A {' '.join(made[0])} = \n \n{''.join(made[1])}"
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=ARTICLES, end=st.sampled_from(["\n", "\r\n"]), first_line=st.booleans(), marked=st.booleans())
def test_articles_put_together_come_apart_again(
    tmp_path: Path, texts: list[str], end: str, first_line: bool, marked: bool
) -> None:
    if first_line:  # the title is the file's first line
        texts = [texts[0].removeprefix(" \n"), *texts[1:]]
    path = tmp_path / "wiki.test.tokens"
    content = "".join(texts).replace("\n", end)
    path.write_bytes("\ufeff".encode() * marked + content.encode())
    assert [row.target for row in loaded(WikiText103, tmp_path).split("test").examples] == texts


@pytest.mark.skipif(not REAL.is_dir(), reason="needs wikitext/wikitext-103 below BENCH_DATA")
def test_the_published_files_have_the_official_counts() -> None:
    task = loaded(WikiText103, REAL, train="official")
    for split, n_words in (("valid", 217646), ("test", 245569)):
        found = task.split(split)
        assert (len(found.examples), found.status) == (60, "official")
        assert sum(task.words_of(e.target) for e in found.examples) == n_words
