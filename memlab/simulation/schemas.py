"""The tools of the help desk as OpenAI tool schemas, and a call of one back as a step."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from memlab.simulation.trial import Step
from memlab.simulation.world import Tool, World

__all__ = ["step_of_call", "tool_call", "tool_schemas"]

_ENDS = {
    "close_case": ("close", "Close the case; the user has confirmed that it works", "message"),
    "hand_over": ("escalate", "Hand the case over to the specialists", "reason"),
}


def tool_schemas(world: World) -> list[dict[str, Any]]:
    """One function a reading, one a kind of action with its targets as an enum, and two that end the case.

    >>> from memlab.simulation.world import load_world
    >>> tool_schemas(load_world())[0]["function"]["name"]
    'read_audio'
    """
    out = [_function(t.name, _who(t), {}) for t in world.tools.values() if t.is_reading]
    targets: dict[str, list[Tool]] = defaultdict(list)
    for tool in world.tools.values():
        if not tool.is_reading:
            targets[tool.name.partition(".")[0]].append(tool)
    for family, tools in targets.items():
        meanings = "; ".join(f"{t.name.partition('.')[2]}: {t.does}" for t in tools)
        names = [t.name.partition(".")[2] for t in tools]
        out.append(
            _function(
                family, world.families[family], {"target": {"type": "string", "enum": names, "description": meanings}}
            )
        )
    for name, (_, does, field) in _ENDS.items():
        out.append(_function(name, does, {field: {"type": "string"}}))
    return out


def _who(tool: Tool) -> str:
    return f"{tool.does} ({'by the user' if tool.by == 'user' else 'remotely'}, about {tool.minutes:g} minutes)"


def _function(name: str, does: str, fields: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": does, "parameters": schema, "strict": True}}


def step_of_call(name: str, arguments: str, *, text: str = "") -> Step:
    """The step that a model's tool call asks for; what can't be read becomes a tool that does not exist.

    >>> step_of_call("restart", '{"target": "outlook"}').tool
    'restart.outlook'
    """
    try:
        values = json.loads(arguments or "{}")
    except ValueError:
        values = None
    if not isinstance(values, dict):
        return Step("use", text, f"{name} with arguments that are no JSON object")
    if name in _ENDS:
        kind, does, field = _ENDS[name]
        said = str(values.get(field) or text or does)
        return Step("close", said) if kind == "close" else Step("escalate", said)
    target = values.get("target")
    return Step("use", text, f"{name}.{target}" if target is not None else name)


def tool_call(tool: str, number: int) -> dict[str, Any]:
    """A step that was taken, as the call that a model would have made."""
    name, _, target = tool.partition(".")
    arguments = json.dumps({"target": target} if target else {})
    return {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
