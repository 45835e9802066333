"""The loop as a picture: what each step makes of all conversations, and of one of them, with the words that it used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from memlab.bank import Bank
from memlab.errors import InputError
from memlab.figures.chart import Chart
from memlab.figures.style import COLUMNS as KINDS
from memlab.figures.style import DARK, FONT, LIGHT, Theme
from memlab.figures.text import one_line, shorten, text_width, xml_text
from memlab.graph import Entry, SkillGraph
from memlab.models.tokens import count_tokens
from memlab.operations import Operation
from memlab.records import Conversation, Proposal
from memlab.rendering import render_skill

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["COLUMNS", "pipeline_chart", "pipeline_frame"]

COLUMNS = ("step", "how", "count", "unit", "detail", "example")
WIDTH, MARGIN, GAP = 1040.0, 24.0, 56.0
TOP, COUNTS, LEAD, EXAMPLE = 64.0, 96.0, 46.0, 156.0
PAD, SIZE, LINE, MOST_LINES = 11.0, 11.5, 15.5, 8
BEFORE, AFTER = 40, 90  # characters of a turn shown around a quote


@dataclass(frozen=True, slots=True)
class _Example:
    """One conversation on its way through memory: what it said of the cause, and the entry that this became."""

    conversation: Conversation
    proposal: Proposal
    operation: Operation
    entry: Entry


def pipeline_frame(bank: Bank, category: str, *, conversation: str | None = None, budget: int = 500) -> pd.DataFrame:
    """What each step of the loop made of a category, in order: how much of it, and what became of one conversation.

    Parameters
    ----------
    bank : Bank
        Whose memory.
    category : str
        One that has learned something.
    conversation : str, optional
        The one to follow; by default the newest that speaks of the heaviest root cause.
    budget : int
        Tokens of the rendered skill.

    Returns
    -------
    pandas.DataFrame
        One row a step (conversations, proposals, operations, graph, skill): `step`, `how` (what leads to it), `count`
        and `unit`, `detail` (what it is made of), `example` (the same of the one conversation).

    Raises
    ------
    InputError
        If the category is empty, or the conversation states no root cause in it.
    """
    import pandas as pd

    graph, operations = bank.graph(category), list(bank.operations(category))
    proposals = [p for p in bank.proposals() if p.category == category]
    one = _example(bank, graph, operations, proposals, conversation)
    told = {p.conversation for p in proposals}
    conversations = [c for c in bank.conversations() if c.id in told]
    skill = render_skill(graph, budget=budget)
    rows = [
        ("conversations", "", len(conversations), "conversations", _turns(conversations), _said(one)),
        ("proposals", "extract", len(proposals), "proposals", _proposed(proposals), _stated(one)),
        ("operations", "curate", len(operations), "operations", _done(operations), _decided(one)),
        ("graph", "fold", len(graph.entries), "entries", _held(graph), _weighed(one, graph)),
        ("skill", "render", count_tokens(skill), "tokens", f"the budget is {budget}", _line_of(one, graph, skill)),
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _example(
    bank: Bank, graph: SkillGraph, operations: Sequence[Operation], proposals: Sequence[Proposal], name: str | None
) -> _Example:
    causes = [o for o in operations if o.kind == "cause" and o.changes_graph and o.stated and o.entry in graph.entries]
    chosen = [o for o in causes if name in (None, o.conversation)]
    if not chosen:
        what = f"conversation {name!r} states no root cause" if name else "memory holds no root cause"
        raise InputError(f"{what} in {bank.customer}/{graph.category}; learn some conversations, or name another one")
    best = max(chosen, key=lambda o: (graph.weight(o.entry), o.entry, o.at, o.conversation))
    found = bank.conversation(best.conversation)
    mine = [p for p in proposals if (p.conversation, p.case) == (best.conversation, best.case)]
    if found is None or not mine:
        raise InputError(f"{bank.customer}/{graph.category}: nothing was read out of conversation {best.conversation}")
    return _Example(found, mine[0], best, graph.entries[best.entry])


def _counted(counts: Sequence[tuple[int, str]]) -> str:
    return ", ".join(f"{n} {what}" for n, what in counts if n)


def _turns(conversations: Sequence[Conversation]) -> str:
    first, last = (f(c.started_at for c in conversations).date().isoformat() for f in (min, max))
    return f"{sum(len(c.turns) for c in conversations)} turns, {first} to {last}"


def _said(one: _Example) -> str:
    turn = one.conversation.turns[one.operation.turn]
    return f"{one.conversation.id}, turn {one.operation.turn}, {turn.role}: “{_around(turn.text, one.operation.quote)}”"


def _around(text: str, quote: str) -> str:
    """The quote with what the turn says around it, whole words."""
    at = max(0, text.find(quote))
    start = text.rfind(" ", 0, max(0, at - BEFORE)) + 1 if at > BEFORE else 0
    end = text.find(" ", at + max(len(quote), AFTER))
    return f"{'…' if start else ''}{one_line(text[start : end if end >= 0 else None])}{'…' if end >= 0 else ''}"


def _proposed(proposals: Sequence[Proposal]) -> str:
    parts = [
        (sum(len(p.symptoms) for p in proposals), "symptoms"),
        (sum(p.root_cause is not None for p in proposals), "causes"),
        (sum(len(p.attempts) for p in proposals), "attempts"),
        (sum(p.solution is not None for p in proposals), "solutions"),
    ]
    return _counted(parts)


def _stated(one: _Example) -> str:
    p = one.proposal
    solution = f"; {p.solution.kind}: {one_line(p.solution.text)}" if p.solution else ""
    cause = p.root_cause.text if p.root_cause else one.operation.text
    return f"{p.resolution}; cause: {one_line(cause)}{solution}"


def _done(operations: Sequence[Operation]) -> str:
    counts = Counter(o.op for o in operations)
    return _counted([(counts[op], op) for op in ("add", "edit", "reinforce", "reject")])


def _decided(one: _Example) -> str:
    near = f", beside “{one_line(one.operation.near)}”" if one.operation.near else ""
    return f"{one.operation.op} the cause: {one_line(one.operation.reason)}{near}"


def _held(graph: SkillGraph) -> str:
    counts = Counter(e.kind for e in graph.entries.values())
    parts = [(counts[kind], f"{kind}s") for kind in KINDS]
    return _counted([*parts, (len(graph.edges), "links")])


def _weighed(one: _Example, graph: SkillGraph) -> str:
    weight, n = graph.weight(one.entry.id), len(one.entry.evidence)
    conversations = "1 conversation" if n == 1 else f"{n} conversations"
    return f"{one_line(one.entry.title)}: weight {weight:.2f} on {graph.at.date().isoformat()}, from {conversations}"


def _line_of(one: _Example, graph: SkillGraph, skill: str) -> str:
    """Where the entry stands in the skill: the first line that begins as its title does."""
    place = [e.id for e in graph.of_kind("cause")].index(one.entry.id) + 1
    lines = [line.strip() for line in skill.splitlines()]
    found = next((line for line in lines if line.startswith(f"{place}. ")), "")
    return found or f"left out of this budget: it is number {place} by weight"


def pipeline_chart(
    bank: Bank, category: str, *, conversation: str | None = None, budget: int = 500, theme: str = "light"
) -> Chart:
    """The loop with this memory's numbers above, and one conversation on its way through it below.

    Parameters
    ----------
    bank, category, conversation, budget
        As for `pipeline_frame`.
    theme : {"light", "dark"}
        Colours.

    Raises
    ------
    InputError
        As `pipeline_frame`, or if the theme is unknown.
    """
    if theme not in ("light", "dark"):
        raise InputError(f"theme must be light or dark, not {theme!r}")
    frame = pipeline_frame(bank, category, conversation=conversation, budget=budget)
    title = f"From conversations to a skill: {xml_text(bank.customer)} / {xml_text(category)}"
    alt = _words(frame)
    svg = "\n".join(_drawn(frame, title, alt, DARK if theme == "dark" else LIGHT)) + "\n"
    return Chart(title, alt, svg, frame)


def _words(frame: pd.DataFrame) -> str:
    """The numbers of all steps in a sentence."""
    steps = [
        f"{row['how']}: {row['count']} {row['unit']} ({row['detail']})".removeprefix(": ")
        for row in frame.to_dict("records")
    ]
    return xml_text(f"Five steps from left to right. {'; '.join(steps)}. Below, one conversation at each of them.")


def _drawn(frame: pd.DataFrame, title: str, alt: str, t: Theme) -> Iterator[str]:
    rows = frame.to_dict("records")
    width = (WIDTH - 2 * MARGIN - GAP * (len(rows) - 1)) / len(rows)
    height = TOP + COUNTS + LEAD + EXAMPLE + MARGIN
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {height:.0f}" width="{WIDTH:.0f}" '
        f'height="{height:.0f}" font-family={quoteattr(FONT)} font-size="{SIZE}">'
    )
    yield f"<title>{escape(title)}</title><desc>{escape(alt)}</desc>"
    yield f'<rect width="100%" height="100%" rx="10" fill="{t.paper}"/>'
    yield _text(MARGIN, 38, shorten(title, WIDTH - 2 * MARGIN, 19), t.ink, 'font-size="19" font-weight="600"')
    below = TOP + COUNTS + LEAD
    yield _text(MARGIN, below - 14, "One of these conversations, step by step", t.muted, 'font-size="13"')
    colours = (t.muted, t.symptom, t.accent, t.cause, t.solution)
    for n, (row, colour) in enumerate(zip(rows, colours, strict=True)):
        x = MARGIN + n * (width + GAP)
        yield from _box(x, TOP, width, COUNTS, colour, t)
        yield _text(x + PAD, TOP + 32, f"{row['count']:,}", t.ink, 'font-size="21" font-weight="600"')
        beside = x + PAD + text_width(f"{row['count']:,}", 21) + 6
        yield _text(beside, TOP + 32, str(row["unit"]), t.muted, 'font-size="12"')
        yield from _paragraph(x + PAD, TOP + 53, str(row["detail"]), width - 2 * PAD, 3, t.muted)
        yield from _box(x, below, width, EXAMPLE, colour, t)
        yield from _paragraph(x + PAD, below + 22, str(row["example"]), width - 2 * PAD, MOST_LINES, t.ink)
        if n:
            for y, verb in ((TOP + COUNTS / 2, str(row["how"])), (below + EXAMPLE / 2, "")):
                yield from _arrow(x - GAP + 6, x - 6, y, verb, t)
    yield "</svg>"


def _box(x: float, y: float, width: float, height: float, colour: str, t: Theme) -> Iterator[str]:
    box = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="7"'
    yield f'<rect {box} fill="{t.surface}" stroke="{t.line}"/>'
    yield f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="4" rx="2" fill="{colour}"/>'


def _arrow(a: float, b: float, y: float, verb: str, t: Theme) -> Iterator[str]:
    yield f'<path d="M{a:.1f} {y:.1f}H{b - 6:.1f}" stroke="{t.muted}" stroke-width="1.6"/>'
    yield f'<path d="M{b:.1f} {y:.1f}l-8 -4.5v9z" fill="{t.muted}"/>'
    if verb:
        yield _text((a + b) / 2, y - 9, verb, t.ink, 'text-anchor="middle" font-weight="600"')


def _paragraph(x: float, y: float, text: str, width: float, most: int, fill: str) -> Iterator[str]:
    for n, line in enumerate(_broken(xml_text(one_line(text)), width, most)):
        yield _text(x, y + n * LINE, line, fill)


def _broken(text: str, width: float, most: int) -> list[str]:
    """The text in at most so many lines that fit; what is left over ends in an ellipsis, a long word is cut.

    >>> _broken("one two three", text_width("one two", 11.5), 2)
    ['one two', 'three']
    """
    words, lines = text.split(" "), list[str]()
    while words and len(lines) < most:
        line = words.pop(0)
        while words and text_width(f"{line} {words[0]}", SIZE) <= width:
            line = f"{line} {words.pop(0)}"
        last = len(lines) == most - 1 and words
        lines.append(shorten(f"{line} {words[0]}" if last else line, width, SIZE))
    return lines


def _text(x: float, y: float, text: str, fill: str, attributes: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{fill}" {attributes}>{escape(text)}</text>'
