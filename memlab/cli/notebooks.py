"""Running notebooks, once or over many values, verifying what they recorded, and the page over all runs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from memlab.cli.shared import JSON, PATH, options, print_json, say
from memlab.errors import InputError, RunError

__all__ = ["run", "runs", "verify"]

NOTEBOOKS = Path("notebooks")

JOBS = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    default=lambda: min(2, os.cpu_count() or 1),
    show_default="2, or as many as there are cores",
    help="Notebooks that run at a time; the numbers are the same.",
)
LIMITS = options(
    click.option("--timeout-cell", type=float, default=300.0, show_default=True, help="Seconds that a cell may take."),
    click.option(
        "--timeout-run", type=float, default=900.0, show_default=True, help="Seconds that a notebook may take."
    ),
)


@click.command()
@click.argument("notebooks", nargs=-1, type=PATH)
@click.option(
    "-p",
    "--parameter",
    "parameters",
    nargs=2,
    multiple=True,
    metavar="NAME VALUE",
    help="Set a notebook's parameter. Values with commas (30,90,365), or the option given again, make one run a value, "
    "unless the parameter is a list.",
)
@click.option("-f", "--file", "file", type=PATH, help="Parameters in a YAML file; -p goes before it.")
@click.option("-o", "--output", default="runs/latest", show_default=True, type=PATH, help="Folder for the results.")
@JOBS
@LIMITS
@click.option("--resume", is_flag=True, help="Keep what the folder holds already under the same sources and values.")
@click.option("--list", "listed", is_flag=True, help="Show the notebooks' parameters, and run nothing.")
@JSON
def run(
    notebooks: Sequence[Path], parameters: Sequence[tuple[str, str]], file: Path | None, output: Path, jobs: int,
    timeout_cell: float, timeout_run: float, resume: bool, listed: bool, as_json: bool,
) -> None:  # fmt: skip
    """The main job: execute notebooks, write the report. By default all NOTEBOOKS of a clone.

    NOTEBOOKS are files, folders, or the beginning of a name in notebooks/ (04). Names and types of parameters are
    checked before anything starts.
    """
    from memlab.runs import load_parameter_file
    from memlab.runs import run as execute
    from memlab.runs import sweep as execute_all

    chosen = _chosen(notebooks)
    if listed:
        _list_parameters(chosen, as_json)
        return
    values = {**(load_parameter_file(file) if file else {}), **_gathered(parameters)}
    shared: dict[str, Any] = {"timeout_cell": timeout_cell, "timeout_run": timeout_run, "jobs": jobs, "resume": resume}
    plain, many = _cases(chosen, values)
    if many:
        result = execute_all(chosen, parameters=values, output=output, **shared)
        _print(result, result.folder / "index.html", as_json)
        failed = [f"{r.folder.name}/{n.name}" for r in result for n in r.notebooks if not n.ok]
        total = sum(len(r.notebooks) for r in result)
    else:
        single = execute(chosen, parameters=plain, output=output, **shared)
        _print(single, single.folder / "results.json", as_json)
        failed, total = [n.name for n in single.notebooks if not n.ok], len(single.notebooks)
    if failed:
        raise RunError(f"{len(failed)} of {total} notebooks failed: {', '.join(failed)}")


@click.command()
@click.argument("notebooks", nargs=-1, type=PATH)
@JOBS
@LIMITS
@click.option(
    "--quick", is_flag=True, help="Run nothing: only check that sources, files and results are those that were run."
)
@JSON
def verify(
    notebooks: Sequence[Path], jobs: int, timeout_cell: float, timeout_run: float, quick: bool, as_json: bool
) -> None:
    """Re-run notebooks and compare every recorded number. With the committed ones, by default all in notebooks/.

    NOTEBOOKS are files, folders, or the beginning of a name in notebooks/ (04). Exit code 1 if a number differs by more
    than its notebook allows; what has changed since it was executed (prose, code, data, prompt, library, results) is
    named.
    """
    from memlab.runs import verify as check_all

    chosen = _chosen(notebooks, NOTEBOOKS)
    result = check_all(chosen, jobs=jobs, timeout_cell=timeout_cell, timeout_run=timeout_run, quick=quick)
    if as_json:
        print_json(result.to_json())
    else:
        click.echo(str(result))
    if not result.ok:
        raise RunError(f"{', '.join(map(str, notebooks)) or NOTEBOOKS}: the results differ from the committed ones")


@click.command()
@click.argument("folder", default="runs", type=PATH)
@JSON
def runs(folder: Path, as_json: bool) -> None:
    """List all runs below FOLDER, and write its index.html with their numbers side by side."""
    from memlab.runs.index import find_runs, write_index

    found = find_runs(folder)
    page = write_index(folder)
    if as_json:
        print_json({name: _brief(data) for name, data in found.items()})
    else:
        for name, data in found.items():
            brief = _brief(data)
            outcome = "ran" if brief["ok"] else f"FAILED: {', '.join(brief['failed'])}"
            click.echo(f"{name}: {brief['notebooks']} notebooks, {brief['numbers']} numbers, {outcome}")
    say(f"all runs: {page}")


def _brief(data: Mapping[str, Any]) -> dict[str, Any]:
    books = data["notebooks"]
    failed = [n for n, e in books.items() if not e["ok"]]
    numbers = sum(len(e["results"]) for e in books.values())
    return {"ok": data["ok"], "notebooks": len(books), "numbers": numbers, "failed": failed}


def _chosen(names: Sequence[Path], folder: Path | None = None) -> list[Path]:
    """The notebooks meant: paths as they are, else the one in notebooks/ whose name begins so; by default all there."""
    if not names:
        found = [folder] if folder else sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
        if not found:
            raise InputError("no notebooks here; run from the root of a clone, or name notebook files")
        return found
    return [_named(name) for name in names]


def _named(name: Path) -> Path:
    if name.exists() or name.suffix or len(name.parts) != 1:
        return name
    near = sorted(NOTEBOOKS.glob(f"{name}*.ipynb"))
    if len(near) > 1:
        raise InputError(f"{name} may mean {', '.join(p.stem for p in near)}; give more of the name")
    return near[0] if near else name


def _gathered(parameters: Sequence[tuple[str, str]]) -> dict[str, object]:
    """Values by name; an option that was given again makes a tuple of values."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in parameters:
        found[name] = (*found.get(name, ()), value)
    return {name: values if len(values) > 1 else values[0] for name, values in found.items()}


def _cases(chosen: Sequence[Path], values: Mapping[str, object]) -> tuple[dict[str, object], bool]:
    """The values of a single run, and whether there are several runs; nothing is started."""
    from memlab.runs.files import find_notebooks
    from memlab.runs.parameters import parameters_of
    from memlab.runs.planning import overrides_of, spread_cases, takers

    declared = {path: parameters_of(path) for path in find_notebooks(list(chosen))}
    found = spread_cases(declared, values)
    for case in found:
        overrides_of(declared, case)
    if len(found) > 1:
        swept = [n for n in values if len({str(case[n]) for case in found}) > 1]
        left_out = [p.stem for p in declared if p not in takers(declared, swept)]
        if left_out:
            say(f"left out, since they have no parameter {' or '.join(swept)}: {', '.join(left_out)}")
    return found[0], len(found) > 1


def _print(result: Any, place: Path, as_json: bool) -> None:
    if as_json:
        print_json(result.to_json())
        say(f"results: {result.folder}")
    else:
        click.echo(str(result))
        click.echo(f"results: {place}")


def _list_parameters(chosen: Sequence[Path], as_json: bool) -> None:
    from memlab.runs.files import find_notebooks
    from memlab.runs.parameters import parameters_of

    declared = {path: parameters_of(path) for path in find_notebooks(list(chosen))}
    if as_json:
        print_json({p.stem: [{"name": x.name, "type": x.type, "default": x.default, "help": x.help} for x in known]
                    for p, known in declared.items()})  # fmt: skip
        return
    for path, known in declared.items():
        click.echo(path.stem)
        for parameter in known:
            click.echo(f"  {parameter}")
