"""The door: what is bad is skipped with file, line and reason, and the rest goes on."""

from __future__ import annotations

import codecs
import json
from importlib.metadata import EntryPoint
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memlab.corpus import read_conversations, reading
from memlab.corpus.encoding import Encoding, detect_encoding
from memlab.corpus.jsonfiles import json_items
from memlab.corpus.plain import html_to_text
from memlab.corpus.quoting import cut_quoted
from memlab.errors import InputError, TimeError


def line(id="c1", at="2026-03-02T09:00:00+01:00", text="hello", **more):
    return json.dumps(
        {"id": id, "customer": "acme", "started_at": at, "turns": [{"role": "user", "text": text}], **more}
    )


def test_bad_lines_are_skipped_with_line_and_reason(tmp_path):
    path = tmp_path / "c.jsonl"
    lines = [line("a"), "{broken", "", "[1]", line("b", at="2026-03-02T09:00:00"), line("c", text=" "), line("d")]
    path.write_text("\n".join(lines), "utf-8")
    report = read_conversations(path)
    assert [c.id for c in report] == ["a", "d"]
    # Lines count from 1; line 3 is blank and no piece at all.
    assert [s.line for s in report.skipped] == [2, 4, 5, 6]
    reasons = ["not JSON", "not a JSON object", "no UTC offset", "is empty"]
    assert all(word in s.reason for word, s in zip(reasons, report.skipped, strict=True))
    assert all(s.file == str(path) for s in report.skipped)


def test_strict_stops_at_the_first_bad_line(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text(line("a") + "\n{broken\n", "utf-8")
    with pytest.raises(InputError, match=r"c\.jsonl:2: not JSON"):
        read_conversations(path, strict=True)


def test_a_zone_makes_naive_times_readable(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text(line(at="2026-07-01T09:00:00"), "utf-8")
    report = read_conversations(path, zone="Europe/Berlin")
    assert (
        report[0].started_at.utcoffset() == report[0].started_at.replace(tzinfo=ZoneInfo("Europe/Berlin")).utcoffset()
    )
    with pytest.raises(TimeError, match="unknown time zone"):
        read_conversations(path, zone="Mars/Olympus")


def test_byte_order_marks_and_wrong_encodings(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_bytes(codecs.BOM_UTF8 + line("a").encode())
    assert [c.id for c in read_conversations(path)] == ["a"]
    path.write_bytes(f"{line('a')}\n".encode() + json.dumps({"id": "Drücker"}, ensure_ascii=False).encode("cp1252"))
    report = read_conversations(path)
    assert len(report) == 1
    assert "not UTF-8" in report.skipped[0].reason
    path.write_bytes(line("a").encode("utf-16"))
    with pytest.raises(InputError, match="UTF-16"):
        read_conversations(path)


def test_the_same_conversation_twice_counts_once_and_a_different_one_is_told(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text("\n".join([line("a"), line("a"), line("a", text="other")]), "utf-8")
    report = read_conversations(path)
    assert len(report) == 1
    assert [s.reason for s in report.skipped] == ["conversation 'a' stands twice with different content"]


def test_unknown_formats_folders_and_missing_files_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"unknown format 'word'; known: csv, "):
        read_conversations(tmp_path, format="word")
    with pytest.raises(InputError, match="a folder, where csv needs a file"):
        read_conversations(tmp_path, format="csv")
    with pytest.raises(InputError, match="no such file"):
        read_conversations(tmp_path / "none.jsonl")


def test_installed_packages_add_readers_and_replace_none(tmp_path, monkeypatch):
    points = [
        EntryPoint("mine", "memlab.corpus.reading:read_jsonl", "memlab.readers"),
        EntryPoint("csv", "memlab.corpus.reading:read_jsonl", "memlab.readers"),
        EntryPoint("gone", "no_such_package:read", "memlab.readers"),
    ]
    monkeypatch.setattr(reading, "entry_points", lambda group: points if group == "memlab.readers" else [])
    path = tmp_path / "c.jsonl"
    path.write_text(line("a"), "utf-8")
    assert [c.id for c in read_conversations(path, format="mine")] == ["a"]
    with pytest.raises(InputError, match="no column for id, role, text"):
        read_conversations(path, format="csv")
    with pytest.raises(InputError, match=r"'gone'.*can't be loaded"):
        read_conversations(path, format="gone")


@pytest.mark.parametrize(
    ("data", "name", "mixed"),
    [
        ("Drücker".encode(), "utf-8", False),
        (codecs.BOM_UTF8 + b"a", "utf-8-sig", False),
        ("Drücker".encode("utf-16"), "utf-16", False),
        ("Druecker\n".encode("utf-16-le"), "utf-16-le", False),
        ("Druecker\n".encode("utf-16-be"), "utf-16-be", False),
        ("Drücker".encode("cp1252"), "cp1252", False),
        ("grün\n".encode() + "Drücker".encode("cp1252"), "utf-8", True),
        (b"", "utf-8", False),
    ],
)
def test_encodings_are_found(tmp_path, data, name, mixed):
    path = tmp_path / "f"
    path.write_bytes(data)
    assert detect_encoding(path) == Encoding(name, mixed)


@pytest.mark.parametrize("data", [b"\x00\x01\x02\x03" * 50, b"abc \x81\xff\n"])
def test_what_is_no_text_is_refused(tmp_path, data):
    path = tmp_path / "f"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"not a text file|no Windows-1252"):
        detect_encoding(path)


ITEMS = [{"id": 1, "text": "a, [b]"}, {"id": 2, "nested": {"list": [1, 2]}}, {"id": 3}]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(map(json.dumps, ITEMS)),
        json.dumps(ITEMS),
        json.dumps(ITEMS, indent=2),
        json.dumps({"count": 3, "tickets": ITEMS}),
        json.dumps({"count": 3, "tickets": ITEMS}, indent=1),
        json.dumps({"tickets": ITEMS[:2]}) + "\n" + json.dumps({"tickets": ITEMS[2:]}),
        "\ufeff\n" + json.dumps(ITEMS, indent=2),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_json_of_any_shape_gives_the_same_objects(tmp_path, text, encoding):
    path = tmp_path / "f.json"
    path.write_text(text.removeprefix("\ufeff") if encoding == "utf-16" else text, encoding)
    assert [data for _, data in json_items(path, under=("tickets",))] == ITEMS


@settings(deadline=None)
@given(cut=st.integers(1, 200))
def test_a_cut_off_list_gives_what_stands_before_the_cut(tmp_path_factory, cut):
    items = [{"id": n, "text": "x" * 10} for n in range(6)]
    text = json.dumps({"tickets": items}, indent=1)
    path = tmp_path_factory.mktemp("cut") / "f.json"
    path.write_text(text[:-cut], "utf-8")
    found = list(json_items(path, under=("tickets",)))
    objects = [item[1] for item in found if isinstance(item, tuple)]
    # Whole objects, in order, from the first on; and the damage is told unless only the last bracket is missing.
    assert objects == items[: len(objects)]
    if len(objects) < len(items):
        assert isinstance(found[-1], reading.Skipped)
        assert found[-1].line >= 1


def test_fifty_megabytes_are_read_line_by_line(tmp_path):
    path = tmp_path / "big.jsonl"
    filler = "x" * 10_000
    with path.open("w", encoding="utf-8") as file:
        for n in range(5_000):
            file.write(json.dumps({"id": n, "messages": [], "filler": filler}) + "\n")
    assert path.stat().st_size > 50_000_000
    assert sum(1 for _ in json_items(path)) == 5_000


def test_quoted_mails_are_cut_with_a_count():
    text = "It works, thanks!\n\nAm 02.03.2026 um 09:12 schrieb Service Desk:\n> bitte neu starten\n>\n> Gruß"
    # Counted are the line that introduces the quote and two quoted lines with words; a bare ">" has a sign and counts.
    assert cut_quoted(text).text == "It works, thanks!"
    assert cut_quoted(text).lines == 4
    outlook = "Still broken.\n\nVon: Service Desk\nGesendet: Montag\nAn: Jo\nBetreff: AW\n\nBitte neu starten."
    assert cut_quoted(outlook).text == "Still broken."
    inline = "On Mon, 2 Mar 2026 Desk wrote:\n> which version?\n23H2\n> and the dock?\nWD19"
    assert cut_quoted(inline).text == "23H2\nWD19"
    forward = "please help\n---------- Forwarded message ---------\nFrom: Jo\n\nmy printer is dead"
    assert "my printer is dead" in cut_quoted(forward, keep_forwarded=True).text
    assert cut_quoted(forward).text == "please help"


def test_html_becomes_what_a_reader_sees():
    html = "<style>p{}</style><p>It&nbsp;fails</p><script>alert(1)</script><ul><li>one</li><li>two</li></ul><img alt='shot'>"
    assert html_to_text(html) == "It fails\none\ntwo\nshot"
    assert html_to_text("a < b and <b>bold") == "a < b and bold"
