"""Charts: equal bytes, words made from the numbers, a table of what is drawn, and names that can be told apart."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import matplotlib as mpl
import pandas as pd
import pytest

from memlab.errors import InputError
from memlab.figures import (
    Chart,
    budget_chart,
    dot_chart,
    extraction_chart,
    growth_chart,
    growth_frame,
    line_chart,
    overlap_chart,
    reliability_chart,
    reliability_frame,
)
from memlab.figures.chart import SERIES, number


def scores() -> pd.DataFrame:
    rows = [
        {"extractor": e, "field": f, "metric": m, "value": v, "low": v - 0.1, "high": v + 0.1, "n": 9}
        for e, plus in (("ours", 0.2), ("random", 0.0))
        for f, v in (("symptoms", 0.3 + plus), ("cause", 0.2 + plus))
        for m in ("f1", "recall")
    ]
    return pd.DataFrame(rows)


def budgets() -> pd.DataFrame:
    rows = [(a, t, v) for a, base in (("memory", 0.4), ("bm25", 0.3)) for t, v in ((200, base), (800, base + 0.25))]
    frame = pd.DataFrame(rows, columns=["arm", "tokens", "value"])
    return frame.assign(low=frame["value"] - 0.1, high=frame["value"] + 0.1)


def text_of(chart: Chart) -> str:
    return " ".join(t.strip() for t in ET.fromstring(chart.svg).itertext() if t.strip())


CHARTS: dict[str, Any] = {
    "budget": lambda: budget_chart(budgets()),
    "overlap": lambda: overlap_chart(budgets().assign(overlap=[0.1, 0.9, 0.1, 0.9])),
    "extraction": lambda: extraction_chart(scores()),
    "difference": lambda: dot_chart(budgets(), rows="arm", title="d", x_limits=None, zero=True),
    "reliability": lambda: reliability_chart({"m": ([0.1, 0.9, 0.8], [0, 1, 0])}),
}


@pytest.mark.parametrize("name", CHARTS)
def test_equal_data_give_equal_bytes_whatever_the_settings(name: str) -> None:
    before = dict(mpl.rcParams)
    first = CHARTS[name]()
    with mpl.rc_context({"font.size": 30.0, "axes.facecolor": "red", "axes.prop_cycle": mpl.cycler(color=["pink"])}):
        assert CHARTS[name]().svg == first.svg
    assert dict(mpl.rcParams) == before
    assert "<script" not in first.svg
    assert "http" not in first.svg.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    )


def test_a_chart_shows_picture_words_and_table() -> None:
    chart = budget_chart(budgets())
    assert chart.alt == (
        "right answers by token budget. memory: from 0.40 at 200 to 0.65 at 800. bm25: from 0.30 at 200 to 0.55 at 800."
    )
    shown = text_of(chart)
    assert "memory" in shown
    assert "bm25" in shown
    assert "800" in shown
    bundle = chart._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert 'role="img" aria-label="right answers' in bundle["text/html"]
    assert "<td>0.65</td>" in bundle["text/html"]
    assert "0.65" in bundle["text/plain"]
    assert list(chart.table.columns) == ["arm", "tokens", "value", "low", "high"]


def test_the_words_name_highest_and_lowest() -> None:
    assert extraction_chart(scores()).alt == (
        "f1 by field. ours: highest symptoms (0.50), lowest cause (0.40). "
        "random: highest symptoms (0.30), lowest cause (0.20)."
    )


def test_names_along_x_stand_in_the_order_of_their_first_appearance() -> None:
    frame = pd.DataFrame({"arm": "m", "bin": ["0", "0–0.25", "0.25–0.5"], "value": [0.1, 0.5, 0.3]})
    chart = line_chart(frame, x="bin", group="arm", title="t")
    assert chart.alt == "t. m: from 0.10 at 0 to 0.30 at 0.25–0.5."
    ticks = [t for t in ET.fromstring(chart.svg).itertext() if t in ("0", "0–0.25", "0.25–0.5")]
    assert ticks == ["0", "0–0.25", "0.25–0.5"]
    with pytest.raises(InputError, match="numbers above 0"):
        line_chart(frame, x="bin", group="arm", title="t", log_x=True)


def test_missing_columns_and_too_many_groups_are_refused() -> None:
    with pytest.raises(InputError, match=r"missing: tokens \(there: arm, value\)"):
        budget_chart(budgets()[["arm", "value"]])
    many = pd.concat([budgets().assign(arm=f"a{n}") for n in range(len(SERIES) + 1)])
    with pytest.raises(InputError, match="at most 10"):
        budget_chart(many)
    with pytest.raises(InputError, match="no score has the metric 'accuracy'; there: f1, recall"):
        extraction_chart(scores(), metric="accuracy")
    with pytest.raises(InputError, match="above 0"):
        budget_chart(budgets().assign(tokens=0))


def test_series_differ_in_more_than_colour() -> None:
    looks = [(s.dash, s.marker) for s in SERIES]
    assert len(set(looks)) == len(looks)


def test_reliability_by_hand() -> None:
    # Two bins: 0.1, 0.3 → one of two came true; 0.7, 0.9, 0.9 → two of three.
    frame = reliability_frame({"m": ([0.1, 0.3, 0.7, 0.9, 0.9], [0, 1, 1, 1, 0])}, bins=2)
    assert frame["n"].tolist() == [2, 3]
    assert frame["value"].tolist() == pytest.approx([1 / 2, 2 / 3])
    assert frame["said"].tolist() == pytest.approx([0.2, 2.5 / 3])
    # (2 |0.2 - 0.5| + 3 |2.5/3 - 2/3|) / 5 = (0.6 + 0.5) / 5
    assert frame["ece"].tolist() == pytest.approx([0.22, 0.22])
    assert all((frame["low"] <= frame["value"]) & (frame["value"] <= frame["high"]))
    assert reliability_frame({"m": ([1.0, 0.0], [1, 0])}, bins=10)["n"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("said", "true", "bins", "reason"),
    [([0.5], [1, 0], 10, "in pairs"), ([1.5], [1], 10, "in \\[0, 1\\]"), ([0.5], [1], 0, "at least 1")],
)
def test_what_is_no_probability_is_refused(said: Any, true: Any, bins: int, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        reliability_frame({"m": (said, true)}, bins=bins)


def test_growth_keeps_its_last_row(synthetic: Any) -> None:
    frame = growth_frame(synthetic(5, conversations=57).operations)
    chart = growth_chart(frame)
    assert len(chart.table) <= 21
    assert chart.table["nodes"].iloc[-1] == frame["nodes"].iloc[-1]
    assert chart.alt.startswith("Growth of memory over 57 conversations: ")
    assert growth_chart(growth_frame([])).alt == "Growth of memory: no conversations yet"


def test_counter_evidence_counts_as_growth(history: Any) -> None:
    # A rejection with links changes the graph: it votes on an edge that was there.
    history.case(0, ["s"], "c", "x")
    cause, solution = history.operations[1], history.operations[2]
    at = type(cause.evidence)("case-0009", cause.at, "failed")
    against = type(cause)("reject", "solution", solution.entry, "x", at, ((cause.entry, solution.entry),))
    last = growth_frame([*history.operations, against]).iloc[-1]
    assert (last.nodes, last.edges, last.evidence, last.rejects) == (3, 2, 4, 1)


def test_numbers_in_words() -> None:
    assert [number(v) for v in (0.0, 1.0, 400.0, 0.125)] == ["0.00", "1.00", "400", "0.12"]


def test_a_difference_below_zero_is_not_cut_off() -> None:
    frame = pd.DataFrame({"arm": ["worse", "better"], "value": [-0.2, 0.1], "low": [-0.4, -0.1], "high": [0.0, 0.3]})
    shown = text_of(dot_chart(frame, rows="arm", title="gained", zero=True))
    assert "−0.4" in shown  # the axis reaches the lowest end of an interval
