"""SP-Acc: the share of sentences that a logical form supports, over programs from a file (Chen et al. 2020, ACL).

The authors' search writes the programs that may mean a sentence, each with its value on the table; a ranker says which
of them do. Their search is not part of this project (its result depends on how fast the machine is): its output file is
read. The rule is that of their code: of at most 36 programs the best-ranked one decides, and of more than 8 it is
enough that one of the best three is true; a sentence without a program fails.

Whether a program is true is found by running it on the row's own table (`logic_executor`), not read from the file. The
column `sp-acc[file]` is what the file's values would give, `sp-acc[differ]` counts the programs that have another value
there, and `sp-acc[not_run]` those that cannot be run on the table; these support nothing.

The ranker is BERT and a linear layer over its pooled output. Give it as a folder with `config.json` and `vocab.txt` of
bert-base-uncased and the authors' `model.pt` as `pytorch_model.bin`.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bench.metrics.faithfulness import verifiers
from bench.metrics.faithfulness.logic_executor import ProgramError, execute
from bench.metrics.faithfulness.table_cells import TableText, table_texts, with_tables
from bench.metrics.faithfulness.verifiers import NoVerifier, Verifier
from bench.metrics.score import Counts, Family, Gold, Row, Score, explained, score_of_sums, why_not_of
from bench.metrics.sums import ratio

__all__ = [
    "ADDED",
    "Parsed",
    "Support",
    "encoded_program",
    "is_supported",
    "load_ranker",
    "programs_of",
    "rank",
    "read_programs",
    "sp_acc",
    "sp_acc_family",
    "sp_acc_scores",
    "spaced",
    "truth_of",
]

MOST_PROGRAMS = 36
MANY_PROGRAMS = 8
TOP = 3
MAX_LENGTH = 120
# Functions of the programs; their order is that of the ranker's embeddings.
NAMES = """
count none only after zero before top bottom first second third fourth fifth last uniq avg sum max mean argmax argmin
hop most_freq half one_third diff add greater eq not_eq and filter_eq filter_not_eq filter_less filter_greater
filter_greater_eq filter_less_eq all_eq all_not_eq all_less all_less_eq all_greater all_greater_eq exist
"""
ADDED = [*(f"[{name}]" for name in NAMES.split()), "all_rows"]
"""Tokens that the ranker has beside BERT's, in the order of its embeddings."""


class Parsed(NamedTuple):
    """A sentence, its programs with their values (`...=True`, `...=False`), and the title of its table."""

    sentence: str
    programs: tuple[str, ...]
    title: str


class Support(NamedTuple):
    """Whether a logical form supports a sentence, and what its programs came to.

    Args:
        supported: by the programs' values on the table.
        by_file: by their values in the file.
        differ: programs whose value in the file is another one.
        not_run: programs that cannot be run on the table, or are no statement.
    """

    supported: bool
    by_file: bool
    differ: int
    not_run: int


def read_programs(path: Path) -> list[Parsed]:
    """Read what the authors' search wrote: `[[sentence, [program=True or =False, ...], title], ...]`.

    Raises:
        ValueError: another form; it says which entry.
    """
    entries = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(entries, list):
        entries = [entries]
    form = "[sentence, [program=True or =False, ...], title]"
    parsed = []
    for number, entry in enumerate(entries):
        match entry:
            case [str(sentence), [*programs], str(title)] if all(map(_has_value, programs)):
                parsed.append(Parsed(sentence, tuple(programs), title))
            case _:
                raise ValueError(f"expected {form} in {path.name}, entry {number}, got {entry!r:.60}")
    return parsed


def _has_value(program: object) -> bool:
    return isinstance(program, str) and ("=True" in program or "=False" in program)


def programs_of(sentences: Sequence[str], titles: Sequence[str], parsed: Sequence[Parsed]) -> list[Parsed]:
    """Return the entry of each sentence; the title decides between unlike entries of one sentence.

    Raises:
        ValueError: a sentence has no entry, or unlike ones for one title.
    """
    by_sentence: dict[str, set[Parsed]] = {}
    for entry in parsed:
        by_sentence.setdefault(entry.sentence, set()).add(entry)
    chosen = []
    for sentence, title in zip(sentences, titles, strict=True):
        known = by_sentence.get(sentence, set())
        if len(known) > 1:
            known = {entry for entry in known if entry.title == title}
        if len(known) != 1:
            raise ValueError(
                f"expected one entry of programs for each sentence, got {len(known)} for '{sentence[:60]}'"
            )
        chosen.append(next(iter(known)))
    return chosen


def is_supported(values: Sequence[bool], ranks: Sequence[float]) -> bool:
    """Return whether a sentence is supported, from its programs' values and the ranker's scores.

    >>> is_supported([False, True], [0.9, 0.1]), is_supported([False, True] + [False] * 7, [0.9, 0.8] + [0.1] * 7)
    (False, True)
    """
    values, ranks = values[:MOST_PROGRAMS], ranks[:MOST_PROGRAMS]
    best = sorted(range(len(values)), key=lambda i: -ranks[i])
    if len(values) <= MANY_PROGRAMS:
        return any(values[i] for i in best[:1])
    return any(values[i] for i in best[:TOP])


def spaced(program: str) -> str:
    """Return a program as the ranker reads it: tokens apart, functions in brackets, without its value.

    >>> spaced("eq{count{all_rows}; 2}=True")
    '[eq] { [count] { all_rows } ; 2 }'
    """
    body = program[: program.rfind("}") + 1]
    parts = [part.lstrip(" ") for part in re.split(r"([{};])", body)]
    tokens = list(filter(None, parts))
    for place, following in enumerate(tokens[1:]):
        if following == "{":
            tokens[place] = f"[{tokens[place]}]"
    return " ".join(tokens)


def encoded_program(sentence: str, program: str, title: str, tokenizer: Any) -> dict[str, list[int]]:
    """Return the ranker's input for one program, without padding: `input_ids`, `token_type_ids`, `attention_mask`."""
    plain = [verifiers.plain_text(text, tokenizer) for text in (title, sentence)]
    parts = [f"[CLS] title : {plain[0]} [SEP]", f"{plain[1]} [SEP]", f"{spaced(program)} [SEP]"]
    pieces = [tokenizer.encode(part, add_special_tokens=False) for part in parts]
    types = [kind for kind, part in zip((1, 0, 1), pieces, strict=True) for _ in part][:MAX_LENGTH]
    ids = [piece for part in pieces for piece in part][:MAX_LENGTH]
    return {"input_ids": ids, "token_type_ids": types, "attention_mask": [1] * len(ids)}


@cache
def _ranker_class() -> Any:
    from torch.nn import Linear
    from transformers import BertModel, BertPreTrainedModel
    from transformers.modeling_outputs import SequenceClassifierOutput

    class ProgramRanker(BertPreTrainedModel):
        """BERT and a linear layer over its pooled output, under the names of the authors' file."""

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.base = BertModel(config)
            self.proj = Linear(config.hidden_size, 2)
            self.post_init()

        def forward(self, **inputs: Any) -> Any:
            return SequenceClassifierOutput(logits=self.proj(self.base(**inputs).pooler_output))

    return ProgramRanker


def load_ranker(checkpoint: str, device: str | None = None) -> Verifier:
    """Load the ranker; arguments and errors as for `verifiers.load`."""
    from transformers import BertTokenizer

    vocabulary = verifiers.find(checkpoint) / "vocab.txt"
    if not vocabulary.is_file():
        raise NoVerifier(f"needs vocab.txt beside the ranker {vocabulary.parent.name}: bench doctor")
    words = len(vocabulary.read_text(encoding="utf-8").splitlines()) + len(ADDED)
    ranker = verifiers.load(
        checkpoint, _ranker_class(), BertTokenizer, "meant", position=1, device=device, vocabulary=words
    )
    ranker.tokenizer.add_tokens(ADDED)
    return ranker


def rank(parsed: Sequence[Parsed], ranker: Verifier) -> list[list[float]]:
    """Return for each sentence how well each of its first 36 programs fits, the larger the better."""
    encoded, counts = [], []
    for entry in parsed:
        programs = entry.programs[:MOST_PROGRAMS]
        counts.append(len(programs))
        for program in programs:
            encoded.append(encoded_program(entry.sentence, program, entry.title, ranker.tokenizer))
    logits = verifiers.logits_of(ranker, encoded)
    margins = iter([row[ranker.label] - row[1 - ranker.label] for row in logits])
    return [list(itertools.islice(margins, count)) for count in counts]


def truth_of(program: str, table: TableText) -> bool | None:
    """Return whether a program is true of a table; None where it cannot be run there, or is no statement.

    >>> table = TableText(["region", "year"], [["aldra", "2001"], ["sorn", "2004"]])
    >>> [truth_of(f"{program}=True", table) for program in ("eq{count{all_rows}; 2}", "only{all_rows}", "{", "max{1}")]
    [True, False, None, None]
    """
    try:
        value = execute(program, table.header, table.rows)
    except ProgramError:
        return None
    if isinstance(value, bool):
        return value
    return None


def sp_acc(parsed: Sequence[Parsed], tables: Sequence[TableText], ranker: Verifier) -> list[Support]:
    """Return for each sentence whether a logical form supports it.

    Args:
        parsed: sentences with their programs.
        tables: the table of each sentence.
        ranker: says which programs mean a sentence.
    """
    return [
        support_of(entry.programs, ranks, table)
        for entry, ranks, table in zip(parsed, rank(parsed, ranker), tables, strict=True)
    ]


def support_of(programs: Sequence[str], ranks: Sequence[float], table: TableText) -> Support:
    """Return whether a sentence is supported by its programs on a table.

    Args:
        programs: with their values in the file.
        ranks: of the first 36 of them.
        table: of the sentence.
    """
    looked_at = programs[:MOST_PROGRAMS]
    truths = [truth_of(program, table) for program in looked_at]
    in_file = ["=True" in program for program in looked_at]
    differing = [truth is not None and truth != value for truth, value in zip(truths, in_file, strict=True)]
    supported = is_supported([truth is True for truth in truths], ranks)
    return Support(supported, is_supported(in_file, ranks), sum(differing), truths.count(None))


def sp_acc_family(*, programs: str | None = None, checkpoint: str | None = None, device: str | None = None) -> Family:
    """Return the family that scores sentences by the share that a logical form supports.

    Rows are `{"id", "text"}`; gold is `{id: {"table": {"header", "rows"}, "title"}}`, the title needed only where one
    sentence is about two tables. Scoring raises ValueError for a file of another form.

    Args:
        programs: file of the authors' search over these sentences; by default what BENCH_SP_PROGRAMS names.
        checkpoint: folder of the ranker; by default what BENCH_SP_RANKER names.
        device: by default the GPU if there is one.
    """

    def count(rows: Sequence[Row], gold: Gold) -> list[Counts]:
        try:
            parsed = _parsed_rows(rows, gold, verifiers.named(programs, "BENCH_SP_PROGRAMS"))
            folder = verifiers.named(checkpoint, "BENCH_SP_RANKER")
            if not folder:
                raise NoVerifier("needs the authors' ranker: bench doctor")
            tables = table_texts(with_tables(rows, gold), "raw")
            ranker = verifiers.loaded(load_ranker, folder, device)
        except NoVerifier as why:
            return [{"why_not": str(why)} for _ in rows]
        return [{**support._asdict(), "model": ranker.signature} for support in sp_acc(parsed, tables, ranker)]

    return Family(count, _columns)


def _parsed_rows(rows: Sequence[Row], gold: Gold, name: str) -> list[Parsed]:
    """Return the programs of each row.

    Raises:
        NoVerifier: there is no file of them, or it is of other sentences.
    """
    file = Path(name)
    if not file.is_file():
        raise NoVerifier("needs a file of programs from the authors' search: bench doctor")
    titles = [str(gold[row["id"]].get("title") or "") for row in rows]
    known = read_programs(file)
    try:
        return programs_of([row["text"] for row in rows], titles, known)
    except ValueError as problem:  # another system's file
        raise NoVerifier(f"needs the programs of these sentences in {file.name}: {problem}") from problem


SHARES = {"sp-acc": ("supported", "truth:table"), "sp-acc[file]": ("by_file", "truth:file")}
"""Columns that are shares of sentences: what is counted, and where truth comes from."""

COUNTS = {
    "sp-acc[differ]": ("differ", "programs whose value in the file is another"),
    "sp-acc[not_run]": ("not_run", "programs that cannot be run on the table"),
}
"""Columns that count programs, in words."""


def _columns(counts: Sequence[Counts]) -> list[Score]:
    """Return the columns of sentences whose programs were run, or what is missing for them."""
    options = f"search:file|programs:{MOST_PROGRAMS}|top:{TOP} of more than {MANY_PROGRAMS}|max:{MAX_LENGTH}"
    if why_not := why_not_of(counts):
        signature = f"sp-acc|truth:table|{options}|dtype:float32|version:2"
        return [explained(Score("sp-acc", None, "percent", True, len(counts), signature), why_not)]
    model = verifiers.model_of(counts)
    scores = []
    for name, (counted, truth) in SHARES.items():
        signature = f"sp-acc|{truth}|{options}|dtype:float32|{model}|version:2"
        rows = [(int(row[counted]), 1) for row in counts]
        scores.append(score_of_sums(name, ratio(), rows, signature, higher_is_better=True))
    for name, (counted, words) in COUNTS.items():
        signature = f"sp-acc|{words}|{options}|version:2"
        total = float(sum(row[counted] for row in counts))
        scores.append(Score(name, total, "count", None, len(counts), signature))
    return scores


sp_acc_scores = sp_acc_family()
"""The share of sentences whose best-ranked logical forms are true of their tables, over programs from a file."""
