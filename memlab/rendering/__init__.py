"""Skills: a graph view as an Agent Skill within a token budget, as a folder with references, as data and as a page."""

from memlab.rendering.cards import CauseCard, SolutionCard, cause_card, cause_cards
from memlab.rendering.folder import skill_files, write_skill
from memlab.rendering.page import skill_data, skill_page
from memlab.rendering.skill import parse_causes, parse_skill, render_skill, skill_name
from memlab.rendering.text import escape, shorten, unescape

__all__ = [
    "CauseCard",
    "SolutionCard",
    "cause_card",
    "cause_cards",
    "escape",
    "parse_causes",
    "parse_skill",
    "render_skill",
    "shorten",
    "skill_data",
    "skill_files",
    "skill_name",
    "skill_page",
    "unescape",
    "write_skill",
]
