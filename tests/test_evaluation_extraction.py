"""Labels at the door, and scores of proposals against them, worked out by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from memlab.errors import InputError
from memlab.evaluation.extraction import FIELDS, compare_extractors, evaluate_extraction, read_labels
from memlab.evaluation.labels import symptom_texts
from memlab.evaluation.matching import TextVectors
from memlab.evaluation.reference import (
    first_sentence,
    oracle_proposals,
    random_proposals,
    reference_proposals,
    trivial_proposals,
)
from memlab.records import Attempt, Conversation, Mention, Proposal, Solution, Turn


def label(conversation: str, **changes: object) -> dict[str, object]:
    base: dict[str, object] = {
        "conversation": conversation,
        "case": 0,
        "category": "vpn",
        "low_value": False,
        "symptoms": [{"id": "s1", "text": "vpn drops", "turn": 0, "quote": "it drops"}],
        "root_cause": {"id": "c1", "text": "old client"},
        "attempts": [{"action": "reboot", "outcome": "failed"}, {"action": "update client", "outcome": "worked"}],
        "solution": {"id": "x1", "text": "update client"},
        "solution_kind": "fix",
        "resolution": "confirmed",
        "profile": [],
        "phenomena": [],
    }
    return {**base, **changes}


def proposal(conversation: str, **changes: object) -> Proposal:
    return Proposal(conversation=conversation, **{"category": "vpn", **changes})  # type: ignore[arg-type]


def low(conversation: str, **changes: object) -> dict[str, object]:
    nothing = {"symptoms": [], "attempts": [], "root_cause": None, "solution": None, "solution_kind": None}
    return label(conversation, **nothing, low_value=True, resolution="abandoned", **changes)


class Orthogonal:
    """Every text is unlike every other, so that only the same words match."""

    name = "orthogonal"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.zeros((len(texts), 2), np.float32)


def scored(proposals, labels, **options):
    frame = evaluate_extraction(proposals, labels, by="words", **options).scores(seed=0, n=200)
    return {(r.field, r.metric): r for r in frame.itertuples()}


def test_text_fields_by_hand():
    # c1 finds the symptom and invents one; c2 misses its symptom. Precision 1/2, recall 1/2, F1 2·1 / (2 + 2).
    found = scored(
        [proposal("c1", symptoms=(Mention("VPN drops!", 0, "q"), Mention("lunch", 1, "lunch"))), proposal("c2")],
        [label("c1"), label("c2")],
    )
    cell = {m: found["symptoms", m] for m in ("precision", "recall", "f1")}
    assert [(c.value, c.numerator, c.denominator) for c in cell.values()] == [(0.5, 1, 2), (0.5, 1, 2), (0.5, 2, 4)]
    # c2 predicts nothing: it has no part in precision.
    assert [c.n for c in cell.values()] == [1, 2, 2]
    assert found["solution", "recall"].value == 0.0
    assert np.isnan(found["solution", "precision"].value)


def test_attempts_need_the_outcome_and_actions_do_not():
    attempts = (Attempt("reboot", "worked", "user", 1, "q"), Attempt("update client", "worked", "agent", 2, "q"))
    found = scored([proposal("c1", attempts=attempts)], [label("c1")])
    assert found["attempts", "f1"].value == 0.5  # only "update client (worked)": 2·1 / (2 + 2)
    assert found["attempt_actions", "f1"].value == 1.0


def test_equal_actions_with_different_outcomes_meet_their_own():
    twice = [{"action": "reboot", "outcome": "worked"}, {"action": "reboot", "outcome": "failed"}]
    attempts = (Attempt("reboot", "failed", "user", 1, "q"), Attempt("reboot", "worked", "user", 2, "q"))
    found = scored([proposal("c1", attempts=attempts)], [label("c1", attempts=twice)])
    assert found["attempts", "f1"].value == 1.0


def test_cases_of_one_conversation_are_pooled():
    # The second issue's symptom is proposed under the first: still found. One resolution of two is right.
    second = label("c1", case=1, category="teams", symptoms=[{"id": "s2", "text": "no sound"}], resolution="unresolved")
    mentions = (Mention("vpn drops", 0, "q"), Mention("no sound", 0, "q"))
    found = scored([proposal("c1", symptoms=mentions, resolution="confirmed")], [label("c1"), second])
    assert found["symptoms", "f1"].value == 1.0
    assert found["symptoms", "f1"].n == 1
    assert (found["resolution", "precision"].value, found["resolution", "recall"].value) == (1.0, 0.5)
    assert found["category", "recall"].value == 0.5


def test_values_are_compared_where_gold_states_one():
    solved = Solution("update client", 2, "q", "workaround")
    unsolved = label("c2", solution=None, solution_kind=None, resolution="unresolved")
    found = scored([proposal("c1", solution=solved), proposal("c2", solution=solved)], [label("c1"), unsolved])
    # The kind of the solution that c2 invents is no part of the kind's denominator; the invention itself counts.
    assert (found["solution_kind", "precision"].value, found["solution_kind", "precision"].denominator) == (0.0, 1)
    assert found["solution", "precision"].value == 0.5
    assert found["resolution", "f1"].value == 0.5  # both say "unresolved", the default


def test_low_value_is_a_class_and_its_resolution_a_placeholder():
    labels = [low("c1"), low("c2"), label("c3")]
    proposals = [proposal("c1", low_value=True), proposal("c2"), proposal("c3", low_value=True)]
    found = scored(proposals, labels)
    assert (found["low_value", "precision"].value, found["low_value", "recall"].value) == (0.5, 0.5)
    assert found["resolution", "recall"].denominator == 1  # c3 alone


def test_a_conversation_without_proposals_found_nothing_and_a_failed_one_is_apart():
    labels = [label("c1"), label("c2")]
    assert scored([proposal("c1")], labels)["symptoms", "recall"].denominator == 2
    result = evaluate_extraction([proposal("c1"), proposal("zz")], labels, by="words", failed=["c2"])
    assert result.failed == ("c2",)
    assert result.unlabelled == ("zz",)
    assert set(result.counts["conversation"]) == {"c1"}


def test_items_show_both_sides_with_quotes():
    mentions = (Mention("vpn drops", 3, "keeps dropping"), Mention("lunch", 1, "at lunch"))
    items = evaluate_extraction([proposal("c1", symptoms=mentions)], [label("c1")], by="words").items
    part = items[items["field"] == "symptoms"].set_index("status")
    assert list(part.index) == ["matched", "invented"]
    matched = part.loc["matched"]
    assert (matched.predicted_quote, matched.predicted_turn) == ("keeps dropping", 3)
    assert (matched.gold_id, matched.gold_turn, matched.gold_quote, matched.score) == ("s1", 0, "it drops", 1.0)
    assert part.loc["invented"].predicted_quote == "at lunch"
    missed = items[(items["field"] == "attempts") & (items["status"] == "missed")]
    assert list(missed["gold"]) == ["reboot (failed)", "update client (worked)"]


def test_groups_by_category_and_phenomenon():
    labels = [
        label("c1", phenomena=["negation", "hedging"]),
        label("c2", category="teams", phenomena=["negation"]),
        label("c3", category=None),
    ]
    result = evaluate_extraction([proposal("c1", symptoms=(Mention("vpn drops", 0, "q"),))], labels, by="words")

    def recall(by: str) -> dict[str, tuple[float, int]]:
        frame = result.scores(by, seed=0, n=50)  # type: ignore[arg-type]
        rows = frame[(frame["field"] == "symptoms") & (frame["metric"] == "recall")]
        return {getattr(r, by): (r.value, r.n) for r in rows.itertuples()}

    assert recall("category") == {"(none)": (0.0, 1), "teams": (0.0, 1), "vpn": (1.0, 1)}
    assert recall("phenomenon") == {"(none)": (0.0, 1), "hedging": (1.0, 1), "negation": (0.5, 2)}
    with pytest.raises(InputError, match="category or phenomenon"):
        result.scores("author", seed=0)  # type: ignore[arg-type]


def test_values_for_paired_comparison():
    labels = [label("c1"), label("c2"), low("c3")]
    result = evaluate_extraction([proposal("c1", symptoms=(Mention("vpn drops", 0, "q"),))], labels, by="words")
    # c3 has no symptom and none was proposed: right. An extractor that invents one there must lose against it.
    assert result.values("symptoms") == {"c1": 1.0, "c2": 0.0, "c3": 1.0}
    invented = evaluate_extraction([proposal("c3", symptoms=(Mention("lunch", 0, "q"),))], labels, by="words")
    assert invented.values("symptoms")["c3"] == 0.0
    assert set(result.values("resolution")) == {"c1", "c2"}
    with pytest.raises(InputError, match="unknown field 'symptom'; known: symptoms"):
        result.values("symptom")


def test_meaning_matches_through_the_encoder():
    class Close:
        name = "close"

        def encode(self, texts: Sequence[str]) -> np.ndarray:
            angle = {"tunnel dies": 0.0, "vpn drops": 50.0}  # cos 50° = .643
            turns = np.radians([angle.get(t, 90.0 + 90.0 * (n % 2)) for n, t in enumerate(texts)])
            return np.stack([np.cos(turns), np.sin(turns)], axis=1).astype(np.float32)

    proposals = [proposal("c1", symptoms=(Mention("tunnel dies", 0, "q"),))]
    only = [label("c1", attempts=[], solution=None, solution_kind=None, root_cause=None)]
    for threshold, matched in ((0.6, 1), (0.7, 0)):
        result = evaluate_extraction(proposals, only, vectors=TextVectors(Close()), threshold=threshold)
        counts = result.counts.set_index("field")
        assert counts.loc["symptoms", "matched"] == matched


def test_the_oracle_scores_one_everywhere():
    labels = [label("c1"), label("c1", case=1, category="teams"), low("c2"), label("c3", root_cause=None)]
    for key, row in scored(oracle_proposals(labels), labels).items():
        assert row.value == 1.0, key
        assert row.low < 1.0 == row.high, key  # Wilson's, never of no width


def test_random_proposals_are_those_of_another_conversation():
    labels = [label(f"c{n}", symptoms=[{"id": f"s{n}", "text": f"symptom {n}"}]) for n in range(6)]
    found = random_proposals(labels, seed=1)
    assert sorted(p.conversation for p in found) == [f"c{n}" for n in range(6)]
    assert all(p.symptoms[0].text.split()[1] != p.conversation[1] for p in found)
    assert list(found) == list(random_proposals(reversed(labels), seed=1))
    assert any(list(found) != list(random_proposals(labels, seed=s)) for s in (2, 3, 4))
    with pytest.raises(InputError, match="at least two"):
        random_proposals(labels[:1], seed=1)


def chat(id: str, *turns: tuple[str, str], category: str | None = "vpn") -> Conversation:
    return Conversation(id, "acme", datetime(2026, 1, 1, tzinfo=UTC), tuple(Turn(r, t) for r, t in turns), category)  # type: ignore[arg-type]


def test_trivial_proposals_by_hand():
    causes = ["old client", "bad token", "bad token"]
    labels = [label(f"c{n}", root_cause={"id": t, "text": t}) for n, t in enumerate(causes)]
    (found,) = trivial_proposals(
        [chat("c9", ("agent", "Hello, how can I help?"), ("user", "hi. the vpn is dead. help"))], labels
    )
    assert found.symptoms == (Mention("the vpn is dead.", 1, "the vpn is dead."),)
    assert found.root_cause is not None
    assert found.root_cause.text == "bad token"  # 2 of 3
    assert found.solution == Solution("update client", 1, "the vpn is dead.", "fix")
    assert (found.resolution, found.category, found.low_value, found.attempts) == ("confirmed", "vpn", False, ())


def test_trivial_baselines_score_their_share():
    # "confirmed" is right in 2 of 3 chats, "fix" in 1 of the 2 that have a solution.
    labels = [
        label("c0"),
        label("c1", solution_kind="workaround"),
        label("c2", solution=None, solution_kind=None, resolution="unresolved"),
    ]
    found = scored(trivial_proposals([chat(f"c{n}", ("user", "vpn drops")) for n in range(3)], labels), labels)
    assert found["resolution", "f1"].value == pytest.approx(2 / 3)
    assert found["solution_kind", "f1"].value == 0.5
    assert found["symptoms", "precision"].value == 1.0


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([("user", "hey\nmy printer jams again\nthanks")], (0, "my printer jams again")),
        ([("user", "hey!"), ("user", "Outlook v16.0.1 hangs. Help")], (1, "Outlook v16.0.1 hangs.")),
        ([("user", "help")], (0, "help")),
        ([("agent", "the user never wrote")], (0, "")),
    ],
)
def test_first_sentence(turns, expected):
    assert first_sentence(chat("c", *turns)) == expected


def test_reference_rows_in_one_frame():
    labels = [label("c1"), label("c2", root_cause={"id": "c2", "text": "bad token"})]
    rows = reference_proposals([chat("c1", ("user", "vpn drops")), chat("zz", ("user", "x"))], labels, seed=0)
    assert {p.conversation for p in rows["trivial"]} == {"c1"}
    frame = compare_extractors(rows, labels, seed=0, n=50, vectors=TextVectors(Orthogonal()))
    assert list(dict.fromkeys(frame["extractor"])) == ["oracle", "trivial", "random"]
    assert len(frame) == 3 * 3 * len(FIELDS)
    cause = frame[(frame["field"] == "root_cause") & (frame["metric"] == "f1")].set_index("extractor")["value"]
    assert cause["oracle"] == 1.0
    assert cause["random"] == 0.0  # with two conversations each gets the other's cause


def test_results_do_not_depend_on_the_order_of_labels_and_proposals():
    labels = [label(f"c{n}", phenomena=["x"] * (n % 2)) for n in range(5)]
    proposals = [proposal(f"c{n}", symptoms=(Mention("vpn drops", 0, "q"),)) for n in range(3)]
    one = evaluate_extraction(proposals, labels, by="words")
    other = evaluate_extraction(proposals[::-1], labels[::-1], by="words")
    assert one.items.equals(other.items)
    assert one.scores("phenomenon", seed=1, n=50).equals(other.scores("phenomenon", seed=1, n=50))


def write(path, *objects):
    path.write_text("".join(json.dumps(o) + "\n" for o in objects), encoding="utf-8")
    return path


def test_read_labels_keeps_unknown_keys_and_fills_the_case(tmp_path):
    first = {k: v for k, v in label("c1", author="A").items() if k not in ("case", "profile")}
    found = read_labels(write(tmp_path / "labels.jsonl", first, label("c1", case=1)))
    assert [(x["conversation"], x["case"]) for x in found] == [("c1", 0), ("c1", 1)]
    assert found[0]["author"] == "A"
    assert found[0]["profile"] == []
    assert symptom_texts(found) == {"s1": "vpn drops"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"conversation": ""}, "conversation must be a non-empty text"),
        ({"case": -1}, "case must be a whole number"),
        ({"low_value": 0}, "low_value must be true or false"),
        ({"symptoms": None}, "symptoms must be a list, not missing"),
        ({"symptoms": [{"text": "x"}]}, r"symptoms\[0\]\.id must be"),
        ({"root_cause": "x"}, "root_cause must be an object with id and text"),
        ({"attempts": [{"action": "x", "outcome": "good"}]}, r"attempts\[0\]\.outcome must be one of worked, failed"),
        ({"attempts": [{"action": "x", "outcome": "worked", "turn": "1"}]}, r"attempts\[0\]\.turn must be a whole"),
        ({"resolution": "done"}, "resolution must be one of confirmed, inferred, unresolved, abandoned, not 'done'"),
        ({"solution_kind": "patch"}, "solution_kind must be one of fix, workaround"),
        ({"solution": None}, "solution and solution_kind must both be given, or both be null"),
        ({"phenomena": [1]}, r"phenomena\[0\] must be"),
        ({"category": 3}, "category must be"),
    ],
)
def test_bad_labels_name_file_line_and_field(tmp_path, change, reason):
    path = write(tmp_path / "labels.jsonl", label("c0"), {**label("c1"), **change})
    with pytest.raises(InputError, match=rf"labels\.jsonl:2: {reason}"):
        read_labels(path)


def test_a_case_labelled_twice_is_refused(tmp_path):
    path = write(tmp_path / "labels.jsonl", label("c0"), label("c1"), label("c0"))
    with pytest.raises(InputError, match=r"labels\.jsonl:3: 'c0' case 0 is labelled on line 1"):
        read_labels(path)


def test_broken_files_are_refused(tmp_path):
    path = tmp_path / "labels.jsonl"
    with pytest.raises(InputError, match="no such file"):
        read_labels(path)
    path.write_text("{broken\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"labels\.jsonl:1: not JSON"):
        read_labels(path)
