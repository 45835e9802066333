"""One message of a customer: heard, recalled, answered and learned, as a pure step from memories to memories."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memlab.agent.hearing import Heard, hear, retold, transcript_of
from memlab.agent.knowledge import sources_of
from memlab.agent.meaning import likeness
from memlab.agent.planning import Plan, Situation, planned, style_of
from memlab.agent.recalling import recalled
from memlab.agent.records import Memory, Telling, in_order, merged
from memlab.agent.remembering import (
    SAME_STEP,
    Likeness,
    attempt_of,
    current_incident,
    learned_from,
    steps_of,
)
from memlab.agent.replies import Recalled, Reply, Source, Tokens
from memlab.agent.saying import said
from memlab.agent.verdicts import is_bare
from memlab.agent.writing import Writer, within_budget
from memlab.bank import Bank
from memlab.errors import ExtractionError, ModelError
from memlab.extraction import Extractor
from memlab.models.embeddings import Encoder
from memlab.models.tokens import count_tokens

__all__ = ["Limits", "Message", "Mind"]

Search = Callable[[str], Mapping[str, float]]  # a query to similarities by memory id


@dataclass(frozen=True, slots=True)
class Message:
    """What a customer wrote, where and when."""

    customer: str
    text: str
    conversation: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Limits:
    """The most words of a reply, tokens of recalled history, and memories recalled."""

    words: int = 120
    budget: int = 2048
    most: int = 5


class Mind:
    """How the agent reads, recalls and answers. It holds no memory: that is given, and what is new is given back.

    Parameters
    ----------
    extractor : Extractor
        Reads messages.
    encoder : Encoder
        Sentence vectors.
    writer : Writer, optional
        The model that writes the answers.
    limits : Limits
        Of replies and recall.
    """

    def __init__(
        self, extractor: Extractor, encoder: Encoder, *, writer: Writer | None = None, limits: Limits = Limits()
    ) -> None:
        self.extractor, self.encoder, self.writer, self.limits = extractor, encoder, writer, limits
        self.like: Likeness = likeness(encoder)

    def hear(self, message: Message, memories: Sequence[Memory]) -> Heard:
        """What a message tells, read as the next turn of the open incident."""
        incident = current_incident(memories, message.conversation)
        heard = hear(
            message.text,
            customer=message.customer,
            conversation=message.conversation,
            at=message.at,
            extractor=self.extractor,
            before=transcript_of(memories, incident.id if incident else None),
            steps=steps_of(memories, incident),
        )
        return retold(heard, [t for m in memories if m.kind == "incident" for t in (m.text, *m.symptoms)], self.like)

    def learn(
        self, message: Message, heard: Heard, memories: Sequence[Memory], hits: Sequence[Recalled] = ()
    ) -> tuple[list[Memory], Memory | None]:
        """What a message adds to memory, and its incident; see `learned_from`."""
        return learned_from(
            heard,
            memories,
            customer=message.customer,
            conversation=message.conversation,
            at=message.at,
            like=self.like,
            answered=heard.question and _knows_a_fix(hits),
        )

    def recall(
        self, message: Message, heard: Heard, memories: Sequence[Memory], search: Search
    ) -> tuple[Recalled, ...]:
        """What fits a message, best first; one that only speaks of the open incident recalls what fits that.

        The incident that is being told of is no history yet, but the steps against it are.
        """
        incident = current_incident(memories, message.conversation)
        here = incident if incident is not None and message.conversation in incident.conversations else None
        if not any(m.kind != "profile" and m is not here for m in memories):
            return ()
        about = not heard.symptoms and (heard.steps or heard.verdict or heard.judged or is_bare(heard.text))
        found: dict[str, Recalled] = {}
        for query in (message.text, *([incident.text] if incident and about else [])):
            hits = recalled(query, memories, search(query), same=self.same, at=message.at, most=self.limits.most + 1)
            for hit in hits:
                if hit.memory not in found or hit.score > found[hit.memory].score:
                    found[hit.memory] = hit
        best = [r for r in found.values() if here is None or r.memory != here.id]
        best.sort(key=lambda r: (-r.score, -r.at.timestamp(), r.memory))
        return tuple(best[: self.limits.most])

    def answer(
        self, message: Message, memories: Sequence[Memory], search: Search | None, bank: Bank | None
    ) -> tuple[Reply, list[Memory]]:
        """The reply to a message, and what is to be added to memory.

        Parameters
        ----------
        message : Message
            What the customer wrote.
        memories : sequence of Memory
            All of this customer's; recall sees these and not the message.
        search : callable, optional
            Similarities of memories to a query; None means that memory is off.
        bank : Bank, optional
            Past conversations of the customer's organisation, asked where the own history knows no fix.
        """
        heard = self.hear(message, memories)
        hits = self.recall(message, heard, memories, search) if search else ()
        hits, context = within_budget(hits, self.limits.budget)
        learned, incident = self.learn(message, heard, memories, hits)
        now = self._situation(message, heard, memories, learned, incident, hits, bank, on=search is not None)
        plan = planned(now, self.like)
        reply = self._reply(message, now, plan, memories)
        reply = dataclasses.replace(
            reply, tokens=dataclasses.replace(reply.tokens, context=context, budget=self.limits.budget)
        )
        return reply, [*learned, *self._proposals(message, reply, plan, now)]

    def same(self, a: str, b: str) -> bool:
        """Whether two wordings are one step."""
        return self.like(a, b) >= SAME_STEP

    def _situation(
        self,
        message: Message,
        heard: Heard,
        memories: Sequence[Memory],
        learned: Sequence[Memory],
        incident: Memory | None,
        hits: tuple[Recalled, ...],
        bank: Bank | None,
        *,
        on: bool,
    ) -> Situation:
        after = {m.id: m for m in memories}
        for m in learned:
            after[m.id] = merged(after[m.id], m) if m.id in after else m
        if incident is not None:
            incident = after.get(incident.id, incident)
        return Situation(
            heard=heard,
            recalled=hits,
            sources=self._sources(message, heard, incident, hits, bank),
            incident=incident,
            tried=tuple(steps_of(list(after.values()), incident)),
            profile=tuple(in_order(m for m in after.values() if m.kind == "profile")),
            memory=on,
            learned=tuple(after[m.id] for m in learned),
        )

    def _reply(self, message: Message, now: Situation, plan: Plan, memories: Sequence[Memory]) -> Reply:
        """The text by the model if there is one, else, or when it fails, by the script."""
        style = style_of(now.profile)
        text = said(plan, now, style=style, words=self.limits.words)
        reply = Reply(
            text=text,
            customer=message.customer,
            conversation=message.conversation,
            at=message.at,
            memory=now.memory,
            used=now.recalled,
            sources=now.sources,
            learned=now.learned if now.memory else (),
            returning=any(m.kind != "profile" and not m.proposed for m in memories),
            fixes=tuple(r.text for r in plan.fixes),
            failures=plan.failures,
            steps=plan.steps,
            asks=plan.asks,
            incident=now.incident.id if now.incident and now.memory else None,
            escalate=plan.escalate,
            why_escalate=plan.why,
            tokens=Tokens(reply=count_tokens(text)),
        )
        if self.writer is None:
            return reply
        try:
            written = self.writer.write(
                plan, now, customer=message.customer, style=style, words=self.limits.words, same=self.same
            )
        except (ModelError, ExtractionError) as error:
            return dataclasses.replace(reply, fallback=str(error))
        tokens = Tokens(reply=count_tokens(written.text), model_in=written.tokens_in, model_out=written.tokens_out)
        return dataclasses.replace(
            reply, text=written.text, steps=written.steps, asks=(), engine="model", tokens=tokens
        )

    def _sources(
        self, message: Message, heard: Heard, incident: Memory | None, hits: Sequence[Recalled], bank: Bank | None
    ) -> tuple[Source, ...]:
        """What the bank knows, where the own history leaves something to ask."""
        if bank is None or heard.solved or _knows_a_fix(hits) or not (incident or heard.question):
            return ()
        query = incident.text if incident and not heard.symptoms else message.text
        category = heard.category or (incident.category if incident else None)
        return sources_of(bank, query, category=category, at=message.at, encoder=self.encoder)

    def _proposals(self, message: Message, reply: Reply, plan: Plan, now: Situation) -> list[Memory]:
        """What the reply proposes, as the agent's claim: nobody has tried it."""
        incident = now.incident if now.incident and now.incident.open else None
        symptoms = () if incident else tuple(r.symptom for r in plan.fixes[:1])
        telling = Telling(message.at, message.conversation, "agent")
        return [
            attempt_of(
                message.customer,
                step,
                telling,
                memories=now.tried,
                incident=incident,
                like=self.like,
                symptoms=symptoms,
            )
            for step in reply.steps
        ]


def _knows_a_fix(hits: Sequence[Recalled]) -> bool:
    return any(r.outcome == "worked" and not r.contradicted for r in hits)
