"""Recall and ranking, on small memories whose right answer can be seen."""

from __future__ import annotations

import numpy as np
import pytest
from scripted import HashEncoder, ScriptedCurator, conv, prop

from memlab import ranking
from memlab.curation.curator import Choice
from memlab.errors import InputError, ModelError, RecallError
from memlab.models.embeddings import default_encoder
from memlab.ranking import CURVE, EVIDENCE, VIEWS, among_rivals, curve_inputs, evidence, probabilities, scores
from memlab.recalling import cause_index, recall, search_episodes
from memlab.recalling.exact import codes, fits, product_names
from memlab.recalling.near import SKETCHED_FROM, Vectors
from memlab.recalling.segments import Segments
from memlab.recalling.words import Words


def _teach(bank, teach):
    pairs = []
    for n, (said, cause, fix) in enumerate(
        [
            (
                "others cannot hear me in Teams calls",
                "microphone muted by the privacy setting",
                "turn the microphone on",
            ),
            ("VPN login fails with error 809", "UDP 500 is blocked by the router", "open UDP 500"),
            ("VPN login fails with error 691", "wrong realm in the login name", "log in with the realm"),
        ]
    ):
        c = conv(
            f"c{n}",
            f"2026-03-0{n + 2}T09:00:00+01:00",
            [("user", said), ("agent", f"{cause}, {fix}"), ("user", "works")],
        )
        pairs.append((c, prop(said, cause, fix, "confirmed", said)))
    teach(bank, pairs, encoder=default_encoder())


def test_the_cause_with_the_code_that_was_asked_for_comes_first(bank, teach):
    _teach(bank, teach)
    for code, cause in (("809", "UDP 500 is blocked by the router"), ("691", "wrong realm in the login name")):
        hits = recall(bank, f"I get {code} when I connect", k=2, least=0.0)
        assert hits[0].root_cause == cause
        assert "same code or version" in hits[0].reason


def test_other_words_find_the_symptom_by_meaning(bank, teach):
    _teach(bank, teach)
    assert recall(bank, "colleagues get no sound from my mic", k=1, least=0.0)[0].conversations == ("c0",)


def test_hits_are_distinct_causes_and_at_most_k(bank, teach):
    _teach(bank, teach)
    hits = recall(bank, "VPN login fails", k=5, least=0.0, exact=False)
    assert len({h.root_cause for h in hits}) == len(hits) == 3
    assert len(recall(bank, "VPN login fails", k=2, least=0.0)) == 2


def test_blank_queries_and_a_bad_k_are_refused(bank):
    for query in ("", "  ", "\n"):
        with pytest.raises(InputError, match="blank"):
            recall(bank, query)
    with pytest.raises(InputError, match="at least 1"):
        recall(bank, "x", k=0)


def test_an_empty_memory_says_nothing_and_a_broken_encoder_is_an_error(bank, teach):
    assert recall(bank, "anything") == []
    _teach(bank, teach)

    class Broken:
        name = "broken"

        def encode(self, texts):
            raise ModelError("no weights")

    with pytest.raises(RecallError, match="could not be searched"):
        recall(bank, "VPN", encoder=Broken())


def test_memory_of_the_past_does_not_know_later_cases(bank, teach):
    _teach(bank, teach)
    hits = recall(bank, "VPN login fails", k=5, at="2026-03-03T12:00:00+01:00", least=0.0, exact=False)
    assert {c for h in hits for c in h.conversations} == {"c0", "c1"}


def test_another_code_is_never_an_answer(bank, teach):
    pairs = []
    for n, code in enumerate(("80180014", "80180018")):
        said = f"enrolment of my laptop fails with code {code}"
        c = conv(f"c{n}", n, [("user", said), ("agent", f"cause {code}, fix {code}"), ("user", "works")])
        pairs.append((c, prop(said, f"licence missing for {code}", f"assign licence {code}", "confirmed", said)))
    other = conv("c2", 2, [("user", "black window at first start"), ("agent", "no network"), ("user", "works")])
    pairs.append((other, prop("black window at first start", "no network", "plug in the cable", "confirmed")))
    teach(bank, pairs, encoder=default_encoder())
    asked = "my laptop can't be enrolled, code 80180014"
    assert {h.conversations for h in recall(bank, asked, k=9, least=0.0)} == {("c0",), ("c2",)}
    assert len(recall(bank, asked, k=9, least=0.0, exact=False)) == 3
    assert [h.conversations for h in recall(bank, "enrolment fails", k=9, least=0.0, must=["80180018"])] == [("c1",)]
    # A code that nobody has seen is answered by no other code, and one that is ruled out is not asked for.
    assert {h.conversations for h in recall(bank, "code 80180099", k=9, least=0.0)} == {("c2",)}
    assert len(recall(bank, "enrolment fails, but no 80180014", k=9, least=0.0)) == 3


def test_codes_are_read_as_they_are_meant():
    assert codes("error 809 at 9:15 in room 12, event 4771") == {"809", "4771"}
    assert codes("Fehler 0x80070005, nicht 80180018") == {"0x80070005"}
    assert codes("I get 809", known=frozenset({"809"})) == {"809"}
    assert codes("three printers on floor 12") == frozenset()


def test_products_must_agree_where_both_sides_name_one():
    nothing = frozenset()
    case = {"own_codes": nothing, "spoken": nothing}
    assert not fits(nothing, frozenset({"printer"}), own_products=frozenset({"outlook"}), **case)
    assert fits(nothing, frozenset({"printer"}), own_products=frozenset({"outlook", "printer"}), **case)
    assert fits(nothing, frozenset({"printer"}), own_products=nothing, **case)
    assert fits(nothing, nothing, own_products=frozenset({"outlook"}), **case)
    assert product_names(["drucker", "hangs", "0x809"]) == {"drucker": frozenset({"printer"})}


@pytest.mark.parametrize(
    "query", ["how do I change my billing address?", "what is for lunch on Friday", "who won the match last night"]
)
def test_what_has_nothing_to_do_with_it_gets_no_answer(bank, teach, query):
    _teach(bank, teach)
    assert recall(bank, query) == []


def test_scores_are_probabilities_and_in_order(bank, teach):
    _teach(bank, teach)
    hits = recall(bank, "VPN login fails with error 809", k=5, least=0.0, exact=False)
    assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)
    assert all(0 <= h.score <= 1 for h in hits)
    assert hits[0].score > ranking.least()
    assert "words: vpn login fails error 809" in hits[0].reason


def test_a_change_of_the_bank_is_seen_at_once(bank, teach):
    _teach(bank, teach)
    first = cause_index(bank, "vpn")
    assert cause_index(bank, "vpn") is first
    c = conv("c9", "2026-03-09T09:00:00+01:00", [("user", "screen is black"), ("agent", "cable"), ("user", "works")])
    teach(bank, [(c, prop("screen is black", "loose cable", "plug it in", "confirmed"))], encoder=default_encoder())
    assert cause_index(bank, "vpn") is not first
    assert recall(bank, "my screen is black", least=0.0)[0].root_cause == "loose cable"


def test_best_and_mean_of_best_by_owner():
    # Owner 0 has .1, .9, .5, .3: best .9, mean of the best three (.9 + .5 + .3) / 3; owner 1 none; owner 2 one.
    values = np.array([0.1, 0.9, 0.5, 0.3, 0.2])
    segments = Segments([[0, 1, 2, 3], [], [4]])
    assert segments.best(values).tolist() == [0.9, 0.0, 0.2]
    assert segments.mean_of_best(values) == pytest.approx([1.7 / 3, 0.0, 0.2])
    assert Segments([]).best(values).tolist() == []


def _unit(rng, *shape):
    rows = rng.standard_normal(shape).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


@pytest.mark.parametrize("seed", range(4))
def test_a_sketch_finds_the_same_greatest_cosines(seed):
    rng = np.random.default_rng(seed)
    middles = _unit(rng, 9, 384)
    rows = _unit(rng, 600, 384) + 2 * middles[rng.integers(0, 9, 600)]  # alike within a cause, as what users say is
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[7] = rows[8]  # two texts may have one vector
    vector = _unit(rng, 384) / 2 + rows[3]
    vector /= np.linalg.norm(vector)
    exact, sketch = (Vectors(rows, sketched=s).near(vector) for s in (False, True))
    assert exact.margin == 0
    assert 0 < sketch.margin < 0.02
    off = np.abs(sketch.values - exact.values)
    assert 0 < off.max() <= sketch.margin
    places = np.array([5, 3, 7])
    assert sketch.at(places) == pytest.approx(exact.at(places), abs=1e-6)
    segments = Segments([[], *(rng.choice(600, n, replace=False).tolist() for n in (1, 2, 40, 300)), [7, 8, 8, 9]])
    assert segments.best(sketch) == pytest.approx(segments.best(exact), abs=1e-6)
    assert segments.mean_of_best(sketch) == pytest.approx(segments.mean_of_best(exact), abs=1e-6)
    # The place named twice counts once, and equal values count once: the mean is of rows 7 (or 8) and 9.
    assert segments.mean_of_best(exact)[-1] == pytest.approx(exact.values[[7, 9]].mean())


def test_few_texts_are_not_sketched_and_none_are_near_nothing():
    vector = _unit(np.random.default_rng(0), 384)
    assert Vectors(np.zeros((0, 0), np.float32)).near(vector).values.tolist() == []
    assert Vectors(vector[None]).near(vector).margin == 0
    assert Vectors(np.tile(vector, (SKETCHED_FROM, 1))).near(vector).margin > 0


def test_a_cause_is_seen_through_the_words_of_its_own_conversations(bank, teach):
    """Two causes have a symptom in common; how the users of one put it says nothing of the other."""
    pairs = []
    for n, (said, cause) in enumerate(
        (("the pages stay white", "empty ink"), ("no ink on paper 80180014", "dry head"))
    ):
        c = conv(f"c{n}", n, [("user", said), ("agent", cause), ("user", "works")], category="printer")
        pairs.append((c, prop(said, cause, f"mend the {cause}", "confirmed", said)))
    same = ScriptedCurator(
        lambda kind, _, found: Choice("reinforce", found[0].entry) if kind == "symptom" and found else Choice("add")
    )
    teach(bank, pairs, curator=same)
    index = cause_index(bank, "printer")
    assert len(index.graph.of_kind("symptom")) == 1
    views = index.views("the pages stay white", HashEncoder().encode(["the pages stay white"])[0])
    symptom = dict(zip(index.titles, views[:, VIEWS.index("symptom")].tolist(), strict=True))
    assert symptom["empty ink"] == pytest.approx(1.0)
    assert symptom["dry head"] < 0.9
    # The code that one of them speaks of rules out only causes that name another code themselves.
    assert index.allowed("error 80180099").tolist() == [title == "empty ink" for title in index.titles]


def test_what_is_known_of_a_query_counts_its_rare_words_most():
    words = Words([["red", "fox"], ["red"], ["red", "dog"]])
    # Of 3 texts 3, 1 and 0 hold the stems: log(4/4), log(4/2), log(4/1); the first text holds log 2 of log 8.
    worth = words.rarity(["red", "fox", "owl"])
    assert worth == pytest.approx([0.0, np.log(2), np.log(4)])
    assert words.known(["red", "fox", "owl"], worth) == pytest.approx([1 / 3, 0.0, 0.0])
    assert words.known([], np.zeros(0)).tolist() == [0.0] * 3


def test_the_curve_sees_one_query_as_one():
    rows = curve_inputs(np.array([1.0, 3.0]), np.array([0.9, 0.5]), np.array([0.2, 0.7]))
    # The best cosine of any cause, and what the first of them (by score) knows of the words: the same for both.
    assert rows[:, [0, 2, 3, 4]].tolist() == [[1.0, 9.0, 7.0, 1.0], [3.0, 9.0, 7.0, 1.0]]
    assert rows[:, 1] == pytest.approx([-2 - np.log(1 + np.exp(-2)), -np.log(1 + np.exp(-2))])
    assert len(CURVE) == rows.shape[1]


def test_word_mass_grows_and_its_share_does_not():
    # "fox" stands in both texts: idf ln(1 + .5 / 2.5) = ln 1.2; both of length 2: 1 / (1 + 1.2).
    words = Words([["red", "fox"], ["blue", "fox"]])
    assert words.mass(["fox"]) == pytest.approx([np.log(1.2) / 2.2] * 2)
    # "red": idf ln(1 + 1.5 / 1.5) = ln 2.
    assert words.mass(["red", "fox"])[0] == pytest.approx((np.log(2) + np.log(1.2)) / 2.2)
    assert words.share(["red", "fox"])[0] == pytest.approx((np.log(2) + np.log(1.2)) / 2.2 / (2 * np.log(3)))
    assert words.mass(["green"]).tolist() == Words([[], []]).mass(["red"]).tolist() == [0.0, 0.0]


def test_episodes_are_found_by_meaning_and_by_field(bank, teach):
    _teach(bank, teach)
    found = search_episodes(bank, "VPN login is refused", fields={"code": "691"})
    assert [(e.episode.conversation, e.turn) for e in found] == [("c2", 0)]
    assert found[0].snippet == "VPN login fails with error 691"
    assert search_episodes(bank, "x", fields={"code": "69"}) == []
    assert [e.episode.conversation for e in search_episodes(bank, "x", fields={"device": "Teams calls"})] == ["c0"]
    assert len(search_episodes(bank, "x", fields={"day": "2026-03", "resolution": "confirmed"}, k=9)) == 3
    with pytest.raises(InputError, match="unknown field"):
        search_episodes(bank, "x", fields={"colour": "red"})


def test_a_snippet_is_cut_around_what_was_asked(bank, teach):
    long = f"{'well ' * 60}the badge reader blinks {'and so on ' * 40}"
    c = conv("c1", 0, [("user", "hello"), ("user", long), ("agent", "reset"), ("user", "works")])
    teach(bank, [(c, prop("badge reader blinks", "no power", "reset it"))])
    (found,) = search_episodes(bank, "badge reader", encoder=HashEncoder())
    assert "the badge reader blinks" in found.snippet
    assert found.snippet.startswith("… ") and found.snippet.endswith(" …") and len(found.snippet) < 170
    assert found.turn == 1


def test_evidence_adds_up_and_does_not_depend_on_rivals():
    views = np.zeros((2, len(VIEWS)))
    for view, value in (("opening", 0.9), ("turn", 0.4), ("words", 3.0), ("cases", 1.1)):
        views[0, VIEWS.index(view)] = value
    rows = evidence(views)
    # Meaning is the mean of opening, opening_mean, cause, symptom and turn: (.9 + 0 + 0 + 0 + .4) / 5.
    assert rows[0].tolist() == pytest.approx([0.26, 0.9, 3.0, 0.0, 0.0, 0.0, 1.1])
    assert len(EVIDENCE) == rows.shape[1]
    assert evidence(views[:1])[0].tolist() == rows[0].tolist()
    assert scores(views)[0] == scores(views[:1])[0]
    p = probabilities(views)
    assert p[0] > p[1]
    assert 0 <= ranking.least() < 1
    assert probabilities(views[:0]).tolist() == []


def test_two_equals_share_and_a_winner_takes_all():
    assert among_rivals(np.array([3.0, 3.0])) == pytest.approx([np.log(0.5)] * 2)
    assert among_rivals(np.array([50.0, 0.0]))[0] == pytest.approx(0.0)
    assert among_rivals(np.zeros(0)).tolist() == []
