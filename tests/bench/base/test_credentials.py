"""What counts as a credential: names, values, and what must never be taken for one."""

from __future__ import annotations

import json

import pytest

from bench.base import credentials
from bench.base.credentials import BLANK, blanked, blanked_content, found_in, learn, learn_words, names_credential
from bench.metrics import METRICS
from bench.models import METHODS
from bench.tasks import TASKS

SECRET = "zq81-canary-value"


@pytest.fixture(autouse=True)
def nothing_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test learns, no other knows."""
    monkeypatch.setattr(credentials, "_LEARNT", {})


@pytest.mark.parametrize(
    "text",
    [
        "HF_TOKEN={}", "export WANDB_API_KEY={}", "--set method.api_key={}", "--password {}", "--hf-token={}",
        "password: {}", "'secret': '{}'", '{{"access_token": "{}"}}', 'api_key = "{}"', "Authorization: Bearer {}",
        "authorization: Basic {}", "{{'Authorization': 'Token {}'}}", "Bearer {}-0123456789", "https://me:{}@host/x",
        "https://{}@host/x.git", "https:/me:{}@host/data", "postgres://u:{}@h/db", "https://h/x?token={}&a=1",
        "AUTHORIZATION: BEARER {}", "bEARER {}-0123456789",
        "MY_SECRET_KEY={}", "DB_PASSWORD={}", "clientSecret={}", "passphrase: {}", 'error: \\"api_key\\": \\"{}\\"',
    ],
)  # fmt: skip
def test_by_name(text: str) -> None:
    for secret in (SECRET, "p4ssw0rd"):
        found = blanked(text.format(secret))
        assert secret not in found
        assert BLANK in found
        assert blanked(found) == found


@pytest.mark.parametrize(
    "text",
    [
        "hf_" + "aB3" * 10, "sk-" + "aB3-" * 8, "ghp_" + "aB3" * 10, "AKIA" + "ABCD" * 4,
        "gho_" + "aB3" * 10, "ghu_" + "aB3" * 10, "ghs_" + "aB3" * 10, "ghr_" + "aB3" * 10, "github_pat_" + "aB3" * 10,
        "eyJhbGciOiJIUz.eyJzdWIiOiIxMj.c2ln",
        "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\ncut short",
    ],
)  # fmt: skip
def test_by_form(text: str) -> None:
    assert blanked(f"before {text}") == f"before {BLANK}"


@pytest.mark.parametrize(
    "text",
    [
        "max_new_tokens=64", "ul_token: its rows are not there", "ul_token · seed 0: failed", "ppl/token: 3.25",
        "pad_token=<pad>", "prompt_tokens=50", "key: 0123456789abcdef", "--grid KEY=V,V", "the secret: never give up",
        "the token = the unit", "password: unknown", "a password is needed", "see https://host/x@y", "me@example.com",
        "token: 1234567", '{"token": 12, "secret": null}', "basic information about bearer tokens", "tokens=5",
        "signature: bleu|tok:13a|version:1", "key=ab", "[5f2c] 3 rows files", "HF_HUB_OFFLINE=1", "keys: a, b",
    ],
)  # fmt: skip
def test_what_is_none_stays(text: str) -> None:
    assert blanked(text) == text


@pytest.mark.parametrize(
    "name", ["HF_TOKEN", "WANDB_API_KEY", "SECRET_TOKEN", "SOME_PASSWORD", "AWS_SECRET_ACCESS_KEY", "X_CREDENTIALS"]
)
@pytest.mark.parametrize("form", ["{}", "x{}y", "it was '{}'.", "a\n{}\nb", "key{}"])
def test_by_value(monkeypatch: pytest.MonkeyPatch, name: str, form: str) -> None:
    """Wherever it stands, as long as it is long; in addresses and in JSON too."""
    for value in ("0123456789" * 4, 'with "quotes" and blanks é', "a/b+c=d&e/f+g=h&"):
        monkeypatch.setenv(name, value)
        assert blanked(form.format(value)) == form.format(BLANK)
        assert value not in blanked(json.dumps(form.format(value)))
        assert json.dumps(value)[1:-1] not in blanked(json.dumps([form.format(value)]))
        assert found_in([form.format(value)]) == name


@pytest.mark.parametrize(
    ("value", "text", "found"),
    [
        ("abc1234", "abc1234", "abc1234"),  # too short
        ("disabled", "W&B is disabled", "W&B is disabled"),  # a word
        ("true", "true", "true"),
        ("12345678", "0.12345678", "0.12345678"),  # a number
        ("/run/secrets/x", "open /run/secrets/x", "open /run/secrets/x"),  # a place
        ("hunter-2", "say hunter-2!", f"say {BLANK}!"),
        ("hunter-2", "hunter-22", "hunter-22"),  # inside another word
        ("internationalization", "an internationalization", f"an {BLANK}"),  # long: nobody's word by chance
    ],
)
def test_short_values_do_not_blank_ordinary_words(
    monkeypatch: pytest.MonkeyPatch, value: str, text: str, found: str
) -> None:
    monkeypatch.setenv("SOME_TOKEN", value)
    assert blanked(text) == found


def test_the_password_of_an_address_and_the_lines_of_a_key_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{SECRET}@proxy:80")
    monkeypatch.setenv("SSH_KEY", f"-----BEGIN-----\n{'aB3' * 8}\n-----END-----")
    assert blanked(f"{SECRET} and {'aB3' * 8}") == f"{BLANK} and {BLANK}"
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "no-one-knows-why")
    monkeypatch.setenv("HF_TOKEN_PATH", "some/where/or/other")
    assert blanked("no-one-knows-why some/where/or/other") == "no-one-knows-why some/where/or/other"


def test_a_value_that_is_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes of an environment come as half letters."""
    value = b"secret-\xff-value-of-bytes".decode("utf-8", "surrogateescape")
    monkeypatch.setenv("SOME_TOKEN", value)
    assert blanked(f"x {value}") == f"x {BLANK}"


def test_what_was_typed_under_such_a_name_is_known() -> None:
    learn_words(["run", "--set", f"method.api_key={SECRET}", "--hf-token", "an-0ther-value", "--task", "logicnlg"])
    learn("password", "third-value-1")
    learn("task", "fourth-value-1")
    assert blanked(f"'{SECRET}', an-0ther-value, third-value-1") == f"'{BLANK}', {BLANK}, {BLANK}"
    assert blanked("logicnlg fourth-value-1") == "logicnlg fourth-value-1"


def test_content_keeps_its_numbers_and_its_form() -> None:
    content = {"api_key": "abc", "token": 5, "password": None, "n": [1.5, {"secret": "x", "text": "a=b"}], 3: True}
    assert blanked_content(content) == {"api_key": BLANK, "token": 5, "password": None,
                                        "n": [1.5, {"secret": BLANK, "text": "a=b"}], 3: True}  # fmt: skip


def test_no_name_of_ours_is_one() -> None:
    """Options of every method and task, and every column."""
    from bench.base.options import options_of

    names = [name for entry in (*METHODS.values(), *TASKS.values()) for name in options_of(entry.load())]
    names += [column for entry in METRICS.values() for column in entry.columns]
    assert len(names) > 50
    assert not [name for name in names if names_credential(name)]
