"""What counts as a secret, and how it disappears from texts and trees."""

from __future__ import annotations

import time

import pytest

from sparquet_provider.core.secrets import Scrubber, embedded, is_secret, mask, mask_text, values


@pytest.mark.parametrize("key", [
    "password", "db.pwd", "spark.hadoop.fs.s3a.access.key", "fs.azure.account.key.x", "apiKey", "token", "access_token", "GITHUB_TOKEN",
    "spark.authenticate.secret", "client-secret", "spark.ssl.keyStorePassword", "sasToken",
])
def test_a_key_that_holds_a_secret(key: str) -> None:
    assert is_secret(key)


@pytest.mark.parametrize("key", [
    "merge_keys", "key", "tokenUrl", "max_tokens", "tokenizer", "password_file", "spark.hadoop.fs.s3a.aws.credentials.provider",
    "spark.security.credentials.hive.enabled", "passenger", None, 3,
])
def test_a_key_that_holds_none(key: object) -> None:
    assert not is_secret(key)


@pytest.mark.parametrize(("text", "secrets", "shown"), [
    ("--p password=x1234", ["x1234"], "--p password=***"),
    ('password="x y"', ["x y"], 'password="***"'),
    ("password='x y' other", ["x y"], "password='***' other"),
    ("-Djavax.net.ssl.trustStorePassword=abc1 -Dx=1", ["abc1"], "-Djavax.net.ssl.trustStorePassword=*** -Dx=1"),
    ("jdbc:pg://h/db?user=a&password=b%20c&x=1", ["b%20c"], "jdbc:pg://h/db?user=a&password=***&x=1"),
    ("https://me:tok@repo/x", ["tok"], "https://me:***@repo/x"),
    ("--password hunter2", ["hunter2"], "--password ***"),
    ("{'secret': 'x y z'}", ["x y z"], "{'secret': '***'}"),
    ("--args=password=abcd", ["abcd"], "--args=password=***"),
    ("password: true", [], "password: true"),
    ("no token found here", [], "no token found here"),
])
def test_secrets_inside_a_text(text: str, secrets: list[str], shown: str) -> None:
    assert embedded(text) == secrets
    assert mask_text(text) == shown


def test_long_texts_cost_no_more_than_their_length() -> None:
    begin = time.monotonic()
    for text in ("a" * 200_000, "-token" * 20_000, "token " * 20_000, 'password="' * 20_000, 'x="\\' * 20_000):
        embedded(text)
    assert time.monotonic() - begin < 3


def test_mask_replaces_values_at_any_depth() -> None:
    raw = {"a": {"password": "x"}, "b": ["password=zz q"], "token": ["one", "two"], "secret": None, "n": 1}
    assert mask(raw) == {"a": {"password": "***"}, "b": ["password=*** q"], "token": "***", "secret": None, "n": 1}
    assert raw["a"] == {"password": "x"}


def test_values_finds_every_secret() -> None:
    tree = {"password": ["aa", {"n": "bb"}], "n": {"token": 5000}, "options": {"url": "jdbc:x://h?password=cc1"}, "secret": True, "pwd": ""}
    assert sorted(values(tree)) == ["5000", "aa", "bb", "cc1"]


def test_a_scrubber_knows_escaped_forms() -> None:
    secret = 'p"a\\ss\'wörd&'
    scrub = Scrubber([secret])
    import json
    from urllib.parse import quote

    for text in (secret, json.dumps(secret), json.dumps(secret, ensure_ascii=False), repr(secret), quote(secret, safe=""), secret.replace("'", "\\'")):
        assert secret not in scrub(text)
        assert "***" in scrub(text), text


def test_a_scrubber_takes_the_longer_secret_first_and_leaves_short_ones() -> None:
    assert Scrubber(["abcd", "abcdef"])("x abcdef y") == "x *** y"
    assert Scrubber(["1", "no"])("no 1 note") == "no 1 note"
    assert Scrubber(["abcd"]).tree({"k": ["abcd", 1, {"abcd": "zabcdz"}]}) == {"k": ["***", 1, {"***": "z***z"}]}
