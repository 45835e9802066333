"""Comparing curators on the same paraphrases and strangers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memlab.curation.curator import Choice
from memlab.errors import InputError, ModelError
from memlab.evaluation.matching import TextVectors
from memlab.evaluation.queries import Query
from memlab.runs import always, compare_curators, curation_cases, curator_table, decide

SYMPTOMS = {f"s{i}": f"symptom number {i}" for i in range(8)}


def queries() -> list[Query]:
    return [
        Query(f"q{i}", f"words about {i}", "acme", "vpn" if i < 6 else "teams", (f"s{i}",), (f"rc{i // 2}",))
        for i in range(8)
    ] + [Query("hard", "x", "acme", "vpn", ("s0",), ("rc0",), hard_negative=True), Query("none", "y", "acme", "vpn")]


@pytest.fixture
def cases(encoder: Any) -> list[Any]:
    return curation_cases(queries(), SYMPTOMS, n=8, seed=1, vectors=TextVectors(encoder))


def test_cases_are_paraphrases_and_strangers_of_the_same_category(cases: list[Any], encoder: Any) -> None:
    by_id = {q.id: q for q in queries()}
    for case in cases:
        query = by_id[case.id.split("/")[0]]
        if case.same:
            assert (case.candidate.entry,) == query.symptom_ids
        else:
            owner = by_id[f"q{case.candidate.entry[1:]}"]
            assert owner.category == query.category
            assert not set(owner.root_cause_ids) & set(query.root_cause_ids)
    # q6 and q7 are all there is about teams, and share their cause: neither can be the other's stranger.
    assert sum(c.same for c in cases) == 4
    assert len(cases) >= 6
    assert cases == curation_cases(reversed(queries()), SYMPTOMS, n=8, seed=1, vectors=TextVectors(encoder))
    fewer = curation_cases(queries(), SYMPTOMS, n=4, seed=1, vectors=TextVectors(encoder))
    assert fewer == cases[: len(fewer)]  # replies recorded for more cases serve fewer
    with pytest.raises(InputError, match="99 cases asked for and 8 queries usable"):
        curation_cases(queries(), SYMPTOMS, n=99, seed=1)


def test_a_curator_is_right_if_it_treats_the_two_as_the_labels_do(cases: list[Any]) -> None:
    same, other = next(c for c in cases if c.same), next(c for c in cases if not c.same)
    assert same.right(Choice("reinforce", same.candidate.entry))
    assert same.right(Choice("edit", same.candidate.entry))
    assert not same.right(Choice("reinforce", "not offered: 7"))
    assert not same.right(Choice("add"))
    assert other.right(Choice("reject"))
    assert other.right(Choice("add"))
    assert not other.right(Choice("edit", other.candidate.entry))


def test_the_trivial_curators_are_right_in_one_half_each(cases: list[Any]) -> None:
    table = curator_table({"add": always("add", cases), "reinforce": always("reinforce", cases)}, cases, seed=0)
    values = {(r.curator, r.cases): r.value for r in table.itertuples()}
    assert (values["add", "the same"], values["add", "another"]) == (0.0, 1.0)
    assert (values["reinforce", "the same"], values["reinforce", "another"]) == (1.0, 0.0)


def test_a_case_without_a_reply_is_counted_apart(cases: list[Any]) -> None:
    class Mute:
        name = "mute"

        def choose(self, kind: str, text: str, candidates: Any) -> Choice:
            if text == cases[0].text:
                raise ModelError("no reply")
            return Choice("add")

    said = decide(Mute(), cases)
    assert said[cases[0].id] is None
    report = compare_curators(always("reinforce", cases), said, cases, names=("a", "b"))
    line = report.lines[0]
    assert line.comparison is not None
    assert line.comparison.failed == (cases[0].id,)
    assert line.comparison.n == len(cases) - 1
    assert "gold “the same”" in str(report) or "gold “another”" in str(report)
    table = curator_table({"mute": said}, cases, seed=0)
    assert table[table["cases"] == "all"]["failed"].tolist() == [1]


def test_the_recorded_replies_are_small_and_belong_to_their_prompts() -> None:
    from memlab.models.cassette import Cassette
    from memlab.models.prompts import read_prompt

    folder = Path(__file__).resolve().parent.parent / "notebooks"
    for name in ("curate_rules", "curate_examples"):
        path = folder / "cassettes" / f"{name}.jsonl"
        prompt = read_prompt(folder / "prompts" / f"{name}.md")
        assert path.stat().st_size < 150_000
        assert len(Cassette(path).senders) == 1
        assert f'"prompt":"{prompt.id}"' in path.read_text("utf-8").splitlines()[0]
