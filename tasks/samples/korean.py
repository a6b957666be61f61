"""Korean of the built-in samples: short reviews of invented films, and lyrics of invented songs.

Rows of NSMC and of Melo-Lyrics where no data folder is given. A pattern has both forms of a particle, as in
`{제목}은/는`, and the syllable before it decides.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from bench.tasks.samples.grammar import Writer, sections

__all__ = ["N_ROWS", "Film", "Review", "Song", "particle", "reviews", "songs"]

N_ROWS = {"train": 300, "valid": 50, "test": 100}
_SEED = "korean sample 1"

_PARTICLES = [
    "은/는",
    "이/가",
    "을/를",
    "과/와",
    "으로/로",
    "이랑/랑",
    "이나/나",
    "이라고/라고",
    "이라면/라면",
    "이었/였",
    "이야/야",
    "이여/여",
]
_BOTH_FORMS = re.compile(rf"(?<=([가-힣]))({'|'.join(sorted(_PARTICLES, key=len, reverse=True))})")
_SYLLABLES, _FINALS, _RIEUL = ord("가"), 28, 8

_WORDS = {
    "제목": "{어떤}~{무엇}",
    "어떤": "마지막 푸른 잃어버린 어느~여름의 비~오는~날의 아버지의 사라진 두~번째 한밤의 겨울 달빛~아래 "
    "오래된 이상한 바람~부는 남쪽~마을의 작은 붉은 조용한 내일의 천~개의",
    "무엇": "세탁소 우체부 등대 기차 편지 탐정 요리사 정원 바다 약속 골목 시계공 형사들 수학여행 라디오 거울 우산 "
    "정류장 도서관 선장 그림자 여관 사진관 택시",
    "장르": "로맨스 공포 액션 코미디 스릴러 가족 추리 전쟁 음악 판타지",
    "인물": "가람 나래 도담 마루 보라 슬기 아라 한결 다온 미르 여울 초롱",
    "요소": "연기 음악 결말 대사 영상 전개 연출 각본 분위기 반전 색감 편집 배경 의상 호흡 액션",
    "장면": "마지막~장면 기차~장면 빗속~장면 부엌~장면 옥상~장면 첫~장면 병원~장면 시장~장면 이별~장면 재회~장면",
    "가족": "엄마 친구 동생 남편 딸 아들 언니 부모님 여자친구 조카",
    "시간": "두~시간 한~시간~반 두~시간~반 세~시간 백~분",
    "느낌": "감동 재미 웃음 여운 긴장감 눈물",
    "대안": "집에서~드라마 예능 책 만화 뉴스 광고",
    "곳": "극장 집 비행기 시사회 심야~극장 학교 자동차~극장",
    "계절": "봄 여름 가을 겨울",
    "장소": "바닷가 골목길 정류장 옥상 기차역 창가 강가 놀이터 언덕 다리~위 공원 계단 "
    "운동장 시장 등대 버스~안 호숫가 우체국 담장~아래 빈~교실",
    "사물": "편지 우산 사진 노래 별빛 그림자 일기장 반지 종이배 목도리 꽃잎 라디오 촛불 자전거 "
    "조개껍데기 기타 손수건 연필 책갈피 운동화 열쇠 머리핀 찻잔 창문 시계 종이학",
    "때": "새벽 저녁 한밤 아침 오후 주말 첫눈~오는~날",
    "꽃": "벚꽃 동백 코스모스 국화 목련 라일락 장미 수국 민들레 해바라기",
    "새": "갈매기 제비 기러기 참새 나비 비둘기 두루미",
    "몸": "손끝 어깨 이마 머리카락 두~볼 입술 손등",
    "하던": "걷던 웃던 기다리던 노래하던 춤추던 꿈꾸던 서성이던 잠들던 달리던 속삭이던",
    "맛": "쓴 달콤한 진한 뜨거운 연한",
    "하늘": "비 눈 소나기 함박눈 이슬비",
    "빛": "달빛 노을 햇살 별빛 가로등~불빛",
    "소리": "기차 파도 피아노 기타 바람 빗방울",
    "마음": "약속 고백 그리움 이야기 한마디 꿈 추억 거짓말",
    "번": "두 세 네 다섯 일곱 열 스무 몇",
    "색": "하얀 푸른 노란 검은 붉은 투명한",
    "느린": "천천히 말없이 조용히 한참을 나란히 혼자서",
    "웃음": "ㅋㅋ ㅋㅋㅋ ㅎㅎ ㅋㅋㅋㅋ ㅋ ㅎ",
    "눈물": "ㅠㅠ ㅜㅜ ㅠㅠㅠ ㅠ",
    "점점": "... .. ....",
    "느낌표": "!! ! !!! ^^ ♡ ♥♥",
}

_REVIEWS = """
== good
{요소}이/가 정말 좋았다
{요소}은/는 진짜 최고{느낌표}
{제목} 재밌게 봤어요{느낌표}
{장면}에서 펑펑 울었네요{눈물}
오랜만에 제대로 된 {장르} 영화를 봤다
{인물} 때문에 두 번 봤음{웃음}
{시간}이/가 금방 지나갔어요
{가족}이랑/랑 봤는데 둘 다 만족{느낌표}
{요소}과/와 {요소}이/가 잘 어울리는 작품
다시 보고 싶은 {장르} 영화{느낌표}
평점이 왜 이렇게 낮지??
{요소} 하나만으로도 볼 가치가 있음
끝나고도 {장면}이/가 계속 생각난다
기대 안 했는데 {요소}이/가 의외로 훌륭함
{느낌}과/와 {느낌}을/를 모두 주는 영화
{곳}에서 보고 또 {곳}에서 봤어요{웃음}
{인물}이/가 너무 사랑스럽다{느낌표}
{제목}은/는 내 인생 영화
{장면}부터 {장면}까지 버릴 게 없다
{인물}과/와 {상대}의 {요소}이/가 일품
== fair
{요소}은/는 좋은데 {요소}이/가 아쉽다
그냥 무난한 {장르} 영화
나쁘지는 않은데 두 번은 못 보겠음{점점}
{요소}만 좋았음{점점}
{곳}에서 킬링타임용으로 보기엔 괜찮네요
{장면}까지는 좋았는데 뒤로 갈수록 별로
기대를 너무 많이 했나 봐요{눈물}
볼 만은 하지만 {요소}은/는 기대하지 마세요
{가족}은/는 좋아하던데 나는 그저 그랬음{웃음}
{느낌}은/는 있는데 {느낌}이/가 없다
{장르} 영화라고 하기엔 좀 약한 듯{점점}
{인물}보다 {상대}이/가 더 기억에 남네{웃음}
== bad
{요소}이/가 너무 지루하다
돈 아깝다{점점}
{장면}에서 잠들었음{웃음}
{장면}에서 나가고 싶었다
{시간} 동안 뭘 본 건지 모르겠다
{인물}은/는 도대체 왜 나온 거죠??
감독님 {요소}이/가 이게 뭐예요{눈물}
{요소}도 별로 {요소}도 별로{점점}
내 {시간} 돌려줘{눈물}
차라리 {대안}이나/나 볼걸 그랬다
이게 {장르} 영화라고??
{가족}이랑/랑 보다가 싸울 뻔{웃음}
{제목}이라면/라면 이제 {곳}에서도 안 본다
{느낌}도 없고 {느낌}도 없다
예고편이 전부임{점점}
{요소}은/는 어디로 간 거야{점점}
"""

_SONGS = """
== verse
{계절} 바람이 불어오던 {장소}에서
우리가 처음 만났던 그 {장소}
너의 {사물}을/를 아직 간직하고 있어
{때}마다 네 이름을 불러 보네
아무도 없는 {장소}에 혼자 서서
{사물} 하나 손에 쥐고 걸어가
{하늘}이/가 내리던 {때}의 {장소}
멀리서 들려오는 {소리} 소리
말하지 못한 {마음}만 남아서
{사물}에 적어 둔 너의 {마음}
{느린} 걸어도 {장소}은/는 멀고
창문을 열면 {계절} 냄새가 나
{번} 번의 {계절}이/가 지나가고
{색} {사물}이/가 낯설어지고
오래된 {사물}처럼 바래 가도
지나간 {계절}은/는 돌아오지 않아
{빛}이/가 {장소}을/를 물들이면
너는 {느린} 웃고 있었지
{빛} 아래 {색} {사물}
{소리} 소리에 잠이 깨던 {때}
{마음}이/가 {하늘}처럼 내려와
{사물}과/와 {사물} 사이에 앉아
네가 없는 {장소}은/는 {계절} 같아
{느린} {사물}을/를 접어 보내
{때}이/가 오면 너도 알까
네가 {하던} {장소}에 나도 서 있어
{하던} 우리를 {사물}은/는 기억할까
{맛} 커피가 식어 가는 {때}
{몸}에 닿던 {계절} 바람
{새}이/가 날아간 {장소} 너머로
{꽃}이/가 피면 온다던 너
{꽃} 지는 {장소}을/를 걸었어
{번} 개의 {사물}을/를 세어 보다가
== chorus
{계절}보다 너를 더 사랑해
다시 {장소}에서 만나자
나의 {마음}은/는 아직 여기 있어
{사물} 같은 너 {빛} 같은 너
기다릴게 {때}이/가 올 때까지
잊지 말아 줘 우리의 {계절}
너 없는 {때}은/는 너무 길어
나의 {사물}이/가 되어 줘
라라라 노래해 {장소}에서
울지 마 {계절}이/가 오잖아
손을 잡아 줘 {하늘}이/가 그칠 때까지
{마음}으로/로 남을 나의 {계절}이여/여
{빛}으로/로 너를 안아 줄게
그날의 {마음}을/를 기억해
{번} 번을 불러도 그리운 이름
돌아와 줘 {색} {계절}으로/로
{꽃}이/가 져도 나는 여기 있을게
{새}처럼 날아 너에게 갈게
{몸}에 남은 {계절}을/를 놓지 않아
우리 {하던} 그날로 데려가 줘
== bridge
이제는 알아 그게 {마음}이었/였다는 걸
{사물}은/는 잃어버려도 {마음}은/는 남아
{계절}이/가 가고 {때}이/가 와도
오 나의 {계절} 나의 {마음}
{느린} {느린} 너에게 갈게
세상이 모두 {하늘}에 젖어도
괜찮아 {빛}이/가 우리를 비추니까
"""


class Review(NamedTuple):
    """A rating from 1 to 10 and a short review."""

    rating: int
    text: str


class Film(NamedTuple):
    """An invented film and what people say of it."""

    id: str
    title: str
    reviews: tuple[Review, ...]


class Song(NamedTuple):
    """The lines of an invented song; its chorus stands there more than once."""

    id: str
    lines: tuple[str, ...]


def particle(word: str, forms: str) -> str:
    """Choose the form of a particle for the last syllable of a word: `after a consonant/after a vowel`.

    After ㄹ, `으로/로` takes its second form.

    Raises:
        ValueError: the word does not end in a Hangul syllable.

    >>> [word + particle(word, "은/는") for word in ("봄", "바다")]
    ['봄은', '바다는']
    >>> [word + particle(word, "으로/로") for word in ("봄", "바다", "겨울")]
    ['봄으로', '바다로', '겨울로']
    >>> [word + particle(word, "과/와") for word in ("가을", "노래")]
    ['가을과', '노래와']
    """
    if not word or not "가" <= word[-1] <= "힣":
        raise ValueError(f"expected a word that ends in a Hangul syllable, got {word!r}")
    closed, opened = forms.split("/")
    final = (ord(word[-1]) - _SYLLABLES) % _FINALS
    return opened if final == 0 or (final == _RIEUL and forms == "으로/로") else closed


def reviews(split: str) -> Sequence[Film]:
    """Return the built-in films of `train`, `valid` or `test` with 8 to 25 reviews each; no review is there twice.

    >>> film = reviews("test")[0]
    >>> film.title, film.reviews[0].rating, film.reviews[0].text
    ('아버지의 선장', 10, '아버지의 선장 재밌게 봤어요! 대사와 편집이 잘 어울리는 작품')
    """
    return _films()[split]


def songs(split: str) -> Sequence[Song]:
    """Return the built-in songs of `train`, `valid` or `test`; no chorus is in two of them.

    >>> songs("test")[0].lines[:2]
    ('창문과 우산 사이에 앉아', '오래된 종이학처럼 바래 가도')
    """
    return _all_songs()[split]


@cache
def _films() -> dict[str, tuple[Film, ...]]:
    rng, seen, split_films = random.Random(f"{_SEED}/reviews"), set[str](), {}
    titles = set[str]()
    for split, count in N_ROWS.items():
        films: list[Film] = []
        while len(films) < count:
            writer = Writer(rng, _WORDS, even=("어떤", "무엇", "인물"))
            for name in ("제목", "장르", "인물"):
                writer.bound[name] = writer.word(name)
            writer.bound["상대"] = writer.word("인물")
            if writer.bound["제목"] not in titles:
                titles.add(writer.bound["제목"])
                written = _film_reviews(writer, seen)
                films.append(Film(f"sample-{split}-{len(films):03d}", writer.bound["제목"], written))
        split_films[split] = tuple(films)
    return split_films


def _film_reviews(writer: Writer, seen: set[str]) -> tuple[Review, ...]:
    """Write reviews of a film that is good, fair or bad to most."""
    choice, rng = sections(_REVIEWS), writer.rng
    moods = {"good": (8, 10), "fair": (5, 7), "bad": (1, 4)}
    shares = rng.choice(((8, 2, 1), (3, 5, 3), (1, 3, 7)))
    found: list[Review] = []
    wanted = rng.randint(8, 25)
    while len(found) < wanted:
        (mood,) = rng.choices(list(moods), shares)
        clauses = rng.sample(choice[mood], rng.choice((1, 2, 2, 3)))
        text = " ".join(_write(writer, clause) for clause in clauses)
        if text not in seen:
            seen.add(text)
            found.append(Review(rng.randint(*moods[mood]), text))
    return tuple(found)


@cache
def _all_songs() -> dict[str, tuple[Song, ...]]:
    rng, seen, split_songs = random.Random(f"{_SEED}/songs"), set[tuple[str, ...]](), {}
    for split, count in N_ROWS.items():
        made: list[Song] = []
        while len(made) < count:
            chorus, lines = _song(rng)
            if chorus not in seen:
                seen.add(chorus)
                made.append(Song(f"sample-{split}-{len(made):03d}", lines))
        split_songs[split] = tuple(made)
    return split_songs


def _song(rng: random.Random) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Write a song about one season and one place: verse, chorus, verse, chorus, perhaps a bridge and a last chorus."""
    parts, writer = sections(_SONGS), Writer(rng, _WORDS, even=_WORDS)
    for name in ("계절", "장소", "마음"):
        writer.bound[name] = writer.word(name)
    verses = rng.sample(parts["verse"], length := 2 * rng.randint(3, 6))
    chorus = tuple(_write(writer, line) for line in rng.sample(parts["chorus"], rng.randint(3, 4)))
    first = tuple(_write(writer, line) for line in verses[: length // 2])
    second = tuple(_write(writer, line) for line in verses[length // 2 :])
    bridge = tuple(_write(writer, line) for line in rng.sample(parts["bridge"], rng.randint(0, 4)))
    return chorus, first + chorus + second + chorus + (bridge + chorus if bridge else ())


def _write(writer: Writer, pattern: str) -> str:
    """Fill a pattern in and choose its particles."""
    return _BOTH_FORMS.sub(lambda found: particle(found[1], found[2]), writer.fill(pattern))
