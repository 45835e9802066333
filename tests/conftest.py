"""Fixtures of all tests; the parts that they are made of are in `scripted.py`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent))

from scripted import HashEncoder, Scripted

from memlab.bank import Bank
from memlab.learning import LearnReport, learn
from memlab.records import canonical_json

# The same examples on every run, and no failure only because a machine is busy.
settings.register_profile("memlab", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("memlab")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty folder for banks."""
    return tmp_path / "memory"


@pytest.fixture(scope="session")
def encoder() -> HashEncoder:
    """A tiny encoder that needs no model."""
    return HashEncoder()


@pytest.fixture
def bank(home: Path) -> Iterator[Bank]:
    """An empty bank of customer acme."""
    with Bank.open(home, "acme") as opened:
        yield opened


@pytest.fixture
def open_bank(tmp_path: Path) -> Iterator[Callable[..., Bank]]:
    """Opens banks, each in a folder of its own unless one is named, and closes them at the end."""
    opened: list[Bank] = []

    def make(customer: str = "acme", *, home: Path | None = None) -> Bank:
        opened.append(Bank.open(home or tmp_path / f"home-{len(opened)}", customer))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


@pytest.fixture
def teach(encoder: HashEncoder) -> Callable[..., LearnReport]:
    """Learn conversations with scripted proposals, given as pairs or as conversations and a script."""

    def run(bank: Bank, pairs: object, **options: object) -> LearnReport:
        pairs = list(pairs)
        script = {(c.id, len(c.turns)): p for c, p in pairs}
        options.setdefault("extractor", Scripted(script))
        options.setdefault("encoder", encoder)
        return learn(bank, [c for c, _ in pairs], **options)

    return run


@pytest.fixture(scope="session")
def snap() -> Callable[[Bank], str]:
    """The canonical bytes of everything in a bank."""
    return lambda bank: canonical_json(bank.export())
