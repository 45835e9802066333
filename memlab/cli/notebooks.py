"""Running notebooks, and verifying what they recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from memlab.cli.shared import JSON, PATH, print_json, say
from memlab.errors import InputError, RunError

__all__ = ["run", "verify"]


@click.command()
@click.argument("notebooks", nargs=-1, type=PATH)
@click.option(
    "-p", "--parameter", "parameters", nargs=2, multiple=True, metavar="NAME VALUE", help="Set a notebook's parameter."
)
@click.option("-f", "--file", "file", type=PATH, help="Parameters in a YAML file.")
@click.option("-o", "--output", default="runs/latest", show_default=True, type=PATH, help="Folder for the results.")
@JSON
def run(
    notebooks: Sequence[Path], parameters: Sequence[tuple[str, str]], file: Path | None, output: Path, as_json: bool
) -> None:
    """The main job: execute notebooks, write the report. By default all NOTEBOOKS of a clone."""
    from memlab.runs import load_parameter_file
    from memlab.runs import run as execute

    chosen = list(notebooks) or sorted(Path("notebooks").glob("[0-9][0-9]_*.ipynb"))
    if not chosen:
        raise InputError("no notebooks here; run from the root of a clone, or name notebook files")
    values = {**(load_parameter_file(file) if file else {}), **dict(parameters)}
    result = execute(chosen, parameters=values, output=output)
    if as_json:
        print_json(result.to_json())
        say(f"results: {result.folder}")
    else:
        click.echo(str(result))
        click.echo(f"results: {result.folder / 'results.json'}")
    failed = [n.name for n in result.notebooks if not n.ok]
    if not result.ok:
        raise RunError(f"{len(failed)} of {len(result.notebooks)} notebooks failed: {', '.join(failed)}")


@click.command()
@click.argument("directory", default="notebooks", type=PATH)
@JSON
def verify(directory: Path, as_json: bool) -> None:
    """Re-run notebooks and compare every recorded number. With the committed ones of DIRECTORY."""
    from memlab.runs import verify as check_all

    result = check_all(directory)
    if as_json:
        print_json(result.to_json())
    else:
        click.echo(str(result))
    if not result.ok:
        raise RunError(f"{directory}: the results differ from the committed ones")
