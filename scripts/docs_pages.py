"""What mkdocs fills in while it builds: commands, fields of results.json, data card, figures.

Each is made from its only source (click, `memlab.runs.fields`, `datasets/support/README.md`, the figures that
scripts/figures.py drew), so that it can't go stale.

    mkdocs build
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parent.parent
_MARK = re.compile(r"^<!-- make: (\w+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """What mkdocs calls with the text of each page."""
    return fill(markdown)


def fill(markdown: str) -> str:
    """The text with every line ``<!-- make: NAME -->`` replaced by what it names."""
    return _MARK.sub(lambda mark: MAKERS[mark[1]](), markdown)


def commands() -> str:
    """Every command with its usage, help, arguments and options."""
    from memlab.cli import main

    return "\n".join(_command(main, "memlab"))


def _command(command: click.Command, path: str) -> Iterator[str]:
    context = click.Context(command, info_name=path)
    if isinstance(command, click.Group) and path != "memlab":
        yield f"\n## {path}\n\n{_help(command)}\n"
    if not isinstance(command, click.Group):
        level = "##" if path.count(" ") == 1 else "###"
        usage = " ".join(command.collect_usage_pieces(context))
        yield f"\n{level} {path}\n\n{_help(command)}\n\n```text\n{path} {usage}\n```\n"
        yield from _options(command, context)
        return
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        if child is not None and not child.hidden:
            yield from _command(child, f"{path} {name}")


def _help(command: click.Command) -> str:
    text = re.sub(r"\s*\n\s*", "\n", (command.help or "").strip())
    return text.replace("\n", " ")


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    rows = [row for p in command.params if isinstance(p, click.Option) and (row := p.get_help_record(context))]
    if rows:
        yield "| option | what it does |\n|---|---|"
        yield from (f"| `{' '.join(n.split())}` | {_cell(text)} |" for n, text in rows)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def fields() -> str:
    """The fields of results.json as a table."""
    from memlab.runs.fields import FIELDS

    rows = [f"| `{path}` | {_cell(sentence)} |" for path, sentence in FIELDS.items()]
    return "\n".join(["| field | meaning |", "|---|---|", *rows])


def data_card() -> str:
    """The datasheet of the corpus, one level of headings further down, its links shown as paths."""
    text = (ROOT / "datasets" / "support" / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"^(#+) ", r"#\1 ", text, flags=re.MULTILINE)
    return re.sub(r"\[([^\]]+)\]\((?!https?:|#)([^)]+)\)", r"\1 (`datasets/support/\2`)", text)


def laws_tests() -> str:
    """What tests/test_laws.py does: the steps of its random histories, and its single laws."""
    text = (ROOT / "tests" / "test_laws.py").read_text(encoding="utf-8")
    steps = re.findall(r"@rule\([^\n]*\)\n    def (\w+)", text) + re.findall(
        r"@rule\(\n(?:.*\n)*?    \)\n    def (\w+)", text
    )
    named = [s.replace("_", " ").strip() for s in sorted(set(steps))]
    laws = [f"- `{name}`" for name in re.findall(r"^def (test_law\w+)", text, re.MULTILINE)]
    start = (
        "A state machine plays random histories on a bank and, after every step, asks for a bank that equals, byte for "
        "byte, one that only ever saw what is left (laws 1, 2, 3, 4, 6, 8, 10). Its steps: "
    )
    return "\n".join([f"{start}{', '.join(named)}.", "", "Besides:", "", *laws])


def figure(name: str) -> str:
    """A figure that scripts/figures.py drew, with its description and, folded, its numbers."""
    told = json.loads((ROOT / "docs" / "figures.json").read_text(encoding="utf-8"))[name]
    head = "".join(f"<th>{html.escape(str(c))}</th>" for c in told["table"]["columns"])
    rows = "".join(
        f"<tr>{''.join(f'<td>{html.escape(str(v))}</td>' for v in row)}</tr>" for row in told["table"]["data"]
    )
    picture = f'<img src="{name}.svg" alt="{html.escape(told["alt"])}">'
    caption = f"<figcaption>{html.escape(told['title'])}</figcaption>"
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    folded = f"<details><summary>The numbers of this picture</summary>{table}</details>"
    return f"<figure>{picture}{caption}</figure>\n{folded}\n"


MAKERS: Mapping[str, Callable[[], str]] = {
    "commands": commands,
    "data_card": data_card,
    "fields": fields,
    "figure_memory": lambda: figure("memory"),
    "figure_pipeline": lambda: figure("pipeline"),
    "laws_tests": laws_tests,
}
