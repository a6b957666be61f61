"""Training times: what papers say of hours and hardware, and what a file may not say."""

import pytest

from bench.errors import DataError
from bench.leaderboards.published.papers import papers
from bench.leaderboards.published.training_times import training_times

ONE = {"task": "xsum", "methods": ["mle"], "backbone": "bart-large", "where": "A.3"}


@pytest.mark.parametrize(
    ("task", "method", "backbone", "said"),
    [
        ("ambiguous_template", "mle", "gpt2-large", "30 min on 4 RTX A6000 (48 GB)"),
        ("ambiguous_template", "histalign.released", "gpt2-large", "1 h on 4 RTX A6000 (48 GB) (around an hour)"),
        ("writingprompts", "histalign", "gpt2-large", "11.5 h on 2 A100 (80 GB)"),
        ("xsum", "trime", "bart-large", "5 h on 4 RTX A6000 (48 GB)"),
        ("cnndm", "mle", "bart-large", "4 h on 4 RTX A6000 (48 GB)"),
        ("logicnlg", "histalign", "bart-large", "5 h on 2 A100 (80 GB)"),
        ("wikitext103", "mle", "f2-decoder", "hours not stated on 1 GPU (24 GB) (its model is not named)"),
        ("gigaword", "adadec", "bilstm", "hours not stated (nor is hardware)"),
    ],
)
def test_papers_say(task, method, backbone, said):
    wanted = task, method.partition(".")[0], backbone
    times = [time for paper in papers() for time in paper.training]
    assert [time.text for time in times if (time.task, time.method, time.backbone) == wanted] == [said]


def test_every_paper_has_its_trainings():
    assert all(paper.training for paper in papers())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "xsun"}, "unknown task 'xsun'; did you mean 'xsum'"),
        ({"methods": ["mlee"]}, "unknown method 'mlee'"),
        ({"backbone": "bart"}, "unknown backbone 'bart'"),
        ({"gpus": 4}, "unknown key 'gpus'"),
    ],
)
def test_what_is_not_known_is_refused(change, message):
    with pytest.raises(DataError, match=f"file, training 1: {message}"):
        training_times("A paper", [{**ONE, **change}], "file")


def test_what_is_missing_is_named():
    with pytest.raises(DataError, match="file, training 1: missing methods, where"):
        training_times("A paper", [{"task": "xsum", "backbone": "bart-large"}], "file")
