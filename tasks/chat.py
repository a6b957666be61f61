"""Chat: your own conversations. The model writes each answer of the assistant from the messages before it.

`bench run --task chat --set task.path=my.jsonl --preset mid`. One instance, a line of a jsonl file; a parquet file has
a column of the same form:

    {"messages": [{"role": "user", "content": "3 + 4?"}, {"role": "assistant", "content": "3 + 4 is 7. #### 7"}]}

A decoder-only model with a chat template reads the conversation in it, behind its token of a beginning, and the loss
is on what the template writes for the answer and the token that ends texts. Any other model reads plain text with the
name of each role.
"""

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from bench.errors import DataError
from bench.tasks.core.example import Example
from bench.tasks.core.task import TaskInfo
from bench.tasks.encode.codec import Codec, Encoded, byte_count
from bench.tasks.encode.token_store import TokenStore
from bench.tasks.files.lines import BadRow, Checking
from bench.tasks.files.records import checked_text, read_records
from bench.tasks.files.user_data import check_user_data
from bench.tasks.pairs import Pairs, TextPair

Messages = list[dict[str, str]]
Reader = Callable[[Messages, str, Codec], tuple[list[int], list[int]]]
PARTS = ("role", "content")
DATED = "{% macro strftime_now(form) %}01 Jan 2026{% endmacro %}"
"""In front of a template that asks for the date of today, so that rows are the same on every day."""

SAMPLES = {"train": slice(0, 400), "valid": slice(400, 500), "test": slice(500, 600)}


class Chat(Pairs):
    """Conversations. A row is one answer of the assistant; its id is `split/conversation/message`, counted from 0.

    Args:
        path: a file (jsonl or parquet), or a folder with a file for each split, such as `train.jsonl`, or a folder of
            files that together are one set. Rows are held out from the training rows, 5 % of them for each split that
            has no file, by a hash of the first message of the user, so that the answers of one conversation stay
            together. Empty: the folder `chat` of the data folder, else the built-in sample.
        valid_path, test_path, title: as of `Pairs`.
    """

    name: str = "chat"
    places: ClassVar[frozenset[str]] = frozenset({"path", "valid_path", "test_path", "title"})
    info: ClassVar[TaskInfo] = replace(
        Pairs.info, metrics=("perplexity", "exact_match", "rouge", "overlap"), fields=frozenset({"messages"})
    )
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "small": {**Pairs.recipes["small"], "evaluation.rows": 100},
        "mid": Pairs.recipes["mid"],
    }

    def __init__(self, *, path: str = "", valid_path: str = "", test_path: str = "", title: str = "") -> None:
        super().__init__(path=path, valid_path=valid_path, test_path=test_path, references="own", title=title)

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        """Refuse files to evaluate on without one to train on."""
        check_user_data(options)

    def sample(self, split: str) -> Sequence[Example]:
        """Sums of two numbers, in words, with the answer at the end; no sum is in two splits."""
        rows = []
        for number, (first, second) in enumerate(_sums(split)):
            answer = f"{first} + {second} is {first + second}. #### {first + second}"
            question = [{"role": "user", "content": f"What is {first} + {second}?"}]
            rows.append(TextPair(number, question, answer))
        return self._examples(split, rows)

    def group_of(self, row: TextPair) -> str:
        """The first message of the user: all answers of a conversation fall to one split."""
        return next(str(message["content"]) for message in row.source if message["role"] == "user")

    def encode(
        self,
        examples: Sequence[Example],
        codec: Codec,
        *,
        prompts: bool = False,
        exemplars: Mapping[str, str] | None = None,
    ) -> list[Encoded]:
        """Turn rows into token ids, in the model's own template where it has one."""
        in_template = codec.architecture == "decoder-only" and getattr(codec.tokenizer, "chat_template", None)
        read = _in_tokens if in_template else _in_plain_text
        texts = [exemplars[row.id] for row in examples] if exemplars else []
        exemplar_ids: Sequence[list[int] | None] = codec.ids(texts) or [None] * len(examples)
        return [self._encoded(*row, codec, read) for row in zip(examples, exemplar_ids, strict=True)]

    def _stored(self, split: str, codec: Codec, make: Any, content: list[Any], chunk: int = 0) -> TokenStore:
        """Keep rows of another chat template apart, though the tokenizer may be the same."""
        template = getattr(codec.tokenizer, "chat_template", None)
        return super()._stored(split, codec, make, [*content, template], chunk)

    def _encoded(self, example: Example, exemplar: list[int] | None, codec: Codec, read: Reader) -> Encoded:
        """Encode one row; where its source is too long, its oldest messages but the system's are left out."""
        messages: Messages = list(example.fields["messages"])
        first = 1 if messages[0]["role"] == "system" else 0
        source, target = read(messages, example.target, codec)
        whole_length = len(source)
        while len(source) > codec.max_source and len(messages) > first + 1:
            del messages[first]
            while len(messages) > first + 1 and messages[first]["role"] != "user":  # templates begin with the user
                del messages[first]
            source, target = read(messages, example.target, codec)
        return codec.encode(
            example.id,
            source[-codec.max_source :],
            target,
            ends=True,
            truncated=whole_length - min(len(source), codec.max_source),
            exemplar=exemplar,
            n_words=self.words_of(example.target),
            n_bytes=byte_count(example.target),
        )

    def cluster_of(self, name: str) -> str:
        """Return the conversation, whose answers are no independent examples."""
        return name.rpartition("/")[0]

    def _rows(self, files: Sequence[Path]) -> list[TextPair]:
        rows: list[TextPair] = []
        for record in self.counted(read_records(files, columns={})):
            messages: Any = record.values.get("messages")
            with Checking(record.file, record.row):
                if reason := _wrong(messages):
                    raise BadRow(reason)
                for message, part in itertools.product(messages, PARTS):
                    checked_text(message[part], part)
            for at, message in enumerate(messages):
                if message["role"] == "assistant":
                    before = [{"role": each["role"], "content": each["content"]} for each in messages[:at]]
                    rows.append(TextPair(record.number, before, message["content"].strip()))
        if not rows:
            raise DataError(f"{files[0]}: expected conversations with an answer of the assistant, found none")
        return rows

    def _examples(self, split: str, rows: Sequence[TextPair]) -> list[Example]:
        found = []
        for number, messages, target in rows:
            name = f"{split}/{number}/{len(messages)}"
            found.append(Example(name, _plain_text(messages), target, (target,), {"messages": messages}))
        return found


def _plain_text(messages: Messages) -> str:
    return "\n".join(f"{message['role']}: {message['content']}" for message in messages) + "\nassistant:"


def _in_plain_text(messages: Messages, answer: str, codec: Codec) -> tuple[list[int], list[int]]:
    space = " " if codec.architecture == "decoder-only" else ""
    source, target = codec.ids([_plain_text(messages), space + answer])
    return source, target


def _in_tokens(messages: Messages, answer: str, codec: Codec) -> tuple[list[int], list[int]]:
    """Return what is read and what is written in the model's template, without the tokens that begin and end each row.

    Raises:
        DataError: the template refuses the messages, or writes earlier ones otherwise once an answer follows.
    """
    from jinja2 import TemplateError

    template = codec.tokenizer.get_chat_template()
    if "strftime_now" in template:
        template = DATED + template
    make = partial(codec.tokenizer.apply_chat_template, return_dict=False, chat_template=template)
    try:
        source = list(make(messages, add_generation_prompt=True))
        whole = list(make([*messages, {"role": "assistant", "content": answer}]))
    except TemplateError as error:
        raise DataError(f"the chat template of this model refuses a conversation: {error}") from error
    if whole[: len(source)] != source:
        raise DataError(
            "the chat template of this model changes earlier messages when an answer follows, so that the loss cannot "
            "be on the answer alone; take another model"
        )
    target = whole[len(source) :]
    if codec.eos in target:  # the last of them ends the answer, and what the template puts behind it is not learned
        target = target[: len(target) - 1 - target[::-1].index(codec.eos)]
    if source[:1] == [codec.bos]:
        source = source[1:]
    return source, target


def _wrong(messages: Any) -> str:
    """Return what is wrong with a conversation, or nothing."""
    if not isinstance(messages, Sequence) or isinstance(messages, str):
        return "expected a list of `messages`"
    for message in messages:
        if not isinstance(message, Mapping) or not all(isinstance(message.get(part), str) for part in PARTS):
            return "expected messages with a role and a content, both texts"
    roles = [message["role"] for message in messages]
    if "assistant" not in roles:
        return "expected `messages` with an answer of the role assistant"
    if "user" not in roles[: roles.index("assistant")]:
        return "expected a message of the role user before the first answer"
    return ""


def _sums(split: str) -> list[tuple[int, int]]:
    """Return the two numbers of each row of the built-in sample."""
    pairs = [(first, second) for first in range(2, 42) for second in range(2, 42)]
    random.Random(0).shuffle(pairs)
    return pairs[SAMPLES[split]]
