"""Chat: rows of conversations in the model's own template, with the loss on the assistant's words alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from bench.commands.samples import prompt_of
from bench.errors import DataError
from bench.metrics.overlap.exact_match import exact_match_scores, final_answer
from bench.tasks.chat import Chat
from bench.tasks.encode.codec import Codec
from bench.tasks.fetch.sources import Source

WORDS = ["<s>", "<end>", "<nl>", "system", "user", "assistant", "be", "brief", "hi", "there", "how", "are", "you",
         "fine", "thanks", "1", "2", "3"]  # fmt: skip
TEMPLATE = (
    "<s> {% for m in messages %}{{ m.role }} {{ m.content }} <end> <nl> {% endfor %}"
    "{% if add_generation_prompt %}assistant {% endif %}"
)
CONVERSATION = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": "hi there"},
    {"role": "user", "content": "how are you"},
    {"role": "assistant", "content": "fine thanks"},
]


def tokenizer(template: str | None = TEMPLATE) -> PreTrainedTokenizerFast:
    """Whole words, with a chat template."""
    backend = Tokenizer(models.WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="<nl>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()  # type: ignore[assignment]
    made = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="<end>", pad_token="<nl>")
    made.chat_template = template
    return made


def chat(folder: Path, *conversations: Any) -> Chat:
    file = folder / "my.jsonl"
    file.write_text("".join(json.dumps({"messages": each}) + "\n" for each in conversations))
    task = Chat(path=str(file), valid_path=str(file), test_path=str(file))
    task.load(Source(None, ""))
    return task


def in_words(ids: tuple[int, ...]) -> str:
    return " ".join(WORDS[token] for token in ids)


def test_a_source_that_is_typed_is_a_message_of_the_user(tmp_path: Path) -> None:
    row = prompt_of("how are you", chat(tmp_path, CONVERSATION), Codec(tokenizer(), "decoder-only", 64, 16))
    assert in_words(row.source) == "<s> user how are you <end> <nl> assistant"


def test_each_answer_is_a_row_in_the_template(tmp_path: Path) -> None:
    task = chat(tmp_path, CONVERSATION)
    rows = task.encode(task.split("test").examples, Codec(tokenizer(), "decoder-only", 64, 16))
    assert [(in_words(row.source), in_words(row.target)) for row in rows] == [
        ("<s> system be brief <end> <nl> user hi <end> <nl> assistant", "hi there <end>"),
        (
            "<s> system be brief <end> <nl> user hi <end> <nl> assistant hi there <end> <nl> user how are you <end> "
            "<nl> assistant",
            "fine thanks <end>",
        ),
    ]


def test_the_oldest_messages_are_left_out_first(tmp_path: Path) -> None:
    task = chat(tmp_path, CONVERSATION)
    *_, row = task.encode(task.split("test").examples, Codec(tokenizer(), "decoder-only", 14, 16))
    assert in_words(row.source) == "<s> system be brief <end> <nl> user how are you <end> <nl> assistant"
    assert row.truncated == 9
    *_, row = task.encode(task.split("test").examples, Codec(tokenizer(), "decoder-only", 3, 16))
    assert in_words(row.source) == "<s> <end> <nl> assistant"
    assert in_words(row.target) == "fine thanks <end>"


def test_an_end_of_the_templates_own_is_followed_by_the_end_of_texts(tmp_path: Path) -> None:
    """Gemma ends an answer with another token than a text; generation stops at the latter."""
    task = chat(tmp_path, CONVERSATION[1:3])
    codec = Codec(tokenizer(TEMPLATE.replace("<end>", "fine")), "decoder-only", 64, 16)
    (row,) = task.encode(task.split("test").examples, codec)
    assert in_words(row.target) == "hi there fine <nl> <end>"


def test_answers_of_one_conversation_are_one_cluster(tmp_path: Path) -> None:
    task = chat(tmp_path, CONVERSATION, CONVERSATION[1:3])
    names = [example.id for example in task.split("test").examples]
    assert names == ["test/0/2", "test/0/4", "test/1/1"]
    assert [task.cluster_of(name) for name in names] == ["test/0", "test/0", "test/1"]


def test_the_date_of_a_template_is_the_same_every_day(tmp_path: Path) -> None:
    task = chat(tmp_path, CONVERSATION[1:3])
    dated = "<s> {{ strftime_now('%d %b %Y') }} " + TEMPLATE.removeprefix("<s> ")
    codec = Codec(tokenizer(dated), "decoder-only", 64, 16)
    (row,) = task.encode(task.split("test").examples, codec)
    assert in_words(row.source) == "<s> <nl> <nl> <nl> user hi <end> <nl> assistant"


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("{{ raise_exception('no system role') }}", "no system role"),
        ("<s> {{ messages | length }} {{ messages[-1].content }}", "changes earlier messages"),
    ],
)
def test_a_template_that_refuses_or_rewrites_messages_is_refused(tmp_path: Path, template: str, says: str) -> None:
    task = chat(tmp_path, CONVERSATION)
    with pytest.raises(DataError, match=says):
        task.encode(task.split("test").examples, Codec(tokenizer(template), "decoder-only", 64, 16))


@pytest.mark.parametrize("architecture", ["decoder-only", "encoder-decoder"])
def test_without_a_template_it_is_plain_text(tmp_path: Path, architecture: str) -> None:
    task = chat(tmp_path, CONVERSATION[1:3])
    (row,) = task.encode(task.split("test").examples, Codec(tokenizer(None), architecture, 64, 16))
    assert in_words(row.target).startswith("hi there")
    assert task.split("test").examples[0].source == "user: hi\nassistant:"


@pytest.mark.parametrize("architecture", ["decoder-only", "encoder-decoder"])
def test_plain_text_that_is_too_long_keeps_the_question(tmp_path: Path, architecture: str) -> None:
    words = tokenizer(None)
    words.backend_tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()  # type: ignore[assignment]
    *_, example = chat(tmp_path, CONVERSATION).split("test").examples
    whole = "system <nl> be brief user <nl> hi assistant <nl> hi there user <nl> how are you assistant <nl>"
    question = "user <nl> how are you assistant <nl>"
    for most, source in ((18, whole), (17, f"system <nl> be brief {question}"), (4, "are you assistant <nl>")):
        (row,) = Chat().encode([example], Codec(words, architecture, most, 16), exemplars={example.id: "hi"})
        assert in_words(row.source) == "<s> " * (architecture == "decoder-only") + source
        assert (in_words(row.target), row.truncated) == ("fine thanks <end>", 18 - len(source.split()))
        assert in_words(row.exemplar or ()) == "hi <end>"


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([{"role": "user", "content": "hi"}], "an answer of the role assistant"),
        ([{"role": "assistant", "content": "hi"}], "a message of the role user before"),
        ([{"role": "user", "content": 3}, {"role": "assistant", "content": "hi"}], "both texts"),
        ("hi", "a list of `messages`"),
        (None, "a list of `messages`"),
        (["hi"], "both texts"),
        ([{"role": "user", "content": "hi"}, {"role": "assistant", "content": " "}], "is empty"),
        ([{"role": "user", "content": "\u200b"}, {"role": "assistant", "content": "hi"}], "'content' is empty"),
        ([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "\ud800"}], "which is no text"),
        ([{"role": "user", "content": "a\0b"}, {"role": "assistant", "content": "hi"}], "which is no text"),
    ],
)
def test_what_is_no_conversation_is_named_with_its_line(tmp_path: Path, messages: Any, why: str) -> None:
    with pytest.raises(DataError, match=f"line 2.*{why}"):
        chat(tmp_path, CONVERSATION, messages).split("train")


def test_answers_of_one_conversation_are_held_out_together(tmp_path: Path) -> None:
    file = tmp_path / "my.jsonl"
    conversations = [
        [{**message, "content": f"{message['content']} {number}"} for message in CONVERSATION] for number in range(60)
    ]
    file.write_text("".join(json.dumps({"messages": each}) + "\n" for each in conversations))
    task = Chat(path=str(file))
    task.load(Source(None, ""))
    where: dict[str, set[str]] = {}
    for split in ("train", "valid", "test"):
        for example in task.split(split).examples:
            where.setdefault(example.fields["messages"][1]["content"], set()).add(split)
    assert len(where) == 60
    assert all(len(splits) == 1 for splits in where.values())


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("16 - 3 is 13. #### 13", "13"), ("#### 1 is wrong. #### $1,013.", "1013"),
        ("Let me see.\nIt is Paris.", "it is paris"), ("-3.50", "-3.5"), ("-$5", "-5"), ("$-5", "-5"), ("+5 €", "5"),
        ("007.0", "7"), ("5..", "5"), ("3,4", "3,4"), ("12,345%", "12345"), ("#### 42\nSo the answer is 42.", "42"),
        ("a, b", "a, b"), (".50", "0.5"), ("-0.0", "0"), ("$ 42", "42"), ("\N{MINUS SIGN}7", "-7"),
        ("so #### 5 ####\n", "5"), ("so 5 ####", ""), ("", ""),
    ],
)  # fmt: skip
def test_final_answers(text: str, answer: str) -> None:
    assert final_answer(text) == answer


def test_exact_match_is_the_share_of_right_answers() -> None:
    rows = [{"id": "a", "text": "so #### 4"}, {"id": "b", "text": "5"}]
    gold = {"a": {"references": ["2 + 2 #### 4"]}, "b": {"references": ["6"]}}
    assert [score.value for score in exact_match_scores(rows, gold)] == [50.0]
