"""Human tables: people's answers in the papers' order; what nobody answered says how to ask."""

import pytest

from bench.errors import UsageError
from bench.leaderboards.human.answers import read_answers
from bench.leaderboards.human.results import results
from bench.leaderboards.published.human_tables import fill_human_table, is_human_table
from bench.leaderboards.published.papers import paper_table
from bench.leaderboards.published.reproduction import NOT_COMPARABLE, reproduce
from bench.leaderboards.render.reproduction import content, markdown, terminal
from tests.leaderboards.studies import answers, made, side_of, write

ABOUT = {
    "pairwise": {"task": "writingprompts", "settings": {"preset": "small", "decoding": "nucleus=0.95"}},
    "single": {"task": "xsum", "settings": {"preset": "small", "decoding": "beam=4"}},
}


def study(folder, kind="pairwise", methods=None, say=None, **options):
    """What two raters said; in pairs the second one calls everything a tie, unless `say` answers."""
    folder.mkdir(exist_ok=True)
    key = made(kind, methods, about=ABOUT[kind], **options).key

    def first(item, slot):
        return side_of(key, item, "histalign") if kind == "pairwise" else "yes"

    def second(item, slot):
        return "tie" if kind == "pairwise" else "no" if slot.startswith("faith") else "yes"

    def third(item, slot):
        return say(key, item, slot)

    said = {"anna": third, "bo": third} if say else {"anna": first, "bo": second}
    files = [write(folder, answers(key, how, rater)) for rater, how in said.items()]
    return results(read_answers(files, key), key, rounds=99)


def filled(address, *studies):
    return fill_human_table(reproduce(paper_table(address), [], "small"), studies)


def ours(found, row=0):
    return [None if one.ours is None else round(one.ours.mean, 6) for one in found.rows[row]]


def test_wins_ties_and_losses_stand_beside_table_4_and_are_not_comparable(tmp_path):
    found = filled("histalign/table4", study(tmp_path))
    assert ours(found) == [50.0, 50.0, 0.0] * 2
    assert {one.verdict for one in found.rows[0]} == {NOT_COMPARABLE}
    assert {one.reason for one in found.rows[0]} == {"other people rated other texts"}
    assert found.rows[0][0].delta is None
    for form in (terminal([found], 160), markdown([found])):
        for shown in (
            "6 items, 2 raters",
            "24 judgements of texts of preset small, decoding nucleus=0.95",
            "alpha",
            "fluency, wins less losses: +50.00 (",
            "46.3",
        ):
            assert shown in form.replace("\\", "")
    assert content(found)["rows"][0]["cells"][0]["ours"]["people"] == "6 items, 2 raters"


def test_a_study_the_other_way_round_is_turned(tmp_path):
    found = filled("histalign/table4", study(tmp_path, methods=("trime", "histalign")))
    assert ours(found) == [50.0, 50.0, 0.0] * 2


def test_ratings_stand_beside_table_6_with_the_order_of_methods(tmp_path):
    def say(key, item, slot):
        return "yes" if slot.endswith(f"_{side_of(key, item, 'histalign')}") or slot.startswith("info") else "no"

    found = filled("histalign/table6", study(tmp_path, "single", say=say))
    assert [ours(found, row) for row in range(3)] == [[0.0, 100.0], [0.0, 100.0], [100.0, 100.0]]
    faithful, informative = found.orders
    assert (faithful.pairs, faithful.agreeing, faithful.rows) == (3, 2, 3)
    assert informative.agreeing == 0


def test_nobody_was_asked_says_how(tmp_path):
    found = filled("histalign/table6")
    assert ours(found) == [None, None]
    assert found.count()[NOT_COMPARABLE] == 6
    assert "bench human make RESULTS --task xsum --methods mle,trime,histalign --kind single" in found.notes[-1]
    other = study(tmp_path, "single")
    pairs = filled("histalign/table4", other)
    assert f"{other.study} is about xsum, mle and trime and histalign, which is not in this table" in pairs.notes
    assert "--task writingprompts --methods histalign,trime --kind pairwise" in pairs.notes[-1]


def test_two_studies_of_one_pair_are_refused_and_of_another_pair_not_looked_at(tmp_path):
    one, other = study(tmp_path / "one"), study(tmp_path / "two", seed=1)
    assert one.study != other.study
    with pytest.raises(
        UsageError, match=f"expected one study of histalign, trime, got {one.study} and {other.study}; give"
    ):
        filled("histalign/table4", one, other)
    third = study(tmp_path / "three", methods=("histalign", "mle"))
    assert ours(filled("histalign/table4", third, one)) == ours(filled("histalign/table4", one))


def test_only_tables_of_answers_ask():
    assert [is_human_table(paper_table(f"histalign/table{i}")) for i in (1, 4, 5, 6)] == [False, True, False, True]
