"""`memlab compare`: two runs, two extractions or two rankings side by side, paired by case, with an exit code for CI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memlab.cli.shared import JSON, PATH, check_output, print_json, say, write_text
from memlab.errors import InputError

if TYPE_CHECKING:
    from memlab.runs.paired import Paired

__all__ = ["WORSE", "compare"]

WORSE = 3
"""Exit code of `--fail-if-worse`, so that CI tells a worse result from an error (1) and a wrong call (2)."""

CORPUS = Path("datasets/support")


@click.command()
@click.argument("a", type=PATH)
@click.argument("b", type=PATH)
@click.option("--labels", type=PATH, help=f"Gold labels, for files; default: {CORPUS}/labels.jsonl.")
@click.option("--conversations", type=PATH, help=f"For quotes in their turns; default: {CORPUS}/conversations.jsonl.")
@click.option(
    "--queries", type=PATH, help=f"What was asked, for two files of hits; default: {CORPUS}/paraphrases.jsonl."
)
@click.option("--field", "fields", multiple=True, help="Compare only this field of proposals; may be given again.")
@click.option(
    "--lower", multiple=True, metavar="NAME", help="A number for which a fall is good; * stands for any letters."
)
@click.option("--cassette-a", type=PATH, help="Recorded replies behind A, for its cost.")
@click.option("--cassette-b", type=PATH, help="Recorded replies behind B, for its cost.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the bootstrap and sampled permutations.")
@click.option("-o", "--output", type=PATH, help="Write a self-contained HTML page, too.")
@click.option(
    "--fail-if-worse", is_flag=True, help=f"Exit code {WORSE} if B is decisively worse in anything that was compared."
)
@JSON
@click.pass_context
def compare(
    ctx: click.Context, /, a: Path, b: Path, output: Path | None, fail_if_worse: bool, as_json: bool, **options: Any
) -> None:
    """Compare B with A, paired by case. Two run folders, two proposals files, or two files of recalled hits.

    Each number gets the difference, a 95 % interval, an exact test (McNemar, or sign flips), adjusted for all of them
    (Holm), and a text that says how far to trust it. Cases that flipped come worst first, with their quotes. Decisively
    worse means: the interval leaves out 0, and the adjusted p is below 0.05.
    """
    if output is not None:
        check_output(output)
    report = _compared(a, b, options)
    if output is not None:
        from memlab.runs.paired_page import compare_page

        write_text(output, compare_page(report))
    if as_json:
        print_json(report.to_json())
    else:
        click.echo(str(report))
    if output is not None:
        say(f"page: {output}")
    if fail_if_worse and report.worse:
        say(f"memlab: {report.b} is worse than {report.a} in {', '.join(report.worse)}")
        ctx.exit(WORSE)


def _compared(a: Path, b: Path, options: Mapping[str, Any]) -> Paired:
    if a.is_dir() != b.is_dir():
        raise InputError(f"{a} and {b}: compare two run folders, or two files")
    if a.is_dir():
        from memlab.runs.paired_runs import compare_runs

        _refuse(
            options, ("labels", "conversations", "queries", "fields", "cassette_a", "cassette_b"), "two run folders"
        )
        return compare_runs(a, b, lower=options["lower"], seed=options["seed"])
    from memlab.runs.paired_proposals import first_object

    hits = ["hits" in first_object(path) for path in (a, b)]
    if hits[0] != hits[1]:
        raise InputError(f"{a} and {b}: one holds recalled hits and the other does not; compare two of a kind")
    return _rankings(a, b, options) if hits[0] else _proposals(a, b, options)


def _refuse(options: Mapping[str, Any], names: Sequence[str], what: str) -> None:
    given = [n for n in names if options[n]]
    if given:
        raise click.UsageError(f"--{given[0].replace('_', '-').removesuffix('s')} says nothing about {what}")


def _proposals(a: Path, b: Path, options: Mapping[str, Any]) -> Paired:
    from memlab.evaluation import read_labels
    from memlab.runs.paired_proposals import compare_proposals, read_proposals

    _refuse(options, ("queries", "lower"), "proposals")
    labels = read_labels(options["labels"] or CORPUS / "labels.jsonl")
    return compare_proposals(
        read_proposals(a),
        read_proposals(b),
        labels,
        names=_names(a, b),
        conversations=_conversations(options["conversations"]),
        seed=options["seed"],
        costs=_costs(options),
        **({"fields": options["fields"]} if options["fields"] else {}),
    )


def _rankings(a: Path, b: Path, options: Mapping[str, Any]) -> Paired:
    from memlab.evaluation import gold_causes, read_labels, read_queries
    from memlab.runs.paired_rankings import compare_rankings

    _refuse(options, ("fields", "lower", "cassette_a", "cassette_b"), "recalled hits")
    conversations = _conversations(options["conversations"], needed=True)
    gold = gold_causes(read_labels(options["labels"] or CORPUS / "labels.jsonl"), conversations)
    queries = read_queries(options["queries"] or CORPUS / "paraphrases.jsonl")
    hits = [_hits(path) for path in (a, b)]
    return compare_rankings(hits[0], hits[1], queries, gold, names=_names(a, b), seed=options["seed"])


def _names(a: Path, b: Path) -> tuple[str, str]:
    return (a.stem, b.stem) if a.stem != b.stem else (str(a), str(b))


def _conversations(path: Path | None, *, needed: bool = False) -> list[Any]:
    from memlab.corpus import read_conversations

    source = path or CORPUS / "conversations.jsonl"
    return list(read_conversations(source)) if path or needed or source.is_file() else []


def _costs(options: Mapping[str, Any]) -> dict[str, str]:
    from memlab.models.cassette import Cassette
    from memlab.runs.paired_proposals import cost_of

    given = {side: options[f"cassette_{side.lower()}"] for side in "AB"}
    return {side: cost_of(Cassette(path)) for side, path in given.items() if path}


def _hits(path: Path) -> dict[str, Any]:
    from memlab.corpus.reading import Skipped, read_jsonl_objects

    found: dict[str, Any] = {}
    for item in read_jsonl_objects(path):
        if isinstance(item, Skipped):
            raise InputError(str(item))
        number, data = item
        if not isinstance(data.get("hits"), list) or not isinstance(data.get("id"), str):
            raise InputError(
                f"{path}:{number}: recalled hits have id and hits; `memlab recall --queries … --json` prints them"
            )
        found[data["id"]] = data["hits"]
    return found
