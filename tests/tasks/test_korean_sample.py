"""The Korean samples: particles fit the syllable before them, choruses come back, reviews have their marks."""

import re
import unicodedata
from collections import Counter

import pytest

from bench.tasks.samples import korean
from bench.tasks.samples.korean import particle

SPLITS = ("train", "valid", "test")
FILMS = [film for split in SPLITS for film in korean.reviews(split)]
SONGS = [song for split in SPLITS for song in korean.songs(split)]
LINES = [line for song in SONGS for line in song.lines]
TEXTS = [review.text for film in FILMS for review in film.reviews] + LINES

AFTER_CONSONANT, AFTER_VOWEL = "은 이 을 과 으로 이랑 이나 이라면", "는 가 를 와 로 랑 나 라면"


def final(syllable):
    """The last consonant of a syllable, by decomposition: another way than the module's arithmetic."""
    return unicodedata.normalize("NFD", syllable)[2:]


@pytest.mark.parametrize(
    ("word", "forms", "expected"),
    [
        ("봄", "이/가", "이"), ("나무", "이/가", "가"), ("가람", "을/를", "을"), ("나래", "을/를", "를"),
        ("집", "으로/로", "으로"), ("바다", "으로/로", "로"), ("가을", "으로/로", "로"), ("가을", "은/는", "은"),
        ("추억", "이었/였", "이었"), ("이야기", "이었/였", "였"), ("부엌", "과/와", "과"), ("왜", "과/와", "와"),
    ],
)  # fmt: skip
def test_particle(word, forms, expected):
    assert particle(word, forms) == expected


def test_arithmetic_and_decomposition_agree_on_every_syllable():
    for code in range(ord("가"), ord("힣") + 1):
        assert (particle(chr(code), "은/는") == "은") == bool(final(chr(code)))


@pytest.mark.parametrize("word", ["", "Seoul", "7", "집!"])
def test_no_particle_without_a_syllable(word):
    with pytest.raises(ValueError, match="Hangul"):
        particle(word, "은/는")


def wrong_particles(text, nouns):
    wrong = []
    for noun, form in re.findall(
        rf"({nouns})({'|'.join((AFTER_CONSONANT + ' ' + AFTER_VOWEL).split())})(?![가-힣])", text
    ):
        rieul = form in ("으로", "로") and final(noun[-1]) == "\u11af"
        if (form in AFTER_CONSONANT.split()) != (bool(final(noun[-1])) and not rieul):
            wrong.append(noun + form)
    return wrong


def test_every_particle_fits_its_noun():
    listed = {word.replace("~", " ") for key in korean._WORDS for word in korean._WORDS[key].split()}
    nouns = {word for word in listed if re.fullmatch("[가-힣 ]+", word)} - {"작은", "붉은", "푸른", "두", "세", "네"}
    either = "|".join(sorted(nouns, key=len, reverse=True))
    assert not [found for text in TEXTS if (found := wrong_particles(text, either))]
    assert sum(bool(re.search(rf"({either})(이|가|은|는|을|를)(?![가-힣])", text)) for text in TEXTS) > 3000
    assert wrong_particles("봄가 오면 바다을 보고 가을으로", either) == ["봄가", "바다을", "가을으로"]


def test_films_have_reviews_with_ratings():
    for film in FILMS:
        assert 8 <= len(film.reviews) <= 25
        assert all(1 <= review.rating <= 10 for review in film.reviews)
        assert re.fullmatch("[가-힣 ]+", film.title)
    texts = [review.text for film in FILMS for review in film.reviews]
    assert len(set(texts)) == len(texts)
    assert len({film.title for film in FILMS}) == len(FILMS)
    assert len({review.rating for film in FILMS for review in film.reviews}) == 10
    for mark in ("ㅋㅋ", "ㅠㅠ", "...", "!!", "??"):
        assert sum(mark in text for text in texts) > 0.02 * len(texts), mark
    assert sum(film.title in review.text for film in FILMS for review in film.reviews) > 0.02 * len(texts)


def test_words_fit_the_rating():
    good = [r.rating for f in FILMS for r in f.reviews if "최고" in r.text or "정말 좋았다" in r.text]
    bad = [r.rating for f in FILMS for r in f.reviews if "돈 아깝다" in r.text or "지루하다" in r.text]
    assert min(good) >= 8
    assert max(bad) <= 4


def test_songs_have_a_chorus_that_comes_back():
    for song in SONGS:
        assert 12 <= len(song.lines) <= 30
        threes = Counter(zip(song.lines, song.lines[1:], song.lines[2:], strict=False))
        (chorus, times) = threes.most_common(1)[0]
        assert times in (2, 3)
        assert len(set(song.lines)) >= 9
        assert chorus[0] != song.lines[0]


def test_the_script_is_korean():
    assert not [text for text in TEXTS if re.search(r"[A-Za-z{}~/]|  ", text)]
    letters = Counter(unicodedata.name(c, "?").split()[0] for text in TEXTS for c in text if c.isalpha())
    assert letters["HANGUL"] == sum(letters.values())
