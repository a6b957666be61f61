"""WritingPrompts: both forms of files, the rule of words, prompts of 50 tokens, bad rows, sample, real files."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.errors import UsageError
from bench.tasks.encode.codec import Codec
from bench.tasks.files.detokenise import detokenise
from bench.tasks.writingprompts import WritingPrompts
from tests.tasks.news_files import contents, loaded, write

N_WORDS = (3, 49, 50, 998, 999, 1000)  # of the stories; the prompt has one


def story(n: int) -> str:
    return " ".join(["He", "wo", "n't", "run", "."] + ["word"] * (n - 3))


def folder(place: Path, form: str) -> Path:
    for split in ("train", "valid", "test"):
        rows = [("[ WP ] Run !", story(n)) for n in N_WORDS]
        if form == "fairseq":
            write(place / f"{split}.wp_source.gz", [prompt for prompt, _ in rows])
            write(
                place / f"{split}.wp_target", [text.replace("run .", "run . <newline> <newline>") for _, text in rows]
            )
        else:
            name = "validation" if split == "valid" else split
            records = [{"prompt": f"{p}\n", "story": text.replace("run .", "run . \n \n")} for p, text in rows]
            if form == "parts":
                for at in (0, 1):
                    write(place / "data" / f"{name}-0000{at}-of-00002-abc.parquet", records[3 * at : 3 * at + 3])
            else:
                write(place / f"{name}.{form}", records)
    return place


@pytest.mark.parametrize("form", ["fairseq", "jsonl", "jsonl.gz", "parquet", "parts"])
def test_every_form_gives_the_same_rows(tmp_path: Path, form: str) -> None:
    task = loaded(WritingPrompts, folder(tmp_path, form))
    every = [(f"train/{i}", "", detokenise("Run ! " + story(n))) for i, n in enumerate(N_WORDS)]
    assert contents(task, "train") == every
    assert every[0][2] == "Run! He won't run."
    assert [e.id for e in task.split("valid").examples] == [f"valid/{i}" for i in range(6)]
    test = task.split("test")
    assert [(e.id, len(e.target.split())) for e in test.examples] == [("test/2", 51), ("test/3", 999)]
    assert [reason for _, _, reason in test.skipped] == [
        f"{n} words; a test row has more than 50, fewer than 1000" for n in (4, 50, 1000, 1001)
    ]
    assert task.manifest("test").skipped == 4


def test_a_split_is_official_by_its_rows_before_the_rule_of_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(WritingPrompts, "info", replace(WritingPrompts.info, sizes={"train": 7, "test": 6}))
    task = loaded(WritingPrompts, folder(tmp_path, "fairseq"))
    assert [task.split(split).status for split in ("train", "test")] == ["subset", "official"]


def test_options_keep_tags_and_line_ends_and_move_the_rule(tmp_path: Path) -> None:
    task = loaded(WritingPrompts, folder(tmp_path, "jsonl"), tag=True, newlines=True, more_than=0, fewer_than=6)
    assert contents(task, "test") == [("test/0", "", "[WP] Run!\nHe won't run.")]
    assert contents(task, "train")[0][2] == "[WP] Run!\nHe won't run."
    with pytest.raises(UsageError, match=r"task\.more_than must be 2 or more below task\.fewer_than, not 5 and 6"):
        WritingPrompts(more_than=5, fewer_than=6)


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("[WP] [ FF ] Go .", "Go. x"),
        ("[ WP/CS ] Go [ now ] .", "Go [now]. x"),
        ("[ a long remark in brackets ] Go .", "[a long remark in brackets] Go. x"),
        ("Go . [ WP ]", "Go. [WP] x"),
        ("[ WP ]", "x"),
    ],
)
def test_only_tags_before_the_prompt_are_removed(prompt: str, text: str) -> None:
    assert WritingPrompts().text_of(prompt, "<newline> x <newline>") == text


def test_generation_starts_from_the_first_tokens() -> None:
    task = loaded(WritingPrompts, None, prompt_tokens=20)
    codec = Codec(task.tokenizer(1000), "decoder-only", 30, 40)
    examples = task.split("test").examples[:5]
    for example, row in zip(examples, task.encode(examples, codec, prompts=True), strict=True):
        ids = codec.ids([" " + example.target])[0]
        assert list(row.source) == [codec.tokenizer.bos_token_id, *ids[:20]]
        assert list(row.target) == ids[20:60]
        assert row.truncated == len(ids) - 60
    learned = task.encode(examples, codec)[0]
    every = codec.ids([" " + examples[0].target])[0]
    assert list(learned.target) == every[:40], "no end is learned"
    assert learned.n_words == len(examples[0].target.split()) * 40 // len(every), "of what is learned"


def test_training_rows_are_stories_or_blocks_of_joined_stories(tmp_path: Path) -> None:
    """In blocks every token of the training stories is learned once; what is evaluated stays a story a row."""
    stories = loaded(WritingPrompts, folder(tmp_path, "jsonl"))
    blocks = loaded(WritingPrompts, tmp_path, training_rows="blocks")
    codec = Codec(stories.tokenizer(300), "decoder-only", 100, 512)
    train = stories.split("train").examples
    assert len(stories.encoded("train", codec)) == len(train) == 6
    joined = [token for ids in codec.ids([example.target for example in train]) for token in ids]
    rows = blocks.encoded("train", codec)
    assert [int(token) for row in rows for token in row.target] == joined
    assert [len(row.target) for row in rows[:-1]] == [512] * (len(joined) // 512)
    assert {tuple(map(int, row.source)) for row in rows} == {(codec.bos,)}
    for split in ("valid", "test"):
        ids = [row.id for row in blocks.encoded(split, codec)]
        assert ids == [example.id for example in blocks.split(split).examples]
    example = blocks.split("test").examples[0]
    (prompt,) = blocks.encode([example], codec, prompts=True)
    assert [*prompt.source[1:], *prompt.target] == codec.ids([example.target])[0][:562]
    assert stories.encode([example], codec)[0].target[0] == codec.ids([f" {example.target}"])[0][0]
