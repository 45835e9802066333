"""The skill for programs and for people: as data, and as one HTML page without a request to anywhere."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from memlab.graph import SkillGraph
from memlab.records import canonical_json
from memlab.rendering.cards import cause_card, ordered_causes
from memlab.rendering.skill import description, skill_name

__all__ = ["skill_data", "skill_page"]


def skill_data(graph: SkillGraph) -> dict[str, Any]:
    """Everything that a skill can say, uncut, as plain values: name, description, moment, and all root causes."""
    cards = [cause_card(graph, cause) for cause in ordered_causes(graph)]
    return {
        "name": skill_name(graph.customer, graph.category),
        "description": description(graph),
        "customer": graph.customer,
        "category": graph.category,
        "at": graph.at.isoformat(),
        "conversations": len(graph.conversations),
        "causes": [{**json.loads(canonical_json(card)), "advice": card.advice} for card in cards],
    }


def skill_page(graph: SkillGraph) -> str:
    """One self-contained HTML page with all root causes; what people said is text on it, never markup."""
    from jinja2 import Environment

    template = (resources.files("memlab.rendering") / "templates" / "skill.html.j2").read_text("utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return environment.from_string(template).render(skill_data(graph))
