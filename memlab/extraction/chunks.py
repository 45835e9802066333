"""A conversation as lines of data for a prompt, and in parts where it is longer than the model's window."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from memlab.corpus.quoting import quoted_spans
from memlab.models.usage import estimate_tokens
from memlab.records import Conversation, clean_text

__all__ = ["Chunk", "Line", "chunks_of", "lines_of", "user_speaks"]


@dataclass(frozen=True, slots=True)
class Line:
    """A turn, or a piece of a very long one, as one JSON object: a text can't pose as another turn."""

    turn: int
    role: str
    text: str

    def __str__(self) -> str:
        return json.dumps({"turn": self.turn, "role": self.role, "text": self.text}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines that fit the window; the first `overlap` of them end the chunk before as well."""

    lines: tuple[Line, ...]
    overlap: int = 0

    @property
    def turns(self) -> tuple[int, int]:
        """First and last turn."""
        return self.lines[0].turn, self.lines[-1].turn

    @property
    def repeated(self) -> frozenset[int]:
        """Turns that stood in the chunk before too."""
        return frozenset(line.turn for line in self.lines[: self.overlap])

    def __str__(self) -> str:
        return "\n".join(map(str, self.lines))


def own_text(text: str) -> str:
    """A message without the mails that it quotes."""
    spans, kept, last = quoted_spans(text), [], 0
    for start, end in spans:
        kept.append(text[last:start])
        last = end
    return "".join([*kept, text[last:]]).strip()


def lines_of(conversation: Conversation) -> list[Line]:
    """Its turns in order, without quoted mails and without turns that have no text."""
    texts = ((n, t.role, clean_text(own_text(t.text))) for n, t in enumerate(conversation.turns))
    return [Line(n, role, text) for n, role, text in texts if text]


def user_speaks(lines: Sequence[Line]) -> bool:
    """Whether the user says at least one word; what only agents and tools wrote is no evidence."""
    return any(line.role == "user" and re.search(r"\w", line.text) for line in lines)


def chunks_of(lines: Sequence[Line], window: int) -> list[Chunk]:
    """Cut at turn boundaries into chunks of at most `window` tokens, each beginning with the end of the one before.

    Parameters
    ----------
    lines : sequence of Line
        A turn longer than half a window is cut inside, at white space.
    window : int
        Estimated tokens of a chunk, ≥ 64. An eighth of it is overlap.
    """
    pieces = [piece for line in lines for piece in _pieces(line, window // 2)]
    sizes = [estimate_tokens(str(piece)) + 1 for piece in pieces]
    chunks: list[Chunk] = []
    start, overlap = 0, 0
    while start < len(pieces):
        stop, size = start, 0
        while stop < len(pieces) and (stop <= start + overlap or size + sizes[stop] <= window):
            size += sizes[stop]
            stop += 1
        chunks.append(Chunk(tuple(pieces[start:stop]), overlap))
        if stop == len(pieces):
            break
        start, overlap = _step_back(sizes, stop, window // 8)
    return chunks


def _step_back(sizes: Sequence[int], stop: int, room: int) -> tuple[int, int]:
    """Where the next chunk starts, so that whole pieces of at most `room` tokens are repeated."""
    start = stop
    while start > 0 and room - sizes[start - 1] >= 0:
        room -= sizes[start - 1]
        start -= 1
    return start, stop - start


def _pieces(line: Line, most: int) -> list[Line]:
    if estimate_tokens(str(line)) <= most:
        return [line]
    texts, left = [], line.text
    # Room for the object around the text; escaped quotes and line ends can double a character.
    room = max(16, most - estimate_tokens(str(Line(line.turn, line.role, ""))))
    # More characters than 4 for each token never fit; so most of a huge text is not even measured.
    while len(left) > 4 * room or estimate_tokens(json.dumps(left, ensure_ascii=False)) > room:
        cut = _cut(left, room)
        texts.append(left[:cut])
        left = left[cut:]
    return [Line(line.turn, line.role, text) for text in [*texts, left] if text.strip()]


def _cut(text: str, room: int) -> int:
    """The longest beginning, up to white space in its second half, of at most `room` tokens; ≥ 1 character."""
    low, high = 1, min(len(text), 4 * room)
    while low < high:
        middle = (low + high + 1) // 2
        fits = estimate_tokens(json.dumps(text[:middle], ensure_ascii=False)) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    space = max((m.end() for m in re.finditer(r"\s+", text[:low])), default=0)
    return space if space > low // 2 else low
