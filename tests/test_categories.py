"""A user's own categories: told from examples, refused with file and category, and part of an extractor's name."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from memlab.cli import main
from memlab.errors import InputError
from memlab.extraction import OfflineExtractor
from memlab.extraction.categories import Categories, read_categories
from memlab.extraction.triage import OTHER, shipped_categories, triage
from memlab.models.embeddings import default_encoder
from memlab.records import Conversation, Turn, canonical_json, parse_time

OWN = """
[wifi]
examples = ["wifi drops in the meeting room", "no wireless network on the third floor", "WLAN geht nicht"]

[payroll]
examples = ["my payslip shows the wrong bank account", "can't open the payroll portal", "wrong tax class on my payslip"]

[badge]
examples = ["my badge does not open the door", "lost my access card", "turnstile refuses my card"]
"""


def said(*texts, category=None):
    turns = tuple(Turn("user", t) for t in texts)
    return Conversation("c", "acme", parse_time("2026-03-02T09:00:00+01:00"), turns, category=category)


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "categories.toml"
    path.write_text(OWN, "utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("the wireless keeps disconnecting whenever I walk to the conference room", "wifi"),
        ("salary statement of June has another account number on it", "payroll"),
        ("the gate downstairs is red when I hold the card against it", "badge"),
    ],
)
def test_a_conversation_goes_to_the_category_of_the_nearest_examples(own, text, category):
    found = triage(said(text), default_encoder(), categories=read_categories(own))
    assert found.category == category
    assert 1 / 3 < found.probability <= 1


def test_what_is_near_no_example_is_other(own):
    found = triage(said("xq zz vv 0000"), default_encoder(), categories=read_categories(own))
    assert found.category == OTHER


def test_a_category_that_the_conversation_names_is_kept(own):
    assert triage(said("no wifi", category="vpn"), default_encoder(), categories=read_categories(own)).category == "vpn"


def test_the_order_of_tables_and_examples_does_not_matter_for_the_category(own, tmp_path):
    categories = read_categories(own)
    turned = Categories(tuple((name, tuple(reversed(texts))) for name, texts in categories.examples))
    text = "the wireless keeps disconnecting"
    assert turned.classify(text, default_encoder()) == categories.classify(text, default_encoder())


def test_other_examples_make_another_extractor(own):
    plain, mine = OfflineExtractor(), OfflineExtractor(categories=read_categories(own))
    assert mine.name.startswith(plain.name)
    assert mine.name != plain.name


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("", "0 categories"),
        ("[a]\nexamples=['x']", "1 categories"),
        ("[a]\nexamples=['x']\n[b]\n", "[b] needs examples"),
        ("[a]\nexamples=[]\n[b]\nexamples=['x']", "[a] needs examples"),
        ("[a]\nexamples=[3]\n[b]\nexamples=['x']", "[a] needs examples"),
        ("[' a']\nexamples=['y']\n[b]\nexamples=['x']", "white space"),
        ("a = ", "not a TOML file"),
    ],
)
def test_a_bad_file_is_refused_with_its_name(tmp_path, content, named):
    path = tmp_path / "c.toml"
    path.write_text(content, "utf-8")
    with pytest.raises(InputError) as error:
        read_categories(path)
    assert str(path) in str(error.value)
    assert named in str(error.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_categories(tmp_path / "none.toml")


def test_the_command_line_takes_the_file(own, tmp_path):
    source = tmp_path / "c.jsonl"
    source.write_text(canonical_json(said("the turnstile does not take my card since monday")) + "\n", "utf-8")
    done = CliRunner().invoke(
        main, ["extract", str(source), "-o", str(tmp_path / "p.jsonl"), "--categories", str(own), "--json"]
    )
    assert done.exit_code == 0, done.output
    assert '"category":"badge"' in (tmp_path / "p.jsonl").read_text("utf-8").replace(" ", "")


def test_the_shipped_names_are_sorted():
    assert list(shipped_categories()) == sorted(set(shipped_categories()))
