"""The formats that can be read, one file each; every reader is a function of a path and `Options`."""

from __future__ import annotations

from memlab.corpus.formats import (
    helpdesk,
    mail,
    openai_chat,
    servicenow,
    slack,
    state_bench,
    tables,
    tau2,
    teams,
    ubuntu_irc,
    xlsx,
    zendesk,
)
from memlab.corpus.reading import Reader

__all__ = ["FOLDERS", "FORMATS"]

FORMATS: dict[str, Reader] = {
    "csv": tables.read_csv,
    "helpdesk": helpdesk.read,
    "mail": mail.read,
    "openai": openai_chat.read,
    "parquet": tables.read_parquet,
    "servicenow": servicenow.read,
    "slack": slack.read,
    "state_bench": state_bench.read,
    "tau2": tau2.read,
    "teams": teams.read,
    "ubuntu_irc": ubuntu_irc.read,
    "xlsx": xlsx.read,
    "zendesk": zendesk.read,
}
FOLDERS = frozenset({"mail", "slack", "teams"})
