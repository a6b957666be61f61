"""Melo-Lyrics: songs as text and as token ids with their vocabulary, bad rows, the sample."""

from __future__ import annotations

import json
import pickle  # noqa: TID251
from pathlib import Path
from typing import Any

import pytest

from bench.errors import DataError, MissingError
from bench.tasks.encode.bpe import train_bpe
from bench.tasks.lyrics import Lyrics
from bench.tasks.nsmc import NSMC
from tests.tasks.news_files import contents, loaded, write

SONGS = ["비가 오는 창가에\n너를 불러 본다", "첫눈이 오던 밤\n\n  first snow ♥ \n우리", "한 줄"]
TEXTS = ["비가 오는 창가에\n너를 불러 본다\n\n", "첫눈이 오던 밤\n\nfirst snow ♥\n우리\n\n", "한 줄\n\n"]


def indexed(place: Path, kind: str, ranks: bool = False, form: str = "jsonl") -> Path:
    """Write songs as the authors' code has them: token ids, their number, and the vocabulary."""
    if kind == "bytes":
        tokenizer = train_bpe([song.replace("\n", "\t") for song in SONGS], 320)
        vocabulary = tokenizer.get_vocab()
        ids = [tokenizer(song.replace("\n", "\t"), add_special_tokens=False)["input_ids"] for song in SONGS]
    else:
        pieces = [["▁" + word for word in song.replace("\n", "\t").split(" ")] for song in SONGS]
        vocabulary = {piece: at for at, piece in enumerate(dict.fromkeys(p for song in pieces for p in song))}
        ids = [[vocabulary[piece] for piece in song] for song in pieces]
    if ranks:
        order = {id: 7 * rank for rank, id in enumerate(sorted({id for song in ids for id in song}, reverse=True))}
        ids = [[order[id] for id in song] for song in ids]
        (place / "ranks.json").write_text(json.dumps(order))
    (place / "encoder.json").write_text(json.dumps(vocabulary))
    for split in ("train", "valid", "test"):
        write(place / f"{split}.{form}", [{"texts": song, "lens": len(song)} for song in ids])
    return place


def test_a_song_a_line(tmp_path: Path) -> None:
    for name in ("train.txt.gz", "dev.txt", "test.txt"):
        write(tmp_path / name, [SONGS[0].replace("\n", "\t"), "", SONGS[1].replace("\n", "\t"), SONGS[2]])
    task = loaded(Lyrics, tmp_path)
    for split in ("train", "valid", "test"):
        assert contents(task, split) == [(f"{split}/{at}", "", TEXTS[i]) for i, at in enumerate((0, 2, 3))]


@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz", "parquet"])
def test_songs_as_records(tmp_path: Path, form: str) -> None:
    for split in ("train", "validation", "test"):
        write(tmp_path / f"{split}.{form}", [{"text": song} for song in SONGS])
    task = loaded(Lyrics, tmp_path)
    assert [row for _, _, row in contents(task, "valid")] == TEXTS


@pytest.mark.parametrize("kind", ["bytes", "pieces"])
@pytest.mark.parametrize("ranks", [False, True])
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_indexed_songs_are_decoded(tmp_path: Path, kind: str, ranks: bool, form: str) -> None:
    task = loaded(Lyrics, indexed(tmp_path, kind, ranks, form))
    assert contents(task, "train") == [(f"train/{at}", "", row) for at, row in enumerate(TEXTS)]


@pytest.mark.parametrize(
    "content", ["", "[]", '{"a": "b"}', '{"a": 1, "b": 1}', '{"a": -1}', '{"a": true}', "[" * 99_999]
)
@pytest.mark.parametrize("name", ["encoder.json", "ranks.json"])
def test_a_vocabulary_that_is_none(tmp_path: Path, name: str, content: str) -> None:
    (indexed(tmp_path, "bytes") / name).write_text(content)
    with pytest.raises(DataError, match=rf"{name}: expected JSON with") as found:
        loaded(Lyrics, tmp_path, "skip").split("train")
    assert "\n" not in str(found.value)


def test_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"expected train\.jsonl.*the authors have not released them"):
        loaded(Lyrics, tmp_path).split("train")
    (indexed(tmp_path, "bytes") / "encoder.json").unlink()
    with pytest.raises(MissingError, match=r"has token ids, and no encoder\.json that says which tokens they are"):
        loaded(Lyrics, tmp_path).split("train")


class Bomb:
    """What a pickle may do."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (exec, ("raise SystemExit('ran')",))


def test_a_pickle_is_never_opened(tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "lyrics.pkl").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(MissingError, match=r"lyrics\.pkl: a pickle can run anything and is not read; expected its"):
        loaded(Lyrics, tmp_path).split("train")
    assert contents(loaded(Lyrics, indexed(tmp_path, "bytes")), "train")[2][2] == TEXTS[2]


def test_korean_recipes_have_the_numbers_of_the_paper() -> None:
    for kind in (Lyrics, NSMC):  # F2-Softmax Tables 6 and 7
        recipe = kind.recipes["paper"]
        assert recipe["backbone.vocabulary"] == 40_000
        assert (recipe["trainer.batch_size"], recipe["trainer.lr"], recipe["trainer.clip"]) == (16, 2e-4, 0.25)
        assert recipe["trainer.max_target"] + 1 == 512
