"""Memory for others: as tools of an agent (MCP), and as a page for people (Voilà)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from memlab.cli.shared import HOME, WHOSE, open_bank, say
from memlab.errors import InputError

__all__ = ["console", "mcp"]


@click.command()
@WHOSE
@click.option("--allow-report", is_flag=True, help="Also offer report_outcome, which writes; the default only reads.")
def mcp(home: Path, customer: str, allow_report: bool) -> None:
    """Offer one customer's memory to other agents. A Model Context Protocol server on standard input and output.

    Tools: recall, skill, episode and, if allowed, report_outcome. No call can name another customer.
    """
    from memlab.agent.mcp_server import serve
    from memlab.agent.stores import open_store

    with open_bank(home, customer) as bank:
        report = _reporter(home, customer) if allow_report else None
        serve(bank, store=open_store(home), report=report)


def _reporter(home: Path, customer: str) -> Any:
    """Stores a step as the calling agent's claim."""

    def report(*, problem: str, step: str, outcome: Any, conversation: str) -> str:
        from memlab.agent import SupportAgent

        agent = SupportAgent.open(home)
        memory = agent.report_step(
            customer, step, outcome=outcome, symptoms=[problem], by="agent", conversation=conversation
        )
        return (
            f"“{memory.text}” in {conversation}, as a claim: {outcome}; a person's or a tool's word makes it an outcome"
        )

    return report


@click.command(short_help="Open the support console in a browser.")
@HOME
@click.option("--port", default=8866, show_default=True, help="Port on 127.0.0.1.")
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open the page in a browser.")
def console(home: Path, port: int, browser: bool) -> None:
    """Open the support console: talk as a customer with memory on and off side by side. For this machine only."""
    from memlab.agent.console_page import serve_console

    if not home.is_dir():
        raise InputError(f"{home}: no such folder; `memlab learn --home {home}` makes one")
    say(f"the console runs on http://127.0.0.1:{port} until Ctrl-C")
    serve_console(home, port=port, browser=browser, environ=os.environ)
