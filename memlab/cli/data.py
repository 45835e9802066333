"""`memlab data`: the state of a data set."""

from __future__ import annotations

from pathlib import Path

import click

from memlab.cli.shared import JSON, PATH, print_json, say, writing
from memlab.errors import InputError

__all__ = ["data"]


@click.group()
def data() -> None:
    """Check a data set."""


@data.command()
@click.argument("folder", default="datasets", type=PATH)
@click.option("--write-manifest", is_flag=True, help="List the files as they are now in manifest.json, then check.")
@JSON
def check(folder: Path, write_manifest: bool, as_json: bool) -> None:
    """Validate a data set. Schema, quotes, repeated wording, leaks between splits, agreement, manifest of FOLDER."""
    from memlab.corpus.check import check_corpus

    if write_manifest:
        _list_files(folder)
    report = check_corpus(folder)
    if as_json:
        print_json(report.to_json())
    else:
        click.echo(report.to_text())
    if not report.ok:
        found = {"problems": report.problems, "repeats": report.repeats, "leaks": report.leaks}
        counts = [f"{len(items)} {name}" for name, items in found.items() if items]
        if report.manifest:
            counts.append(f"{len(report.manifest)} files that differ from the manifest")
        raise InputError(f"{folder}: not ok: {', '.join(counts)}")


def _list_files(folder: Path) -> None:
    from memlab.corpus.check import write_manifest

    if not (folder / "support" / "conversations.jsonl").is_file():
        raise InputError(
            f"{folder}: no support/conversations.jsonl; the manifest goes into the folder that holds support/"
        )
    with writing(folder / "manifest.json"):
        say(f"wrote {write_manifest(folder)}")
