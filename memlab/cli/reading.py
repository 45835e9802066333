"""What memory says: as a skill, for a query, from where, and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from memlab.cli.shared import (
    AT,
    CATEGORY,
    JSON,
    PATH,
    WHOSE,
    check_output,
    known_category,
    known_graph,
    open_bank,
    print_json,
    say,
    write_text,
)
from memlab.errors import InputError

__all__ = ["episodes", "graph", "recall", "skill", "why"]


@click.command()
@WHOSE
@CATEGORY
@click.option("--budget", default=800, show_default=True, help="The most tokens that the skill may take.")
@click.option(
    "--format", "format_", type=click.Choice(["md", "json", "html"]), default="md", show_default=True,
    help="SKILL.md within the budget, or everything as data or as a page.",
)  # fmt: skip
@AT
@click.option(
    "-o", "--output", type=PATH,
    help="A file (.md, .json, .html), or a folder for the skill with its references; default: stdout.",
)  # fmt: skip
@JSON
def skill(
    home: Path, customer: str, category: str, budget: int, format_: str, at: str | None, output: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Render a category's memory as an Agent Skill. Root causes in order of evidence, within a token budget."""
    from memlab.models.tokens import count_tokens
    from memlab.records import canonical_json
    from memlab.rendering import cause_cards, render_skill, skill_data, skill_name, skill_page, write_skill

    with open_bank(home, customer) as bank:
        view = known_graph(bank, category, at)
    folder = output is not None and not output.suffix and not output.is_file()
    if folder and format_ != "md":
        raise InputError(f"{output}: a folder holds SKILL.md; name a file for --format {format_}")
    if format_ == "md":
        text = render_skill(view, budget=budget)
    else:
        text = f"{canonical_json(skill_data(view))}\n" if format_ == "json" else skill_page(view)
    if output is not None and folder:
        output = write_skill(view, output, budget=budget)
    elif output is not None:
        write_text(output, text)
    if as_json:
        name = skill_name(customer, category)
        print_json({"name": name, "tokens": count_tokens(text), "skill": text, "causes": cause_cards(view)})
    elif output is None:
        click.echo(text, nl=False)
    else:
        click.echo(f"{output}: {count_tokens(text)} tokens" if format_ == "md" else f"{output}")


@click.command()
@click.argument("query", required=False)
@WHOSE
@click.option("--queries", type=PATH, help='JSON lines {"id", "query", "category"?} instead of a QUERY.')
@click.option("--category", help="Search this category only; default: the query's own, else all.")
@click.option("-k", default=3, show_default=True, help="The most root causes to show, at least 1.")
@click.option("--must", multiple=True, metavar="WORD", help="A word that must occur exactly, such as an error code.")
@click.option("--least", type=float, help="Show hits from this score on; default: the trained threshold, 0 for all.")
@AT
@JSON
def recall(
    query: str | None, home: Path, customer: str, queries: Path | None, category: str | None, k: int,
    must: tuple[str, ...], least: float | None, at: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Find the causes and fixes that fit a user's words. Best first, and nothing where nothing in memory fits."""
    from memlab.recalling import recall as search

    if k < 1:
        raise InputError(f"k must be at least 1, not {k}")
    if (query is None) == (queries is None):
        raise click.UsageError("give either QUERY or --queries FILE")
    asked = [_asked({"query": query})] if queries is None else _queries(queries, customer)
    with open_bank(home, customer) as bank:
        if category is not None:
            known_category(bank, category)
        known = {None, *bank.categories()}
        for row in asked:
            name = category or row["category"]
            # What a query itself says it is about may be something that this customer never had: no hits, no error.
            hits: list[Any] = []
            if name in known:
                hits = search(bank, row["query"], category=name, k=k, at=at, must=must, least=least)
            if as_json:
                print_json({"id": row["id"], "query": row["query"], "hits": [h.to_json() for h in hits]})
            else:
                _show_hits(row["query"], hits)


def _asked(row: Any) -> dict[str, Any]:
    from memlab.records import clean_text

    return {"id": row.get("id"), "query": clean_text(row["query"]), "category": row.get("category")}


def _queries(path: Path, customer: str) -> list[dict[str, Any]]:
    """The queries of this customer; a bad line is said, and the rest goes on."""
    from memlab.corpus.reading import Skipped, read_jsonl_objects

    if not path.is_file():
        raise InputError(f"{path}: no such file")
    rows, others, skipped = [], 0, list[str]()
    for item in read_jsonl_objects(path):
        if isinstance(item, Skipped):
            skipped.append(str(item))
            continue
        line, row = item
        if not isinstance(row.get("query"), str) or not row["query"].strip():
            skipped.append(f"{path}:{line}: query must be a non-empty text, not {row.get('query')!r}")
        elif not isinstance(row.get("category"), (str, type(None))):
            skipped.append(f"{path}:{line}: category must be a name or null, not {row['category']!r}")
        elif row.get("customer", customer) != customer:
            others += 1
        else:
            rows.append(_asked(row))
    if not rows:
        first = f"; {skipped[0]}" if skipped else ""
        raise InputError(f"{path}: no query for customer {customer!r} ({others} of other customers){first}")
    for text in skipped:
        say(f"skipped {text}")
    if others:
        say(f"passed by {others} queries of other customers")
    return rows


def _show_hits(query: str, hits: Sequence[Any]) -> None:
    click.echo(f"“{query}”")
    for number, hit in enumerate(hits, 1):
        n = len(hit.conversations)
        click.echo(f"{number}. {hit.root_cause}  (score {hit.score:.2f}, {n} conversation{'s' * (n != 1)})")
        click.echo(f"   {hit.reason}")
        for s in hit.solutions[:3]:
            click.echo(f"   {s.kind}: {s.text}  (worked {s.worked}, failed {s.failed})")
        if hit.failed:
            click.echo("   did not help: " + "; ".join(text for text, _ in hit.failed[:5]))
    if not hits:
        click.echo("nothing in memory fits")


@click.command()
@click.argument("query", required=False)
@WHOSE
@click.option("--category", help="Search this category only; default: all.")
@click.option("--conversation", help="Show the cases of this conversation instead of searching.")
@click.option(
    "--field", "fields", multiple=True, metavar="NAME=VALUE",
    help="Keep cases that match: code, version, device, environment, requester, resolution or day.",
)  # fmt: skip
@click.option("-k", default=3, show_default=True, help="The most cases to show, at least 1.")
@AT
@JSON
def episodes(
    query: str | None, home: Path, customer: str, category: str | None, conversation: str | None,
    fields: tuple[str, ...], k: int, at: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Find past cases with their steps. By meaning, words and fields; QUERY is what a user says."""
    from memlab.episodes import episodes as cases_of
    from memlab.recalling import search_episodes

    if k < 1:
        raise InputError(f"k must be at least 1, not {k}")
    if (query is None) == (conversation is None):
        raise click.UsageError("give either QUERY or --conversation ID")
    wanted = _fields(fields)
    with open_bank(home, customer) as bank:
        if category is not None:
            known_category(bank, category)
        if conversation is not None:
            found: list[dict[str, Any]] = [{"episode": e} for e in cases_of(bank, conversation)]
        else:
            hits = search_episodes(bank, str(query), category=category, k=k, at=at, fields=wanted)
            found = [{"episode": h.episode, "score": h.score, "snippet": h.snippet, "turn": h.turn} for h in hits]
    if as_json:
        print_json([{**row, "episode": row["episode"].to_json()} for row in found])
        return
    for row in found:
        click.echo(row["episode"].text())
        if "snippet" in row:
            click.echo(f"score {row['score']:.2f}, turn {row['turn']}: “{row['snippet']}”")
        click.echo()
    if not found:
        click.echo("no such case in memory")


def _fields(pairs: Sequence[str]) -> dict[str, str]:
    out = {}
    for pair in pairs:
        name, mark, value = pair.partition("=")
        if not mark or not value.strip():
            raise click.UsageError(f"--field takes NAME=VALUE, such as code=809, not {pair!r}")
        out[name.strip()] = value.strip()
    return out


@click.command()
@click.argument("entry")
@WHOSE
@click.option("--category", help="Look in this category only.")
@AT
@JSON
def why(entry: str, home: Path, customer: str, category: str | None, at: str | None, as_json: bool) -> None:
    """Show what an entry rests on. From ENTRY (id, title or wording) to evidence, quotes, operations and decisions."""
    from memlab.explaining import why as explain

    with open_bank(home, customer) as bank:
        if category is not None:
            known_category(bank, category)
        found = explain(bank, entry, category=category, at=at)
    if as_json:
        print_json(found)
        return
    for e in found:
        _show_entry(e)


def _show_entry(e: dict[str, Any]) -> None:
    click.echo(f"{e['kind']} {e['id']} in {e['category']}: {e['title']}  (weight {e['weight']:.2f})")
    for alias in e["aliases"]:
        click.echo(f"  also: {alias}")
    for item in e["evidence"]:
        click.echo(f"  {item['at'][:10]} {item['conversation']}: {item['verification']}")
        for q in item["quotes"]:
            click.echo(f"    turn {q['turn']}: “{' '.join(q['quote'].split())}”")
    for link in e["links"]:
        n = len(link["conversations"])
        click.echo(
            f"  link: {link['from']} → {link['to']}  (weight {link['weight']:.2f}, {n} conversation{'s' * (n != 1)})"
        )
        if "rate" in link:
            r = link["rate"]
            click.echo(
                f"    worked {r['worked']}, failed {r['failed']}: {r['mean']:.0%} ({r['low']:.0%} to {r['high']:.0%})"
            )
    for op in e["operations"]:
        click.echo(f"  {op['op']} by {op['conversation']}: “{op['text']}” — {op['reason']}")
    for d in e["decisions"]:
        click.echo(f"  a person said {d.answer}: {d.a}{' / ' + d.b if d.b else ''}")


@click.command()
@WHOSE
@click.option("--category", help="One IT category; without it a page (.html) of all, with a filter.")
@click.option("-o", "--output", type=PATH, required=True, help="An .html, .svg or .graphml file.")
@AT
@JSON
def graph(home: Path, customer: str, category: str | None, output: Path, at: str | None, as_json: bool) -> None:
    """Draw memory as one page. Symptoms → root causes → solutions, with a time slider."""
    from memlab.figures import graph_ml, graph_page, graph_svg

    ending = check_output(output).suffix.lower()
    if ending not in (".html", ".svg", ".graphml"):
        raise InputError(f"{output}: the name must end in .html, .svg or .graphml")
    if category is None and ending != ".html":
        raise click.UsageError(f"{output}: a still picture is of one category; give --category, or an .html file")
    with open_bank(home, customer) as bank:
        names = [category] if category else bank.categories()
        if not names:
            raise InputError(f"{home}: the memory of {customer!r} is empty; `memlab learn` fills it")
        views = [known_graph(bank, name, at) for name in names]
        if ending == ".html":
            text = graph_page(views, operations=[op for name in names for op in bank.operations(name)])
        else:
            text = graph_svg(views[0]) if ending == ".svg" else graph_ml(views[0])
    write_text(output, text)
    counts = {"entries": sum(len(v.entries) for v in views), "edges": sum(len(v.edges) for v in views)}
    summary = {"output": str(output), **counts}
    if as_json:
        print_json(summary)
    else:
        click.echo(f"{output}: {summary['entries']} entries, {summary['edges']} edges")
