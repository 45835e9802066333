"""The prompted extractor: any chat model reads, and what no quote supports is dropped.

Each conversation is a request of its own, so that text in one can't change what is read from another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

from memlab.errors import ExtractionError, InputError, ModelError
from memlab.extraction.chunks import Chunk, chunks_of, lines_of, user_speaks
from memlab.extraction.merging import described, merged, settled
from memlab.extraction.schema import SCHEMA_NAME, parse_extraction, response_schema, unusable
from memlab.extraction.triage import shipped_categories
from memlab.extraction.verifying import OTHER, Verifier
from memlab.models.asking import Asker, Question
from memlab.models.cassette import Cassette
from memlab.models.chat import Chat
from memlab.models.prompts import fence
from memlab.models.usage import Estimate, estimate_tokens
from memlab.records import Conversation, Proposal, content_hash

__all__ = ["ExtractionReport", "PromptedExtractor"]

COMMAND = "memlab extract CONVERSATIONS -o PROPOSALS --extractor prompted"
TOKENS_OUT = 500  # expected of a reply, where no recorded ones tell


@dataclass(frozen=True, slots=True)
class ExtractionReport:
    """How a conversation was read.

    Attributes
    ----------
    chunks : tuple of (int, int)
        First and last turn of each part that was sent.
    calls, repaired : int
        Calls made (0 if all replies were recorded), and replies that had to be asked for again.
    kept : int
        Items that a quote supports.
    dropped : dict
        Why items were dropped, corrected or toned down, and how many.
    """

    chunks: tuple[tuple[int, int], ...] = ()
    calls: int = 0
    repaired: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Part:
    """What one part of a conversation gave: (number of the continued issue, proposal) pairs."""

    found: tuple[tuple[int | None, Proposal], ...]
    kept: int
    dropped: Counter[str]


class PromptedExtractor:
    """Reads with a chat model; threads may share one.

    Parameters
    ----------
    chat : Chat, optional
        The model. Without it only recorded replies are used.
    prompt : str or path
        A prompt by name, or a prompt file of your own.
    cassette : Cassette, optional
        Recorded replies.
    window_tokens : int
        Most tokens of conversation in one request (estimated); longer ones are read in parts.
    categories : sequence of str
        The only categories that may be given; "other" is always one.

    Attributes
    ----------
    reports : dict of (customer, conversation id) to ExtractionReport
        Of what was read so far.
    """

    def __init__(
        self,
        chat: Chat | None = None,
        *,
        prompt: str | Path = "extract",
        cassette: Cassette | None = None,
        window_tokens: int = 6000,
        categories: Sequence[str] | None = None,
    ) -> None:
        if window_tokens < 64:
            raise InputError(f"window_tokens must be at least 64, not {window_tokens}")
        self._categories = tuple(dict.fromkeys([*(categories or shipped_categories()), OTHER]))
        schema = response_schema(self._categories)
        self._asker = Asker(
            chat, cassette, prompt=prompt, schema=schema, schema_name=SCHEMA_NAME, command=COMMAND
        )  # fmt: skip
        self._window = window_tokens
        self._schema_tokens = estimate_tokens(str(schema))
        used = self._asker.prompt
        settings = content_hash([used.hash, schema, window_tokens], length=8)
        self.name = f"prompted/{used.id}/{self._asker.model}/{settings}"
        self.reports: dict[tuple[str, str], ExtractionReport] = {}

    def __repr__(self) -> str:
        return f"PromptedExtractor({self.name!r})"

    def extract(self, conversation: Conversation) -> Sequence[Proposal]:
        """One proposal an issue; a single empty one, marked, if there is nothing to learn.

        Raises
        ------
        ExtractionError
            If no usable reply could be had; `.raw` holds the last one, and nothing is half applied.
        ModelError
            If going on makes no sense: the key is refused, `max_cost` is reached, the endpoint is down.
        """
        chunks = self._chunks(conversation)
        if not chunks:
            self.reports[conversation.customer, conversation.id] = ExtractionReport()
            return [_empty(conversation)]
        issues: list[Proposal] = []
        parts: list[_Part] = []
        calls: list[int] = []
        for number, chunk in enumerate(chunks):
            question = self._question(conversation, chunk, issues, (number + 1, len(chunks)))
            try:
                answered = self._asker.ask(question, partial(self._read, conversation, len(issues)))
            except (ExtractionError, ModelError) as error:
                if self._asker.stopped and isinstance(error, ModelError):
                    raise
                raise unusable(f"{conversation.id}: {_part(number + 1, len(chunks))}{error}", error.raw) from error
            parts.append(answered.value)
            calls.append(answered.calls)
            issues = merged(issues, answered.value.found, chunk.repeated)
        proposals = settled(issues)
        self.reports[conversation.customer, conversation.id] = _report(chunks, parts, calls, issues, proposals)
        return proposals or [_empty(conversation)]

    def extract_all(
        self, conversations: Iterable[Conversation], *, progress: Callable[[int], None] | None = None
    ) -> Iterator[tuple[Conversation, Sequence[Proposal] | ExtractionError]]:
        """Read many, as many at a time as the chat allows, and give them back in the order given.

        Parameters
        ----------
        conversations : iterable of Conversation
            What to read. With a `max_cost` the estimate must not be above it.
        progress : callable, optional
            Called with the number read.

        Yields
        ------
        (Conversation, proposals or ExtractionError)
            A conversation that could not be read does not stop the others.

        Raises
        ------
        ModelError
            If the estimated cost is above `max_cost`, or going on makes no sense.
        """
        todo = list(conversations)
        self.check_cost(todo)
        chat = self._asker.chat
        width = chat.concurrency if chat else 1
        with ThreadPoolExecutor(width) as pool:
            waiting = iter(todo)
            running = [(c, pool.submit(self._try, c)) for c in islice(waiting, 2 * width)]
            done = 0
            try:
                while running:
                    conversation, future = running.pop(0)
                    yield conversation, future.result()
                    done += 1
                    if progress:
                        progress(done)
                    running += [(c, pool.submit(self._try, c)) for c in islice(waiting, 1)]
            finally:
                for _, future in running:
                    future.cancel()

    def _try(self, conversation: Conversation) -> Sequence[Proposal] | ExtractionError:
        try:
            return self.extract(conversation)
        except ExtractionError as error:
            return error

    # -- before it starts ----------------------------------------------------------------------------------------

    def estimate(self, conversations: Iterable[Conversation]) -> Estimate:
        """Calls, tokens and cost that reading these will take, without asking anything.

        Tokens are estimated from the length of the text and from earlier replies, with one repair in ten calls.
        """
        count = recorded = calls = sent = 0
        for conversation in conversations:
            todo = list(self._missing(conversation))
            count, recorded, calls = count + 1, recorded + int(not todo), calls + len(todo)
            sent += sum(todo)
        chat = self._asker.chat
        each = self._tokens_out()
        tokens = (sent + sent // 10, (calls + calls // 10) * each)
        price = chat.price if chat else None
        cost = 0.0 if calls == 0 else price.cost(*tokens) if price else None
        return Estimate(count, recorded, calls, *tokens, cost)

    def check_cost(self, conversations: Iterable[Conversation]) -> None:
        """Refuse to start what would cost more than the chat's `max_cost`.

        Raises
        ------
        ModelError
            If the estimate is above it.
        """
        chat = self._asker.chat
        if chat is None or chat.max_cost is None or not self._asker.asks:
            return
        estimate = self.estimate(conversations)
        if estimate.cost is not None and estimate.cost > chat.max_cost:
            raise ModelError(
                f"not started: {estimate.calls} calls are estimated to cost {estimate.cost:.4g}, "
                f"more than max_cost {chat.max_cost:g}"
            )

    def _missing(self, conversation: Conversation) -> Iterator[int]:
        """Tokens to send for each part that no recorded reply answers."""
        issues: list[Proposal] = []
        chunks = self._chunks(conversation)
        known = True
        for number, chunk in enumerate(chunks):
            question = self._question(conversation, chunk, issues, (number + 1, len(chunks)))
            reply = self._asker.recorded(question) if known else None
            try:
                part = self._read(conversation, len(issues), reply.text) if reply else None
            except ExtractionError:
                part = None
            if part is None:
                known = False  # what the next parts are asked depends on this reply
                yield sum(estimate_tokens(m["content"]) for m in question.messages) + self._schema_tokens
            else:
                issues = merged(issues, part.found, chunk.repeated)

    def _tokens_out(self) -> int:
        chat = self._asker.chat
        if chat is None or chat.usage.calls == chat.usage.unmetered:
            return TOKENS_OUT
        return max(1, chat.usage.tokens_out // (chat.usage.calls - chat.usage.unmetered))

    # -- one part ------------------------------------------------------------------------------------------------

    def _chunks(self, conversation: Conversation) -> list[Chunk]:
        """The parts to send; none if nothing in it can be evidence."""
        lines = lines_of(conversation)
        if conversation.metadata.get("derived_from") or not user_speaks(lines):
            return []
        return chunks_of(lines, self._window)

    def _question(
        self, conversation: Conversation, chunk: Chunk, issues: Sequence[Proposal], part: tuple[int, int]
    ) -> Question:
        messages = self._asker.prompt.messages(
            categories=", ".join(self._categories),
            earlier=fence(described(issues), "earlier") if issues else "none",
            part=_part(*part) or "The whole conversation:",
            conversation=fence(str(chunk), "conversation"),
        )
        return Question(messages, conversation.customer, conversation.id)

    def _read(self, conversation: Conversation, earlier: int, text: str) -> _Part:
        """What the conversation supports of a reply, after earlier parts gave so many issues.

        Raises
        ------
        ExtractionError
            If the reply is unusable, or no quote supports anything of it.
        """
        reply = parse_extraction(text, may_be_empty=earlier > 0)
        verifier = Verifier(conversation, self._categories, Counter(reply.dropped), earlier=earlier)
        pairs = ((issue.continues, verifier.proposal(issue)) for issue in reply.issues)
        found = tuple((number, p) for number, p in pairs if p is not None)
        if reply.issues and not found:
            why = ", ".join(f"{reason}: {n}" for reason, n in sorted(verifier.dropped.items())) or "it names no item"
            raise unusable(f"no quote supports anything of the reply ({why})", text)
        return _Part(found, verifier.kept, verifier.dropped)


def _part(number: int, of: int) -> str:
    return "" if of == 1 else f"Part {number} of {of}: "


def _empty(conversation: Conversation) -> Proposal:
    return Proposal(conversation.id, 0, conversation.category or OTHER, low_value=True, resolution="abandoned")


def _report(
    chunks: Sequence[Chunk],
    parts: Sequence[_Part],
    calls: Sequence[int],
    issues: Sequence[Proposal],
    proposals: Sequence[Proposal],
) -> ExtractionReport:
    dropped: Counter[str] = sum((p.dropped for p in parts), Counter())
    unproven = sum(a.solution is not None and b.solution is None for a, b in zip(issues, proposals, strict=True))
    if unproven:
        dropped["solution that nothing shows to have helped"] += unproven
    return ExtractionReport(
        chunks=tuple(c.turns for c in chunks),
        calls=sum(calls),
        repaired=sum(n == 2 for n in calls),
        kept=sum(p.kept for p in parts),
        dropped=dict(sorted(dropped.items())),
    )
