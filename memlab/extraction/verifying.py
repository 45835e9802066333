"""From what a model replied to what the conversation supports: a claim without a quote is dropped and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from memlab.extraction.quotes import Place, find_quote, gives_orders, invented_numbers
from memlab.extraction.schema import AttemptReply, IssueReply, ItemReply
from memlab.records import Attempt, Conversation, Mention, Outcome, Proposal, Resolution, Solution

__all__ = ["OTHER", "Verifier"]

OTHER = "other"


@dataclass(slots=True)
class Verifier:
    """Checks the issues of one conversation.

    Attributes
    ----------
    conversation : Conversation
        What the quotes must stand in.
    categories : sequence of str
        The only categories that a reply may give; a category that the conversation came with is kept.
    dropped : Counter
        Why items were dropped or toned down, and how many.
    kept : int
        Items that a quote supports.
    earlier : int
        How many issues earlier parts of the conversation gave, for this one to continue.
    """

    conversation: Conversation
    categories: Sequence[str]
    dropped: Counter[str] = field(default_factory=Counter)
    kept: int = 0
    earlier: int = 0

    def proposal(self, issue: IssueReply) -> Proposal | None:
        """What the conversation supports of an issue; None if that is nothing."""
        symptoms, facts = self._mentions(issue.symptoms), self._mentions(issue.facts)
        cause = self._mention(issue.root_cause) if issue.root_cause else None
        attempts = tuple(a for a in map(self._attempt, issue.attempts) if a is not None)
        solution, resolution = self._solution(issue), self._resolution(issue)
        # An issue of an earlier part may only have been confirmed in this one.
        known = issue.continues is not None and 1 <= issue.continues <= self.earlier
        ends = known and resolution in ("confirmed", "inferred")
        if not (symptoms or facts or cause or attempts or solution or ends):
            return None
        return Proposal(
            conversation=self.conversation.id,
            category=self.category(issue.category),
            symptoms=symptoms,
            root_cause=cause,
            attempts=attempts,
            solution=solution,
            resolution=resolution,
            facts=facts,
        )

    def category(self, given: str) -> str:
        """The conversation's own category, else the given one if it is allowed, else "other"."""
        if self.conversation.category is not None:
            return self.conversation.category
        folded = {c.casefold(): c for c in self.categories}
        return folded.get(given.strip().casefold(), OTHER)

    def _mentions(self, items: Sequence[ItemReply]) -> tuple[Mention, ...]:
        found = (self._mention(item) for item in items)
        return tuple(dict.fromkeys(m for m in found if m is not None))

    def _mention(self, item: ItemReply) -> Mention | None:
        place = self._supported(item.text, item.turn, item.quote)
        return Mention(item.text, place[0], self._words(place)) if place else None

    def _supported(self, text: str, turn: int, quote: str) -> Place | None:
        """Where an item's quote stands; None, counted, if nowhere, or if it is no evidence."""
        place = find_quote(self.conversation, turn, quote)
        if place is None:
            self.dropped["quote not in the conversation"] += 1
        elif gives_orders(self._words(place)) or gives_orders(text):
            self.dropped["text that gives orders"] += 1
        elif invented_numbers(text, self.conversation):
            self.dropped["number that the conversation does not say"] += 1
        else:
            self.kept += 1
            if place[0] != turn:
                self.dropped["turn corrected"] += 1
            return place
        return None

    def _words(self, place: Place) -> str:
        turn, start, end = place
        return self.conversation.turns[turn].text[start:end]

    def _shown_by(self, turn: int | None, quote: str | None) -> str | None:
        """Who shows an outcome: "user" or "tool"; None for the agent, whose word is a claim, and for no one."""
        place = find_quote(self.conversation, turn, quote)
        if place is None or gives_orders(self._words(place)):
            return None
        role = self.conversation.turns[place[0]].role
        return role if role != "agent" else None

    def _attempt(self, a: AttemptReply) -> Attempt | None:
        place = self._supported(a.action, a.turn, a.quote)
        if place is None:
            return None
        said_by = self.conversation.turns[place[0]].role
        by = a.by if a.by in ("user", "agent") else ("user" if said_by == "user" else "agent")
        shown = said_by if said_by != "agent" else self._shown_by(a.outcome_turn, a.outcome_quote)
        if by == "user" and shown is None:
            self.kept -= 1
            self.dropped["advice that nobody is seen to follow"] += 1
            return None
        outcome: Outcome = a.outcome
        if outcome in ("worked", "partial") and shown is None:
            self.dropped["success that only the agent claims"] += 1
            outcome = "unknown"
        return Attempt(a.action, outcome, "user" if by == "user" else "agent", place[0], self._words(place))

    def _resolution(self, issue: IssueReply) -> Resolution:
        """Never better than the quote behind it: the user's word confirms, a tool's shows, the agent's is a claim."""
        if issue.resolution not in ("confirmed", "inferred"):
            return issue.resolution
        shown = self._shown_by(issue.resolution_turn, issue.resolution_quote)
        if shown is None:
            self.dropped["resolution that no user or tool shows"] += 1
            return "unresolved"
        return "confirmed" if shown == "user" and issue.resolution == "confirmed" else "inferred"

    def _solution(self, issue: IssueReply) -> Solution | None:
        s = issue.solution
        place = self._supported(s.text, s.turn, s.quote) if s else None
        return Solution(s.text, place[0], self._words(place), s.kind) if s and place else None
