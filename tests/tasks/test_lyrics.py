"""Melo-Lyrics: songs as lines and as records, and the paper's recipe."""

from pathlib import Path

import pytest

from bench.tasks.lyrics import Lyrics
from tests.tasks.news_files import contents, loaded, write

SONGS = ["비가 오는 창가에\n너를 불러 본다", "첫눈이 오던 밤\n\n  first snow ♥ \n우리", "한 줄"]
TEXTS = ["비가 오는 창가에\n너를 불러 본다\n\n", "첫눈이 오던 밤\n\nfirst snow ♥\n우리\n\n", "한 줄\n\n"]


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
