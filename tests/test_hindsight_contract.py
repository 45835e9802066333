"""The contract of every store, on Hindsight: always on a server in memory, and on a real one where there is one.

A real server: set HINDSIGHT_TEST_URL (and HINDSIGHT_TEST_KEY) of one that runs, or MEMLAB_TEST_HINDSIGHT=1 to have
`scripts/hindsight_server` install and start one, in the folder HINDSIGHT_TEST_HOME or a temporary one.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import test_agent_stores as contract
from hindsight_fake import KEY, faking

from memlab.agent.hindsight import HindsightStore
from memlab.records import content_hash

pytest.importorskip("hindsight_client", reason="the Hindsight client is not installed: pip install 'memlab[hindsight]'")
SCRIPT = Path(__file__).parents[1] / "scripts" / "hindsight_server"


def of_every_store(test: Callable[..., None]) -> bool:
    """A test of the contract, and not one of the file backends alone."""
    marks = getattr(test, "pytestmark", ())
    files_only = any(m.name == "parametrize" and m.args[0] == "backend" for m in marks)
    return "store" in inspect.signature(test).parameters and not files_only


for _name, _test in vars(contract).items():
    if _name.startswith("test_") and of_every_store(_test):
        globals()[_name] = _test


@pytest.fixture(scope="module")
def fake() -> Iterator[tuple[str, str]]:
    with faking() as server:
        yield server.url, KEY


@pytest.fixture(scope="module")
def real() -> Iterator[tuple[str, str]]:
    if url := os.environ.get("HINDSIGHT_TEST_URL"):
        yield url, os.environ.get("HINDSIGHT_TEST_KEY", "")
        return
    if os.environ.get("MEMLAB_TEST_HINDSIGHT") != "1":
        pytest.skip("no real Hindsight server: set HINDSIGHT_TEST_URL, or MEMLAB_TEST_HINDSIGHT=1 to start one")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # for the user who runs the database
        yield from started(os.environ.get("HINDSIGHT_TEST_HOME") or folder)


def started(home: str) -> Iterator[tuple[str, str]]:
    command = [sys.executable, str(SCRIPT), home, "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, "scripts/hindsight_server ended before it was ready"
        values = json.loads(line)
        yield values["HINDSIGHT_URL"], values["HINDSIGHT_API_KEY"]
    finally:
        process.terminate()
        process.wait(timeout=60)
        process.stdout.close()


@pytest.fixture(params=["fake", "real"])
def address(request: pytest.FixtureRequest) -> tuple[str, str]:
    found: tuple[str, str] = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def backend() -> str:
    return "hindsight"


@pytest.fixture
def store(address: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HindsightStore]:
    """Under a prefix of its own; the variables are for processes that a test starts."""
    prefix = f"test-{content_hash([str(tmp_path), os.getpid()], length=10)}"
    for name, value in zip(("HINDSIGHT_URL", "HINDSIGHT_API_KEY", "HINDSIGHT_BANK"), (*address, prefix), strict=True):
        monkeypatch.setenv(name, value)
    store = HindsightStore(address[0], api_key=address[1], prefix=prefix)
    yield store
    for customer in store.customers():
        store.forget(customer)
    store.close()


def test_it_is_the_contract_that_runs_here() -> None:
    names = {name for name in globals() if name.startswith("test_")}
    assert {"test_no_name_reads_anothers_memory", "test_threads_of_two_processes_lose_nothing_and_mix_nothing"} <= names


def test_what_is_stored_survives_the_way_there_and_back(store: HindsightStore) -> None:
    hard = [
        "😀",
        ".",
        "two sentences. And a line\nbreak",
        "ü" * 7000,
        "x " * 4000,
        '{"a": [1]}',
        "<img src=x onerror=alert(1)>",
    ]
    memories = [contract.step(text, days=n) for n, text in enumerate(hard)]
    store.add("acme", memories)
    assert store.all("acme") == memories
    assert {m.id for m, _ in store.search("acme", "anything at all", k=50)} == {m.id for m in memories}
