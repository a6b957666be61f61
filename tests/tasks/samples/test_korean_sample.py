"""The Korean samples: particles fit the syllable before them, choruses come back, reviews have their marks."""

import re
import unicodedata
from collections import Counter

from bench.tasks.samples import sample_rows
from tests.tasks.sample_files import words

SPLITS = ("train", "valid", "test")
FILMS = [[" ".join(review) for review in film["reviews"]] for split in SPLITS for film in sample_rows("nsmc", split)]
SONGS = [song["lines"] for split in SPLITS for song in sample_rows("lyrics", split)]
REVIEWS = [review for film in FILMS for review in film]
TEXTS = REVIEWS + [line for song in SONGS for line in song]

NOUNS = """
두~시간 한~시간~반 두~시간~반 세~시간 백~분 감동 재미 웃음 여운 긴장감 눈물 집에서~드라마 예능 책
만화 뉴스 광고 봄 여름 가을 겨울 달빛 노을 햇살 별빛 가로등~불빛 비 눈 소나기 함박눈 이슬비 세탁소
우체부 등대 기차 편지 탐정 요리사 정원 바다 약속 골목 시계공 형사들 수학여행 라디오 거울 우산 정류장
도서관 선장 그림자 여관 사진관 택시
"""  # what stands in forms or in titles
AFTER_CONSONANT, AFTER_VOWEL = "은 이 을 과 으로 이랑 이나 이라면", "는 가 를 와 로 랑 나 라면"


def final(syllable):
    """The last consonant of a syllable, by decomposition."""
    return unicodedata.normalize("NFD", syllable)[2:]


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
    listed = {word for name in ("nsmc", "lyrics") for of_list in words(name).values() for word in of_list}
    listed |= {noun.replace("~", " ") for noun in NOUNS.split()}
    nouns = {word for word in listed if re.fullmatch("[가-힣 ]+", word)} - {"작은", "붉은", "푸른", "두", "세", "네"}
    either = "|".join(sorted(nouns, key=len, reverse=True))
    assert not [found for text in TEXTS if (found := wrong_particles(text, either))]
    assert sum(bool(re.search(rf"({either})(이|가|은|는|을|를)(?![가-힣])", text)) for text in TEXTS) > 3000
    assert wrong_particles("봄가 오면 바다을 보고 가을으로", either) == ["봄가", "바다을", "가을으로"]


def test_films_have_reviews_and_no_review_is_there_twice():
    assert {len(film) for film in FILMS} == set(range(8, 26))
    assert len(set(REVIEWS)) == len(REVIEWS)
    for mark in ("ㅋㅋ", "ㅠㅠ", "...", "!!", "??"):
        assert sum(mark in text for text in REVIEWS) > 0.02 * len(REVIEWS), mark


def test_songs_have_a_chorus_that_comes_back():
    for song in SONGS:
        assert 12 <= len(song) <= 30
        threes = Counter(zip(song, song[1:], song[2:], strict=False))
        (chorus, times) = threes.most_common(1)[0]
        assert times in (2, 3)
        assert len(set(song)) >= 9
        assert chorus[0] != song[0]


def test_the_script_is_korean():
    assert not [text for text in TEXTS if re.search(r"[A-Za-z{}~/]|  ", text)]
    letters = Counter(unicodedata.name(c, "?").split()[0] for text in TEXTS for c in text if c.isalpha())
    assert letters["HANGUL"] == sum(letters.values())
