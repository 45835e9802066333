"""The check of a data set: every rule finds its breach, and a sound set passes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memlab.corpus.check import (
    agreement,
    check_corpus,
    krippendorff_alpha,
    manifest_differences,
    masi_distance,
    overlap,
    repeats,
    write_manifest,
)
from memlab.corpus.check.repeats import Passage, own_passages
from memlab.errors import InputError
from memlab.records import Conversation


def conversation(id, *turns, split="train", author="A"):
    turns = [{"role": r, "text": t} for r, t in turns]
    metadata = {"split": split, "author": author, "style": "chat", "language": "en"}
    return {
        "id": id,
        "customer": "acme",
        "category": "vpn",
        "started_at": "2026-03-02T09:00:00Z",
        "turns": turns,
        "metadata": metadata,
    }


def label(id, cause="v1", **more):
    symptom = {"id": f"{cause}-s1", "text": "vpn drops", "turn": 0, "quote": "drops"}
    attempt = {"action": "reconnect", "outcome": "worked", "by": "user", "turn": 2, "quote": "reconnected"}
    base = {
        "conversation": id,
        "case": 0,
        "category": "vpn",
        "low_value": False,
        "symptoms": [symptom],
        "attempts": [attempt],
    }
    base |= {
        "root_cause": {"id": f"{cause}-c", "text": "mtu", "turn": 1, "quote": "MTU"},
        "solution": None,
        "solution_kind": None,
    }
    return base | {"resolution": "confirmed", "profile": [], "facts": [], "phenomena": ["negation"]} | more


def query(id, causes, *, split="train", text=None, **more):
    ids = {"symptom_ids": [], "root_cause_ids": causes, "solution_ids": []}
    return {
        "id": id,
        "query": text or f"query {id}",
        "customer": "acme",
        "category": "vpn",
        "hard_negative": False,
        "split": split,
        **ids,
        **more,
    }


TURNS = [("user", "it drops"), ("agent", "MTU?"), ("user", "reconnected, fine")]


@pytest.fixture
def dataset(tmp_path):
    def write(conversations=None, labels=None, **files):
        folder = tmp_path / "data"
        (folder / "support" / "annotations").mkdir(parents=True, exist_ok=True)
        (folder / "messages").mkdir(exist_ok=True)
        content = {
            "support/conversations.jsonl": conversations if conversations is not None else [conversation("c1", *TURNS)],
            "support/labels.jsonl": labels if labels is not None else [label("c1")],
            **{k.replace("__", "/") + ".jsonl": v for k, v in files.items()},
        }
        for name, rows in content.items():
            (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return folder

    return write


def test_a_sound_set_passes_and_counts(dataset):
    folder = dataset(
        support__paraphrases=[query("q1", ["v1-c"], text="vpn keeps dropping"), query("q2", [])],
        messages__attempts=[
            {
                "id": "m1",
                "text": "I reset it",
                "attempts": [{"action": "reset", "outcome": "unknown", "quote": "reset it"}],
                "kinds": ["plain"],
            }
        ],
    )
    report = check_corpus(folder)
    assert report.ok, report.to_text()
    assert check_corpus(folder / "support").to_json() == report.to_json()
    assert report.counts["records"] | {} == {
        "conversations": 1, "turns": 3, "cases": 1, "low value": 0, "causes": 0, "queries": 2, "hard negatives": 0, "unanswerable": 1, "messages": 1,
        "conversations to learn reading from": 0,
    }  # fmt: skip
    assert report.counts["split"] == {"train": 1}
    assert json.loads(json.dumps(report.to_json())) == report.to_json()
    assert report.to_text().endswith("OK")
    assert "phenomenon negation: 1 of 10 conversations" in report.below


def test_what_the_reader_learns_from_is_checked_too(dataset):
    folder = dataset()
    (folder / "reading").mkdir()
    other = conversation("r1", ("user", "nothing prints"), ("agent", "spooler restarted"))
    wrong = {**label("r1"), "symptoms": [{"text": "does not print", "turn": 0, "quote": "no paper"}]}
    for name, row in (("conversations", other), ("labels", wrong)):
        (folder / "reading" / f"{name}.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    report = check_corpus(folder)
    assert report.counts["records"]["conversations to learn reading from"] == 1
    assert any("'no paper' is not in turn 0" in p for p in report.problems)
    assert report.counts["split"] == {"train": 1}  # it is no part of the corpus that is measured on


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            {"symptoms": [{"id": "v1-s1", "text": "vpn drops", "turn": 1, "quote": "drops"}]},
            "'drops' is not in turn 1 (it is in 0)",
        ),
        ({"root_cause": {"id": "v1-c", "text": "mtu", "turn": 7, "quote": "MTU"}}, "turn 7 is not one of 0 … 2"),
        (
            {"resolution": "solved"},
            "resolution must be one of confirmed, inferred, unresolved, abandoned, not 'solved'",
        ),
        ({"solution_kind": "fix"}, "solution and solution_kind go together"),
        ({"low_value": True}, "low value, yet it has symptoms, attempts, root_cause"),
        ({"phenomena": ["irony"]}, "phenomenon 'irony' is none of"),
        (
            {"attempts": [{"action": "x", "outcome": "maybe", "by": "user", "turn": 2, "quote": "fine"}]},
            "outcome must be one of",
        ),
        ({"symptoms": []}, "no symptom"),
        ({"case": 1}, "they must be 0, 1, … without a gap"),
        ({"conversation": "c9"}, "labels.jsonl: no conversation 'c9'"),
        ({"attempts": None}, "attempts must be lists"),
    ],
)
def test_each_broken_label_is_told(dataset, change, problem):
    report = check_corpus(dataset(labels=[label("c1") | change]))
    assert not report.ok
    assert any(problem in p for p in report.problems), report.problems


def test_an_entry_has_one_text_and_one_owner(dataset):
    conversations = [conversation("c1", *TURNS), conversation("c2", *TURNS) | {"customer": "other"}]
    report = check_corpus(dataset(conversations, [label("c1"), label("c2")]))
    assert any("v1-s1 belongs to acme, vpn elsewhere" in p for p in report.problems)


def test_queries_must_resolve_and_stay_in_their_split(dataset):
    conversations = [
        conversation("c1", *TURNS),
        conversation("c2", ("user", "it drops"), *TURNS[1:], split="test", author="B"),
    ]
    labels = [label("c1"), label("c2", cause="v2")]
    queries = [
        query("q1", ["v9-c"]),
        query("q2", ["v1-c", "v2-c"]),
        query("q3", ["v1-c"]),
        query("q3", ["v1-c"], text="other"),
        query("q4", ["v1-c", "v2-c"], split="mixed", text="mixed"),
        query("q5", ["v1-c"], split="both", text="both"),
    ]
    report = check_corpus(dataset(conversations, labels, support__paraphrases=queries))
    assert [p for p in report.problems if "paraphrases" in p] == [
        "paraphrases.jsonl q1: root_cause_ids: 'v9-c' is in no label and no cause",
        "paraphrases.jsonl q3: its id, or its text for this customer, stands twice",
        "paraphrases.jsonl q5: split must be one of train, dev, test, mixed, not 'both'",
    ]
    assert list(map(str, report.leaks)) == [
        "query q2 and its causes are in test and train",
        "query q5 and its causes are in both and train",
    ]


def test_causes_and_authors_of_two_splits_leak(dataset):
    conversations = [conversation("c1", *TURNS), conversation("c2", *TURNS, split="test")]
    report = check_corpus(dataset(conversations, [label("c1"), label("c2")]))
    assert [(leak.kind, leak.value) for leak in report.leaks] == [
        ("author", "A"),
        ("root_cause", "v1-c"),
        ("symptom", "v1-s1"),
    ]


ELEVEN = "the quick brown fox jumps over the lazy dog by night"


def test_a_repeated_run_is_one_finding_as_long_as_it_goes():
    # Eleven words make four windows of eight, and one run.
    found = repeats(
        [Passage("a", 0, f"so {ELEVEN}."), Passage("b", 3, f"{ELEVEN.upper()}, he said"), Passage("a", 1, ELEVEN)]
    )
    assert [(r.first, r.first_turn, r.second, r.second_turn, r.words) for r in found] == [
        ("a", 0, "b", 3, ELEVEN),
        ("b", 3, "a", 1, ELEVEN),
    ]
    assert repeats([Passage("a", 0, ELEVEN), Passage("a", 1, ELEVEN)]) == []
    assert repeats([Passage("a", 0, ELEVEN[:30]), Passage("b", 1, ELEVEN[:30])]) == []


def test_tool_turns_and_quoted_mails_may_repeat(dataset):
    turns = [("user", f"drops\n> {ELEVEN}"), ("agent", "MTU"), ("user", "reconnected"), ("tool", ELEVEN)]
    own = [*TURNS[:2], ("user", f"reconnected. {ELEVEN}")]
    assert (
        check_corpus(
            dataset([conversation("c1", *turns), conversation("c2", *own)], [label("c1"), label("c2")])
        ).repeats
        == ()
    )
    report = check_corpus(dataset([conversation("c1", *own), conversation("c2", *own)], [label("c1"), label("c2")]))
    assert [r.words for r in report.repeats] == [f"reconnected {ELEVEN}"]
    assert not report.ok


def test_own_passages_leave_positions_of_turns_alone():
    c = Conversation.from_json(conversation("c", ("tool", "x"), ("user", "a\n> b\nc")))
    assert [(p.turn, p.text) for p in own_passages(c)] == [(1, "a\n"), (1, "c")]


def test_alpha_of_published_examples():
    # Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", examples A, B and C (nominal).
    assert round(krippendorff_alpha(zip("0100000010", "1110010000", strict=True)), 3) == 0.095
    assert round(krippendorff_alpha(zip("aabbdcccedda", "babbbcccEddd".lower(), strict=True)), 3) == 0.692
    table = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
    units = [[row[k] for row in table if row[k] != "."] for k in range(12)]
    assert round(krippendorff_alpha(units), 3) == 0.743


def test_alpha_is_nothing_without_variation_or_pairs():
    assert krippendorff_alpha([["a", "a"], ["a", "a"]]) is None
    assert krippendorff_alpha([["a"], []]) is None


@given(units=st.lists(st.lists(st.sampled_from("abc"), min_size=2, max_size=3), min_size=2, max_size=12))
def test_alpha_is_at_most_one_and_one_only_if_all_agree(units):
    alpha = krippendorff_alpha(units)
    agree = all(len(set(unit)) == 1 for unit in units)
    assert alpha is None or alpha <= 1
    assert alpha is None or (alpha == 1) == agree


sets = st.frozensets(st.integers(0, 4))


@given(a=sets, b=sets)
def test_masi_is_symmetric_and_zero_only_for_equal_sets(a, b):
    assert masi_distance(a, b) == masi_distance(b, a)
    assert (masi_distance(a, b) == 0) == (a == b)
    assert 0 <= masi_distance(a, b) <= 1
    if a and b and not a & b:
        assert masi_distance(a, b) == 1


def case(cause, *attempts, **more):
    return {
        "root_cause_id": cause,
        "symptom_ids": [],
        "attempts": [{"turn": t, "outcome": o} for t, o in attempts],
        **more,
    }


def test_cases_are_matched_by_what_they_say():
    first = {"c1": [case("v1"), case("v2", (3, "worked"))], "c2": [case("v3")], "c3": [case("v4")]}
    second = {"c1": [case("v2", (3, "failed")), case("v1")], "c2": [case("v3"), case("v9")]}
    found = {a.field: a for a in agreement([first, second])}
    # c3 was judged by one alone. Cases: 2 = 2, 1 ≠ 2. Causes: three matched pairs, all equal.
    assert (found["cases"].units, found["cases"].equal) == (2, 0.5)
    assert (found["root_cause_id"].units, found["root_cause_id"].equal, found["root_cause_id"].alpha) == (3, 1.0, 1.0)
    assert (found["attempt_outcome"].units, found["attempt_outcome"].equal) == (1, 0.0)


def test_agreement_is_computed_from_the_annotations(dataset):
    def annotation(cause):
        return {"conversation": "c1", "case": 0, "category": "vpn", "low_value": False, "symptom_ids": ["v1-s1"], "root_cause_id": cause,
                "solution_id": None, "solution_kind": None, "resolution": "confirmed", "attempts": [{"turn": 2, "outcome": "worked"}]}  # fmt: skip

    folder = dataset(support__annotations__one=[annotation("v1-c")], support__annotations__two=[annotation(None)])
    report = check_corpus(folder)
    fields = {a.field: a.equal for a in report.agreement}
    assert (fields["root_cause_id"], fields["resolution"]) == (0.0, 1.0)
    assert {a.field: a.units for a in report.agreement_with_authors}["root_cause_id"] == 1
    assert "AGREEMENT BETWEEN BLIND ANNOTATORS" in report.to_text()


def test_overlap_is_the_share_of_content_words():
    # "vpn", "drops", "train" (endings cut, stop words gone): two of three are known.
    assert overlap("the VPN drops on the train", ["vpn dropping all day"]) == pytest.approx(2 / 3)
    assert overlap("the on of", ["anything"]) == 0


def test_the_manifest_tells_every_difference(dataset):
    folder = dataset()
    assert manifest_differences(folder) is None
    write_manifest(folder)
    assert manifest_differences(folder) == []
    assert check_corpus(folder).ok
    (folder / "README.md").write_text("for people")
    (folder / "support" / "new.jsonl").write_text("")
    labels = folder / "support" / "labels.jsonl"
    labels.write_text(labels.read_text() + "\n")
    assert manifest_differences(folder) == [
        "support/new.jsonl: not in the manifest",
        "support/labels.jsonl: changed since the manifest was written",
    ]
    assert not check_corpus(folder).ok
    (folder / "support" / "new.jsonl").unlink()
    write_manifest(folder)
    (folder / "messages" / "gone.jsonl").write_text("")
    write_manifest(folder)
    (folder / "messages" / "gone.jsonl").unlink()
    assert manifest_differences(folder) == ["messages/gone.jsonl: missing"]
    (folder / "manifest.json").write_text("{}")
    with pytest.raises(InputError, match="not a manifest"):
        manifest_differences(folder)


def test_a_folder_without_conversations_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"no conversations\.jsonl here or in support/"):
        check_corpus(tmp_path)
