"""Samples: order and what reaches the terminal; the command on stores made by hand."""

import pytest

from bench.base.keys import key_of
from bench.board.samples import Sample, difference, most_different, shown
from tests.leaderboards.handmade import PROVENANCE, trained

ESCAPES = ["\x1b[31mred", "\x1b]0;title\x07", "a\rb", "\x9b2J", "\u202egnp.exe", "a\x08\x08b", "[bold]x[/bold]",
           "\ud83d", "\x00", "\u200b\u2066x"]  # fmt: skip


def test_the_most_different_texts_come_first():
    rows = {"same": ("a dog ran", "a dog ran"), "unlike": ("a dog ran", "two cats"), "near": ("a dog ran", "a dog")}
    found = most_different([Sample(name, "", "", {"x": one, "y": other}) for name, (one, other) in rows.items()])
    assert [sample.id for sample in found] == ["unlike", "near", "same"]
    assert difference(["a b", "a b", "c d"]) == pytest.approx(2 / 3)
    assert (difference(["", ""]), difference(["one"])) == (0.0, 0.0)
    assert difference(["a a a b", "a b"]) == pytest.approx(0.5)  # words count as often as they stand


@pytest.mark.parametrize(("width", "side_by_side"), [(60, 2), (80, 2), (120, 4)])
def test_samples_are_side_by_side_where_there_is_room(monkeypatch, width, side_by_side):
    monkeypatch.setenv("COLUMNS", str(width))
    for methods in (2, 3, 4, 5):
        names = [f"method_{number}.released" for number in range(methods)]
        texts = dict.fromkeys(names, "word and " * 30)
        lines = shown(["a board"], [Sample("row 1", "a prompt", "", texts)], []).splitlines()
        assert max(map(len, lines)) <= width
        heads = [line for line in lines if all(name in line for name in names)]
        assert bool(heads) == (methods <= side_by_side)
        assert all(any(name in line for line in lines) for name in names)


# The command ------------------------------------------------------------------------------------------------------


def written(root, method, texts, *, decoding="greedy", prompt="the old red house", seed=0, sampled=None, **changes):
    """Store texts of an open-ended task by row, with the scores that say they are there."""
    cell = trained(root, method, seed, task="wikitext103", **changes)
    of = {"kind": "generation", "split": "test", "split_sha256": "s", "decoding": {"name": decoding}, "shown_as": "",
          "ids": {"n": len(texts), "sha256": "i"}, "batch_size": 5, "status": "official", "whole_split": True,
          "of_rows": "o", "max_new_tokens": 5, **({} if sampled is None else {"sampling_seed": sampled})}  # fmt: skip
    rows = [{"id": name, "text": text, "prompt": f"{name}: {prompt}", "reference": f"truth of {name}"}
            for name, text in sorted(texts.items())]  # fmt: skip
    key = key_of([method, decoding, sorted(texts), seed, sampled])
    cell.write_rows(key, of, rows, PROVENANCE)
    cell.write_record(
        f"scores-{key_of(['x', key])}.json", {"family": "x", "rows": key, "of": of, "values": []}, PROVENANCE
    )
    return cell


def three(root):
    written(root, "mle", {"r1": "a dog ran", "r2": "so it goes", "r3": "one"})
    written(root, "trime", {"r1": "a dog ran", "r2": "two cats sat", "r3": "one two"})


def test_texts_stand_side_by_side_with_prompt_and_reference(bench, tmp_path):
    three(tmp_path)
    ended = bench("samples", "--results", str(tmp_path), "--n", "2")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.index("r2: the old red") < ended.out.index("r3: the old red")
    assert "r1" not in ended.out
    assert any("so it goes" in line and "two cats sat" in line for line in ended.out.splitlines())
    assert "reference: truth of r2" in ended.out
    assert ended.out.startswith("wikitext103 · test split · preset small · seed 0 · greedy\n")


def test_one_decoding_and_some_methods_can_be_asked_for(bench, tmp_path):
    three(tmp_path)
    written(tmp_path, "histalign", {"r1": "by beam"}, decoding="beam=4+max_new_tokens=5")
    where = ("--results", str(tmp_path))
    assert "by beam" in bench("samples", *where, "--decode", "beam=4").out
    for sampled in (7, 5, 9):
        written(tmp_path, "gem", {"r1": f"sampled with {sampled}"}, decoding="topk=3", sampled=sampled)
    assert "sampled with 5" in bench("samples", *where, "--decode", "topk=3").out
    assert "two cats" not in bench("samples", *where, "--method", "mle").out
    ended = bench("samples", *where, "--method", "mle,face")
    assert "no texts of face" in ended.out


def test_prompts_stand_side_by_side_in_markdown(bench, tmp_path):
    three(tmp_path)
    written(tmp_path, "face", {"r1": "a|b", "r2": "*c*", "r3": "the old red house burned"})
    lines = bench("samples", "--results", str(tmp_path), "--n", "3", "--format", "markdown").out.splitlines()
    assert lines[2] == "|  | r2 | r3 | r1 |"
    assert r"| face | \*c\* | the old red house burned | a\|b |" in lines
    assert "| mle | so it goes | one | a dog ran |" in lines


@pytest.mark.parametrize("escape", ESCAPES, ids=range(len(ESCAPES)))
def test_texts_cannot_command_the_terminal(bench, tmp_path, escape):
    written(tmp_path, "mle", {f"r{escape}": f"x {escape} y"}, prompt=escape)
    ended = bench("samples", "--results", str(tmp_path))
    assert ended.code == 0
    assert all(letter.isprintable() or letter == "\n" for letter in ended.out)
    assert ("[bold]x[/bold]" in ended.out) == (escape == "[bold]x[/bold]")


def test_what_to_run_is_said_where_nothing_is_stored(bench, tmp_path):
    ended = bench("samples", "--task", "logicnlg", "--method", "mle", "--decode", "greedy", "--results", str(tmp_path))
    assert (ended.code, ended.out, len(ended.complaints)) == (3, "", 1)
    assert "bench run --task logicnlg --method mle --decode greedy makes some" in ended.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "mel"), "did you mean 'mle'"),
        (("--task", "logicnl"), "did you mean 'logicnlg'"),
    ],
)
def test_unknown_names_have_a_neighbour(bench, tmp_path, arguments, message):
    three(tmp_path)
    ended = bench("samples", *arguments, "--results", str(tmp_path))
    assert (ended.code, len(ended.complaints)) == (2, 1)
    assert message in ended.err
