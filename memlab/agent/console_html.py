"""The console as HTML strings: pure functions of a session. What people wrote is always escaped (jinja's autoescape)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memlab.agent.records import Memory
from memlab.agent.replies import Reply
from memlab.agent.timeline import Timeline

if TYPE_CHECKING:
    from memlab.agent.console_session import Session

__all__ = ["controls_css", "session_html", "sides_html", "status_html", "timeline_html"]

_TEMPLATES = Path(__file__).parent / "templates"
_TITLES = {True: "Memory on", False: "Memory off"}
_NOTES = {True: "recalls and learns", False: "reads and writes nothing"}


def session_html(session: Session) -> str:
    """The whole session, static: both sides with what lies behind each reply, and the timeline."""
    return _page(columns=_columns(session), history=_history(session.timeline()), styled=True)


def sides_html(session: Session) -> str:
    """What was said, with memory on and off side by side."""
    return _page(columns=_columns(session))


def timeline_html(timeline: Timeline) -> str:
    """What is remembered of a customer."""
    return _page(history=_history(timeline))


def status_html(text: str, *, error: bool = False) -> str:
    """One line that says what happened; screen readers read it out."""
    return _page(status={"text": text, "error": error}, styled=True)


def controls_css() -> str:
    """The look of the widgets, above all a focus that can be seen."""
    return _file("controls.css")


@cache
def _file(name: str) -> str:
    return (_TEMPLATES / name).read_text("utf-8")


@cache
def _template() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("console.html.j2")


def _page(
    *,
    columns: Sequence[Mapping[str, Any]] = (),
    history: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    styled: bool = False,
) -> str:
    from markupsafe import Markup

    css = Markup(_file("console.css")) if styled else ""  # noqa: S704 - our own file
    text: str = _template().render(columns=columns, history=history, status=status, css=css)
    return text


def _columns(session: Session) -> list[dict[str, Any]]:
    return [
        {"title": _TITLES[memory], "note": _NOTES[memory], "items": [_item(i, memory) for i in session.seen(memory)]}
        for memory in session.shown
    ]


def _item(item: Any, memory: bool) -> dict[str, Any]:
    if isinstance(item, str):
        return {"event": item}
    reply = item.replies[memory]
    when = reply.at.isoformat(sep=" ", timespec="minutes")
    who = {"customer": reply.customer, "when": when, "conversation": reply.conversation}
    return {"event": "", "message": item.message, "reply": _reply(reply), **who}


def _reply(reply: Reply) -> dict[str, Any]:
    return {
        "text": reply.text,
        "memory": reply.memory,
        "returning": reply.returning,
        "summary": _summary(reply),
        "used": [
            {
                "text": r.text,
                "result": r.result,
                "day": r.at.date().isoformat(),
                "conversation": r.conversation,
                "score": f"{r.score:.2f}",
                "note": r.note,
                "reason": r.reason,
            }
            for r in reply.used
        ],
        "sources": [
            {"text": s.text, "kind": s.kind, "score": f"{s.score:.2f}", "reason": s.reason} for s in reply.sources
        ],
        "learned": [_told(m) for m in reply.learned],
        "escalate": reply.why_escalate if reply.escalate else "",
        "fallback": reply.fallback,
    }


def _summary(reply: Reply) -> str:
    if not reply.memory:
        return "nothing recalled, nothing learned"
    recalled = f"{len(reply.used) or 'nothing'} recalled"
    other = f", {len(reply.sources)} from other cases" if reply.sources else ""
    return f"{recalled}{other}, {len(reply.learned) or 'nothing'} learned, {reply.tokens.context} tokens of history"


def _told(memory: Memory) -> str:
    if memory.kind == "profile":
        return f"profile: {memory.text}"
    if memory.kind == "incident":
        return f"problem, {_result(memory)}: {memory.text}"
    against = f" (against: {'; '.join(memory.symptoms)})" if memory.symptoms else ""
    return f"step, {_result(memory)}: {memory.text}{against}"


def _result(memory: Memory) -> str:
    if memory.kind == "incident":
        words = {"worked": "solved", "failed": "closed without a fix", "partial": "partly solved", "unknown": "open"}
        return words[memory.outcome]
    return "proposed" if memory.proposed else memory.outcome


def _history(timeline: Timeline) -> dict[str, Any]:
    lines = [{**_line(incident), "steps": [_line(s) for s in steps]} for incident, steps in timeline.incidents]
    lines += [{**_line(m), "steps": []} for m in (*timeline.loose, *timeline.profile)]
    n = len(timeline)
    return {"customer": timeline.customer, "note": f"{n} memor{'y' if n == 1 else 'ies'}", "lines": lines}


def _line(memory: Memory) -> dict[str, Any]:
    kind = {"incident": "problem", "attempt": "step", "profile": "profile"}[memory.kind]
    result = "" if memory.kind == "profile" else _result(memory)
    return {"day": memory.at.date().isoformat(), "kind": kind, "text": memory.text, "result": result}
