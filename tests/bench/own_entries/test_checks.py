"""`bench check` passes what is whole of one's own, and says what is broken."""

import json
import sys

import pytest

from tests.bench.own_files import FILES, write
from tests.conftest import call

ALL = ("towns.py:Towns", "shouts.py:shouts", "tiny.py:tiny", "soft.py:Soft", "top_a.py:TopA=0.2")


def test_a_check_passes_each(files):
    sys.path.append(str(files))
    ended = call("check", *ALL, "--quick", "--json", "--backbone", "small-causal")
    reports = {report["name"]: report["ok"] for report in json.loads(ended.out)}
    assert ended.code == 0, ended.out
    assert reports == dict.fromkeys(("towns", "shouts", "tiny", "soft", "top_a=0.2"), True)


@pytest.mark.parametrize(
    ("file", "old", "new", "check", "says"),
    [
        ("towns", 'f"{split}/{n}", f"{split} land', 'f"{split}/{n % 5}", f"{split} land', "ids", "each id once"),
        ("shouts", "ordered(rows, gold)", "rows", "rows", "expected a ValueError where a row is missing"),
        ("tiny", "torch.manual_seed(seed)", "torch.manual_seed(0)", "seed", "other weights of another seed"),
        ("soft", "return (1", "return -(1", "overfit", "look at the sign of each term"),
        ("top_a", "probs >=", "probs > 9 *", "kept", "a token that is kept of each row"),
    ],
)
def test_a_check_fails_five_broken_ones_for_the_right_reason(files, file, old, new, check, says):
    assert old in FILES[file]
    sys.path.append(str(files))
    write(files, file, FILES[file].replace(old, new))
    asked = next(name for name in ALL if name.startswith(f"{file}.py"))
    ended = call("check", asked, "--quick", "--json", "--backbone", "small-causal")
    (report,) = json.loads(ended.out)
    failed = {result["check"]: result["detail"] for result in report["checks"] if result["state"] == "failed"}
    assert (ended.code, check in failed) == (1, True), failed
    assert says in failed[check]
