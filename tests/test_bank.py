"""The file: one a customer, safe at any moment it may be killed, closed to what it does not know, empty after forgetting."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from scripted import HashEncoder, Scripted, ScriptedCurator, conv, prop

from memlab.agent.bankstore import BankStore
from memlab.agent.records import Telling, remembered
from memlab.bank import Bank, bank_path, import_bank
from memlab.bank import schema as schema_module
from memlab.curation.curator import Choice
from memlab.curation.decisions import Decision
from memlab.errors import BankError, BankFormatError, CustomerError, InputError
from memlab.learning import forget, learn, rebuild
from memlab.records import canonical_json

ENCODER = HashEncoder()
FOUND = prop("VPN error 809", "blocked UDP 500", "open the port", failed=["reboot"])
OTHER = prop("no sound", "muted headset", "press unmute", category="mail")


def files(path: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(path.parent.glob(f"{path.name}*"))}


@pytest.fixture
def filled(home: Path) -> Iterator[Bank]:
    with Bank.open(home, "acme") as bank:
        learn(
            bank,
            [conv("c1", 0), conv("c2", 1)],
            extractor=Scripted({"c1": FOUND, "c2": [FOUND, OTHER]}),
            encoder=ENCODER,
        )
        yield bank


# -- killed at any statement ------------------------------------------------------------------------------------------


class _Fatal(sqlite3.Connection):
    """A connection that dies like by kill -9 right before its n-th statement that may write."""

    left = 0

    def _step(self, sql: str) -> None:
        if sql.lstrip().startswith(("SELECT", "WITH")):
            return
        type(self).left -= 1
        if type(self).left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def execute(self, *arguments):
        self._step(arguments[0])
        return super().execute(*arguments)

    def executemany(self, sql, rows):
        # Row by row: a process may also die in the middle of many.
        for row in rows:
            self._step(sql)
            super().execute(sql, row)
        return self


def dies(action: Callable[[], object], statement: int) -> bool:
    """Run an action in a process of its own that dies before the n-th SQLite statement; whether it came so far."""
    child = os.fork()
    if child == 0:
        connect = sqlite3.connect
        _Fatal.left = statement
        sqlite3.connect = lambda *a, **k: connect(*a, factory=_Fatal, **k)
        try:
            action()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def every_death(action: Callable[[], object], after: Callable[[], None]) -> int:
    n = 0
    while dies(action, n := n + 1):
        after()
    return n


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_run_killed_at_any_statement_is_resumed_to_the_same_bytes(tmp_path, snap):
    conversations = [conv("c1", 0), conv("c2", 1, [("user", "new form")]), conv("c3", 0.5)]
    script = Scripted({"c1": FOUND, ("c2", 1): [OTHER, prop("slow", "full disk")], "c2": FOUND, "c3": FOUND})
    start, home, done = tmp_path / "start", tmp_path / "home", tmp_path / "done"
    with Bank.open(start, "acme") as bank:
        learn(bank, [conv("c2", 1)], extractor=script, encoder=ENCODER)
        old = set(bank.versions().values())
    with Bank.open(done, "acme") as bank:
        learn(bank, conversations, extractor=script, encoder=ENCODER)
        expected, new = snap(bank), set(bank.versions().values())

    def action() -> None:
        with Bank.open(home, "acme") as bank:
            learn(bank, conversations, extractor=script, encoder=ENCODER, batch=2)

    def resume() -> None:
        with Bank.open(home, "acme") as bank:
            assert set(bank.versions().values()) <= old | new
            assert all("waits for a replay" in fault for fault in bank.check())
            bank.graph("vpn")  # a reader brings derived state up to date
            assert bank.check() == []
            learn(bank, conversations, extractor=script, encoder=ENCODER)
            assert snap(bank) == expected
        shutil.rmtree(home)
        shutil.copytree(start, home)

    shutil.copytree(start, home)
    assert every_death(action, resume) > 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_bank_killed_while_it_is_made_can_be_made_again(tmp_path, snap):
    def resume() -> None:
        with Bank.open(tmp_path, "acme") as bank:
            assert bank.check() == []
            assert bank.count("conversations") == 0
        for path in tmp_path.iterdir():
            path.unlink()

    assert every_death(lambda: Bank.open(tmp_path, "acme"), resume) > 15


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forgetting_killed_at_any_statement_is_done_again(tmp_path, snap):
    start, home = tmp_path / "start", tmp_path / "home"
    script = Scripted({"c1": FOUND, "c2": FOUND})
    with Bank.open(start, "acme") as bank:
        learn(bank, [conv("c1", 0), conv("c2", 1, [("user", "a secret word")])], extractor=script, encoder=ENCODER)
    with Bank.open(tmp_path / "never", "acme") as bank:
        learn(bank, [conv("c1", 0)], extractor=script, encoder=ENCODER)
        expected = snap(bank)

    def action() -> None:
        with Bank.open(home, "acme") as bank:
            forget(bank, "c2")

    def resume() -> None:
        with Bank.open(home, "acme") as bank:
            forget(bank, "c2")
            assert snap(bank) == expected
            assert not any(b"secret" in content for content in files(bank.path).values())
        shutil.rmtree(home)
        shutil.copytree(start, home)

    shutil.copytree(start, home)
    assert every_death(action, resume) > 30


# -- what can't be opened or written ----------------------------------------------------------------------------------


def test_a_full_disk_is_said_and_changes_nothing(filled, snap):
    before = snap(filled)
    pages = filled.rows("PRAGMA page_count")[0][0]
    filled.rows(f"PRAGMA max_page_count = {pages}")
    many = [conv(f"d{n}", n, [("user", "x" * 5000)]) for n in range(20)]
    with pytest.raises(BankError, match=r"free some space.*nothing was changed"):
        learn(filled, many, extractor=Scripted({}), encoder=ENCODER)
    filled.rows("PRAGMA max_page_count = 1000000")
    assert snap(filled) == before
    assert learn(filled, many, extractor=Scripted({}), encoder=ENCODER).learned == 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_folder_that_cannot_be_written_is_said_and_not_touched(filled):
    filled.close()
    before, folder = files(filled.path), filled.path.parent
    for parent in filled.path.parents[1:5]:
        parent.chmod(0o755)
    filled.path.chmod(0o444)
    folder.chmod(0o555)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        for name in ("acme", "nobody-yet"):
            try:
                with Bank.open(folder, name) as bank:
                    bank.set_meta("probe", "1")
            except BankError as error:
                os.write(write, f"{type(error).__name__} {'writ' in str(error) or 'open' in str(error)} ".encode())
        os._exit(0)
    os.waitpid(child, 0)
    folder.chmod(0o755)
    assert os.read(read, 999).split() == [b"BankError", b"True", b"BankError", b"True"]
    assert files(filled.path) == before
    assert len(list(folder.iterdir())) == 1


def newer(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()


def other_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE mine (x)")
    db.close()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a newer memlab": newer,
    "not a memlab bank": lambda p: p.write_bytes(b"conversations,labels\n" * 500),
    "but not a memlab bank": other_database,
    "cut short": lambda p: p.write_bytes(p.read_bytes()[:-200]),
    "damaged": lambda p: p.write_bytes(p.read_bytes()[:60]),
    "another customer": lambda p: shutil.copy(bank_path(p.parent, "globex"), p),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_file_that_is_no_bank_of_ours_is_refused_and_not_touched(filled, damage):
    Bank.open(filled.path.parent, "globex").close()
    filled.close()
    DAMAGE[damage](filled.path)
    before = files(filled.path)
    with pytest.raises(BankFormatError, match=damage):
        Bank.open(filled.path.parent, "acme")
    assert files(filled.path) == before


def test_a_file_that_grows_while_it_is_looked_at_is_whole(filled, monkeypatch):
    """Another process empties its log into the file between two of our looks: not cut short, only looked at early."""
    filled.close()
    head, settled, size = schema_module._look(filled.path)
    looks = iter([(head, True, size - 4096), (head, True, size)])
    real = schema_module._look
    monkeypatch.setattr(schema_module, "_look", lambda path: next(looks, None) or real(path))
    schema_module.inspect(filled.path)
    assert next(looks, "none left") == "none left"
    assert settled


def test_a_page_that_is_damaged_inside_is_said(filled):
    filled.close()
    content = bytearray(filled.path.read_bytes())
    for start in range(4096, len(content), 4096):
        content[start : start + 600] = os.urandom(600)
    filled.path.write_bytes(content)
    with pytest.raises(BankFormatError, match="damaged"), Bank.open(filled.path.parent, "acme") as bank:
        bank.export()


def test_an_older_file_is_migrated_in_one_step_or_not_at_all(filled, monkeypatch, snap):
    before = json.loads(snap(filled))
    filled.close()

    def add_a_table(db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE later (x)")

    def fail(db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE half (x)")
        db.execute("INSERT INTO nowhere VALUES (1)")

    monkeypatch.setattr(schema_module, "SCHEMA_VERSION", 3)
    monkeypatch.setattr(schema_module, "MIGRATIONS", {1: add_a_table, 2: fail})
    with pytest.raises(BankError, match="not opened"):
        Bank.open(filled.path.parent, "acme")
    monkeypatch.setattr(schema_module, "SCHEMA_VERSION", 2)
    with Bank.open(filled.path.parent, "acme") as bank:
        assert bank.rows("PRAGMA user_version") == [(2,)]
        assert bank.rows("SELECT name FROM sqlite_master WHERE name IN ('later', 'half')") == [("later",)]
        assert json.loads(snap(bank))["truth"] == before["truth"]


def test_a_bank_that_is_missing_is_not_made_by_reading(home):
    with pytest.raises(CustomerError, match="no bank for customer"):
        Bank.open(home, "acme", create=False)
    assert not home.exists()


def test_a_closed_bank_says_so(filled):
    filled.close()
    with pytest.raises(BankError):
        filled.graph("vpn")


# -- forgetting -------------------------------------------------------------------------------------------------------

SECRET = "Xylophonkonzert"


@pytest.mark.parametrize("everything", [False, True])
def test_forgetting_leaves_no_byte_of_the_text(home, everything, snap):
    turns = [("user", f"{SECRET} in the mail"), ("agent", f"ask {SECRET}"), ("tool", f"log {SECRET}")]
    secret = conv("s1", 0.5, turns, requester=f"{SECRET}er", note=f"{SECRET} note")
    found = prop(
        f"{SECRET} symptom", f"{SECRET} cause", f"{SECRET} fix", failed=[f"{SECRET} try"], quote=f"{SECRET} in"
    )
    script = {"s1": [found, found], "c1": FOUND, "c2": FOUND}
    with Bank.open(home, "acme") as bank, Bank.open(home.parent / "fresh", "acme") as fresh:
        learn(bank, [conv("c1", 0), secret, conv("c2", 1)], extractor=Scripted(script), encoder=ENCODER)
        bank.decide(
            Decision("same", "vpn", "cause", f"{SECRET} cause", "blocked UDP 500"),
            Decision("rename", "vpn", "solution", f"{SECRET} fix", "a title"),
            Decision("rename", "vpn", "solution", "open the port", "open port 500"),
        )
        bank.graph("vpn")
        assert SECRET in snap(bank)
        assert any(SECRET.encode() in content for content in files(bank.path).values())
        assert forget(bank, None if everything else "s1") == (3 if everything else 1)
        assert not any(SECRET.encode() in content for content in files(bank.path).values())
        assert SECRET not in snap(bank)
        if not everything:
            fresh.decide(Decision("rename", "vpn", "solution", "open the port", "open port 500"))
            learn(fresh, [conv("c1", 0), conv("c2", 1)], extractor=Scripted(script), encoder=ENCODER)
        assert snap(bank) == snap(fresh)
    assert SECRET.encode() not in bank.path.read_bytes()


def test_a_correction_leaves_no_byte_of_what_it_removed(home):
    long = conv("c1", 0, [("user", f"the {SECRET} is broken"), ("user", "sorry, wrong ticket")])
    short = conv("c1", 0, [("user", "the mouse is broken")])
    script = Scripted({("c1", 2): prop(f"{SECRET} broken", "x is bad", "mend x"), ("c1", 1): prop("mouse broken")})
    with Bank.open(home, "acme") as bank:
        learn(bank, [long], extractor=script, encoder=ENCODER)
        learn(bank, [short], extractor=script, encoder=ENCODER)
        assert not any(SECRET.encode() in content for content in files(bank.path).values())


def test_a_raw_reply_that_could_not_be_read_is_forgotten_too(filled):
    from memlab.errors import ExtractionError

    error = ExtractionError("cut off")
    error.raw = f'{{"symptom": "{SECRET}'  # type: ignore[attr-defined]
    learn(filled, [conv("p1", 3)], extractor=Scripted({"p1": error}), encoder=ENCODER)
    assert SECRET in canonical_json(filled.export())
    forget(filled, "p1")
    assert not any(SECRET.encode() in content for content in files(filled.path).values())


def test_forgetting_needs_no_curator_to_erase(home):
    with Bank.open(home, "acme") as bank:
        curator = ScriptedCurator(lambda *_: Choice("add"))
        secret = prop(f"{SECRET} symptom", "a cause", "a fix", quote=f"{SECRET}")
        learn(bank, [conv("c1", 0), conv("c2", 1)], extractor=Scripted({"c1": secret, "c2": FOUND}), encoder=ENCODER, curator=curator)  # fmt: skip
        assert forget(bank, "c1") == 1
        assert not any(SECRET.encode() in content for content in files(bank.path).values())
        with pytest.raises(BankError, match="scripted-curator"):
            bank.graph("vpn")
        learn(bank, [], extractor=Scripted({}), encoder=ENCODER, curator=curator)
        assert bank.check(curator) == []
        assert bank.graph("vpn").conversations == ["c2"]


def test_vacuum_says_when_a_reader_keeps_the_journal(filled, monkeypatch):
    monkeypatch.setattr("memlab.bank.connection.PATIENCE", 0.1)
    with Bank.open(filled.path.parent, "acme") as writer, filled.reading():
        filled.rows("SELECT * FROM meta")
        writer.set_meta("probe", "1")
        with pytest.raises(BankError, match=r"another process is reading|locked"):
            writer.vacuum()


# -- export and import ------------------------------------------------------------------------------------------------


def test_what_is_exported_is_imported_to_the_same_bytes(filled, tmp_path, snap):
    filled.decide(Decision("rename", "vpn", "cause", "blocked UDP 500", "port 500 is blocked", run="r"))
    filled.configure("vpn", half_life_days=30, most_entries=40)
    path = tmp_path / "export.json"
    path.write_text(snap(filled), "utf-8")
    with import_bank(path, tmp_path / "there", customer="acme", encoder=ENCODER) as copy:
        assert snap(copy) == snap(filled)
        assert copy.check() == []
        again = learn(copy, [conv("c1", 0)], extractor=Scripted({"c1": FOUND}), encoder=ENCODER)
        assert again.unchanged == 1


def test_what_the_agent_remembers_goes_along(filled, tmp_path, snap):
    home, told = filled.path.parent, Telling(datetime(2026, 3, 2, 9, tzinfo=UTC), "c1", "user")
    fact = remembered("acme", "profile", "the printer is on floor 2", told)
    BankStore(home, encoder=ENCODER).add("acme", [fact])
    export = json.loads(snap(filled))
    assert export["truth"]["memories"][0][0] == fact.id
    with import_bank(export, tmp_path / "there", encoder=ENCODER) as copy:
        assert snap(copy) == snap(filled)
    moved = BankStore(tmp_path / "there", encoder=ENCODER)
    assert moved.all("acme") == [fact]
    assert moved.search("acme", "printer")[0][0] == fact
    export["truth"]["memories"][0][2]["customer"] = "globex"
    with pytest.raises(CustomerError, match="globex"):
        import_bank(export, tmp_path / "elsewhere", encoder=ENCODER)
    assert not (tmp_path / "elsewhere").exists() or not list((tmp_path / "elsewhere").iterdir())


def change(export: dict, path: str, value: object) -> dict:
    *way, last = path.split("/")
    place = export
    for key in way:
        place = place[int(key) if isinstance(place, list) else key]
    place[int(last) if isinstance(place, list) else last] = value
    return export


CHANGES = [
    ("derived/operations/vpn/0/text", "something else", BankFormatError, "operations/vpn"),
    ("derived/operations/vpn/0/reason", "because I say so", BankFormatError, "operations/vpn"),
    ("derived/graphs/vpn/entries/0/weight", 99.0, BankFormatError, "graphs/vpn"),
    ("derived/graphs/vpn/edges/0/evidence/0/verification", "inferred", BankFormatError, "graphs/vpn"),
    ("derived/vectors/0/2", "0" * 16, BankFormatError, "vectors"),
    ("derived/encoder", "another", BankFormatError, "encoder"),
    ("derived/curator", "somebody", BankError, "somebody"),
    ("truth/proposals/0/root_cause/text", "a forged cause", BankFormatError, "changed"),
    ("truth/proposals/0/resolution", "certainly", BankFormatError, "not an export"),
    ("truth/proposals/0/conversation", "c9", BankFormatError, "c9"),
    ("truth/conversations/0/started_at", "2026-03-02T09:00:00", BankFormatError, "no UTC offset"),
    ("truth/conversations/0/customer", "globex", CustomerError, "globex"),
    ("customer", "globex", CustomerError, "globex"),
    ("customer", "", CustomerError, "customer"),
    ("format", 99, BankFormatError, "99"),
    ("truth", {}, BankFormatError, "missing"),
    ("truth/decisions", [{"answer": "perhaps"}], InputError, "not a decision"),
]


@pytest.mark.parametrize(("path", "value", "error", "says"), CHANGES)
def test_a_changed_export_is_refused_and_leaves_nothing(filled, tmp_path, path, value, error, says):
    export = change(json.loads(canonical_json(filled.export())), path, value)
    with pytest.raises(error, match=says):
        import_bank(export, tmp_path / "there", customer="acme" if value != "" else None, encoder=ENCODER)
    assert not (tmp_path / "there").exists() or not list((tmp_path / "there").iterdir())


def test_an_import_goes_into_an_empty_bank_only(filled, tmp_path, snap):
    before, export = snap(filled), json.loads(snap(filled))
    with pytest.raises(BankError, match="not empty"):
        import_bank(export, filled.path.parent, encoder=ENCODER)
    assert snap(filled) == before
    with pytest.raises(CustomerError):
        import_bank(export, tmp_path / "there", customer="globex", encoder=ENCODER)
    forget(filled)
    with import_bank(export, filled.path.parent, encoder=ENCODER) as again:
        assert snap(again) == before


def test_rederive_takes_the_truth_and_this_encoders_vectors(filled, tmp_path):
    export = json.loads(canonical_json(filled.export()))
    other = HashEncoder("other", 32)
    with pytest.raises(BankFormatError, match="encoded with 'other' here"):
        import_bank(export, tmp_path / "there", encoder=other)
    with import_bank(export, tmp_path / "there", encoder=other, rederive=True) as copy:
        assert canonical_json(copy.export()["truth"]) == canonical_json(export["truth"])
        assert copy.check() == []


@pytest.mark.parametrize("text", ["", "[]", "not json", '"x"'])
def test_a_file_that_is_no_export_is_refused(tmp_path, text):
    path = tmp_path / "export.json"
    path.write_text(text, "utf-8")
    with pytest.raises(BankFormatError):
        import_bank(path, tmp_path, encoder=ENCODER)


def test_rebuilding_makes_the_same_again(filled, snap):
    before = snap(filled)
    with filled.transaction():
        for table in ("operations", "vectors", "texts", "heads"):
            filled._run(f"DELETE FROM {table}")
    assert filled.check() != []
    rebuild(filled, encoder=ENCODER)
    assert snap(filled) == before
    assert filled.check() == []


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("UPDATE operations SET body = replace(body, 'blocked', 'opened')", "operations differ"),
        ("UPDATE conversations SET body = replace(body, 'broken', 'mended') WHERE id = 'c1'", "not what was stored"),
        ("UPDATE conversations SET body = replace(body, 'acme', 'globex') WHERE id = 'c1'", "globex"),
        ("DELETE FROM conversations WHERE id = 'c1'", "unknown conversation c1"),
        ("DELETE FROM vectors", "no vector"),
        ("DELETE FROM operations WHERE step = 0", "operations differ"),
    ],
)
def test_check_finds_what_somebody_changed(filled, sql, says):
    assert filled.check() == []
    with filled.transaction():
        filled._run(sql)
    revision = filled.revision
    assert any(says in fault for fault in filled.check())
    assert filled.revision == revision


# -- one more conversation --------------------------------------------------------------------------------------------


@pytest.fixture
def counted(monkeypatch) -> list[str]:
    """The operations that are read back from the file."""
    read: list[str] = []
    operations = Bank.operations

    def spy(self, *arguments, **options):
        for op in operations(self, *arguments, **options):
            read.append(op.conversation)
            yield op

    monkeypatch.setattr(Bank, "operations", spy)
    return read


def test_one_more_conversation_reads_nothing_back(filled, counted):
    script = Scripted({f"n{n}": FOUND for n in range(5)})
    filled.graph("vpn")
    counted.clear()
    for n in range(5):
        learn(filled, [conv(f"n{n}", 5 + n)], extractor=script, encoder=ENCODER)
        filled.graph("vpn")
    assert counted == []
    learn(filled, [conv("late", 6.5)], extractor=Scripted({"late": FOUND}), encoder=ENCODER)
    assert counted == []  # it says nothing that was not in memory on day 6.5
    new = prop("VPN error 691", "wrong realm", "change the realm")
    learn(filled, [conv("new", 6.6)], extractor=Scripted({"new": new}), encoder=ENCODER)
    assert set(counted) == {"n2", "n3", "n4"}  # days 7, 8 and 9 come after day 6.5


def test_many_late_arrivals_are_curated_again_once(home):
    asked: list[str] = []
    curator = ScriptedCurator(lambda kind, text, _: asked.append(text) or Choice("add"))
    with Bank.open(home, "acme") as bank:
        pairs = {f"c{n}": prop(f"symptom number {n * 7919}") for n in range(20)}
        for half in (range(0, 20, 2), range(1, 20, 2)):
            learn(bank, [conv(f"c{n}", n) for n in half], extractor=Scripted(pairs), encoder=ENCODER, curator=curator)
    # Ten at first; then all after the first late one (c1 … c19) once.
    assert len(asked) == 10 + 19


def test_a_graph_that_was_handed_out_does_not_change(filled):
    graph = filled.graph("vpn")
    before = canonical_json(graph.to_json())
    learn(filled, [conv("c3", 5)], extractor=Scripted({"c3": FOUND}), encoder=ENCODER)
    forget(filled, "c1")
    assert canonical_json(graph.to_json()) == before


def test_settings_change_the_view_and_nothing_else(filled):
    old = conv("old", -365)
    learn(
        filled,
        [old],
        extractor=Scripted({"old": prop("beamer stays dark", "burnt lamp", "fit a bulb")}),
        encoder=ENCODER,
    )
    operations = list(filled.operations("vpn"))
    weights = []
    for days in (30, 120, 3650):
        filled.configure("vpn", half_life_days=days)
        graph = filled.graph("vpn")
        weights.append(next(graph.weight(e.id) for e in graph.entries.values() if e.title == "burnt lamp"))
        assert filled.graph("mail").rule.half_life_days == 120
    assert weights == sorted(weights)
    assert weights[0] < weights[2]
    filled.configure("vpn", half_life_days=None, most_entries=1)
    assert len(filled.graph("vpn").entries) >= 6  # two causes, each with its only symptom and its only solution
    assert list(filled.operations("vpn")) == operations
    for wrong in ({"half_life": 3}, {"half_life_days": 0}, {"most_entries": float("inf")}, {"half_life_days": -1}):
        with pytest.raises(InputError):
            filled.configure("vpn", **wrong)


def test_a_transaction_is_all_or_nothing_and_nests(filled, snap):
    before = snap(filled)
    with pytest.raises(ZeroDivisionError), filled.transaction():
        filled.drop("c1")
        with filled.transaction():
            filled.drop("c2")
        raise ZeroDivisionError
    assert snap(filled) == before


def test_a_bank_that_is_open_already_loses_no_lock_when_it_is_opened_again(tmp_path, monkeypatch):
    """Closing a file drops all of a process's locks on it (POSIX): nothing but SQLite may touch a bank that is open."""
    from memlab.bank import connection

    looked: list[Path] = []
    monkeypatch.setattr(connection, "inspect", looked.append)
    with Bank.open(tmp_path, "acme") as one:
        assert len(looked) == 1
        with Bank.open(tmp_path, "acme"):
            pass
        one.close()
    Bank.open(tmp_path, "acme").close()
    assert looked == [one.path, one.path]  # the first opening, and the one after all were closed
