"""Titles of causes and solutions: short, of the conversation's own words, never empty, the same on every run."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memlab.extraction.clauses import clauses_of
from memlab.extraction.phrases import headline
from memlab.extraction.titles import MOST_HEAD, MOST_MORE, rarity, title
from memlab.records import Conversation, Turn, parse_time

AT = parse_time("2026-03-02T09:00:00+01:00")


def of(*texts):
    roles = ("user", "agent")
    return Conversation("c", "acme", AT, tuple(Turn(roles[n % 2], t) for n, t in enumerate(texts)))


def test_the_best_sentence_comes_first_and_the_next_ones_name_the_thing():
    c = of("VPN gives up before I can approve.", "Your laptop still carries profile v3. The thing waits too short.")
    clauses = clauses_of(c)
    logits = [2.0 if "waits" in k.text else 1.5 if "profile" in k.text else -3.0 for k in clauses]
    found = title(c, clauses, logits, "vpn")
    assert found.startswith("thing waits too short (")
    assert "profile" in found
    assert "v3" in found


def test_a_title_that_names_the_product_gets_no_prefix():
    c = of("The VPN profile is old.")
    assert title(c, clauses_of(c), [1.0], "vpn") == "VPN profile is old"
    assert title(c, clauses_of(c), [1.0], "other") == "VPN profile is old"
    assert title(c, clauses_of(c), [1.0], None) == "VPN profile is old"


def test_log_lines_do_not_enter():
    c = of("The certificate expired.", "user=a;state=" + "x" * 60 + " certificate expired 403")
    assert "x" * 60 not in title(c, clauses_of(c), [2.0] + [1.0] * (len(clauses_of(c)) - 1), None)


def test_what_stands_around_a_name_that_is_left_out_is_not_glued_together():
    assert headline("&0@0<") == "& <"


def test_rare_words_weigh_more():
    assert rarity("the") == rarity("und") == 0
    assert rarity("time") == 0 < rarity("printer") < rarity("globalprotect")


@given(st.lists(st.text(min_size=2, max_size=80), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_any_text_gives_a_short_title_of_its_own_words(texts, random):
    c = of(*[t if t.strip() else "ok then" for t in texts])
    clauses = clauses_of(c)
    if not clauses:
        return
    logits = [random.uniform(-3, 3) for _ in clauses]
    found = title(c, clauses, logits, None)
    assert found.strip()
    assert len(found.split()) <= MOST_HEAD + MOST_MORE
    everything = " ".join(t.text for t in c.turns)
    assert all(w.strip("()") in everything for w in found.split())
    assert found == title(c, clauses, logits, None)
