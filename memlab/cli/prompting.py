"""Which extractor and curator read: offline, or a prompted model with its cassette, its estimate and what it used."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memlab.cli.shared import PATH, options, say
from memlab.errors import ExtractionError, InputError

if TYPE_CHECKING:
    from memlab.curation.curator import Curator
    from memlab.extraction import Extractor
    from memlab.extraction.categories import Categories
    from memlab.extraction.prompted import PromptedExtractor
    from memlab.models.cassette import Cassette
    from memlab.models.chat import Chat
    from memlab.records import Conversation, Proposal

__all__ = ["CURATOR", "EXTRACTOR", "MODEL", "Ahead", "Readers", "readers_of"]

_SCHEMAS = {"extraction": "extractor", "choice": "curator"}  # what a prompt asks for, and who asks it

EXTRACTOR = click.option(
    "--extractor", default="offline", show_default=True, help="offline, or prompted (any OpenAI-compatible endpoint)."
)
CURATOR = click.option("--curator", default="offline", show_default=True, help="offline, or prompted.")
MODEL = options(
    click.option("--cassette", type=PATH, help="Recorded replies; no key is needed, and only these are used."),
    click.option("--record", is_flag=True, help="Ask for what the cassette lacks, and record it there."),
    click.option("--max-cost", type=float, help="Do not start, or stop, before calls could cost more."),
    click.option("--prompt", "prompts", multiple=True, help="A prompt by name or .md file, instead of memlab's own."),
    click.option("--categories", type=PATH, help="Your own IT categories: a TOML file with a few examples of each."),
)


@dataclass(frozen=True, slots=True)
class Readers:
    """Who reads conversations and who curates, and what they ask.

    Attributes
    ----------
    extractor : Extractor
        One for all customers.
    curator : callable
        The curator of a customer: recorded decisions are never shared between two.
    prompted : PromptedExtractor, optional
        The extractor again, if it asks a model.
    curates : bool
        Whether the curator asks a model.
    chat : Chat, optional
        The model; None if everything is offline or recorded.
    cassette : Cassette, optional
        Recorded replies.
    """

    extractor: Extractor
    curator: Callable[[str], Curator]
    prompted: PromptedExtractor | None = None
    curates: bool = False
    chat: Chat | None = None
    cassette: Cassette | None = None

    @contextmanager
    def asking(self, conversations: Sequence[Conversation]) -> Iterator[None]:
        """Say what reading these will take, refuse what costs too much, and say at the end what it took.

        Raises
        ------
        ModelError
            If the estimate is above `--max-cost`.
        """
        if not self.prompted and not self.curates:
            yield
            return
        try:
            say(self._estimate(conversations))
            if self.prompted:
                self.prompted.check_cost(conversations)
            yield
        finally:
            say(self._used())
            if self.chat:
                self.chat.close()

    def _estimate(self, conversations: Sequence[Conversation]) -> str:
        parts = []
        if self.prompted:
            e = self.prompted.estimate(conversations)
            parts.append(f"{e.recorded} of {e.conversations} conversations need no call")
            if self.chat is None:
                parts.append(f"{e.conversations - e.recorded} lack a recorded reply")
            else:
                parts.append(
                    f"about {e.calls} calls, {e.tokens_in} tokens in, {e.tokens_out} out, {self._cost(e.cost)}"
                )
        if self.curates:
            parts.append("the curator asks at most once for each new wording")
        return f"estimate: {'; '.join(parts)}"

    def _cost(self, cost: float | None) -> str:
        if cost is None:
            return f"cost unknown (MEMLAB_PRICES has no price of {self.chat.model!r})" if self.chat else "cost unknown"
        return f"cost {cost:.4g}"

    def _used(self) -> str:
        parts = ["no call, only recorded replies"]
        if self.chat:
            u = self.chat.usage
            cost = self._cost(u.cost if u.calls else 0.0)
            parts = [f"{u.calls} calls ({u.retries} sent again), {u.tokens_in} tokens in, {u.tokens_out} out, {cost}"]
        if self.cassette:
            whole = self.cassette.usage
            cost = "cost unknown" if whole.cost is None else f"cost {whole.cost:.4g}"
            parts.append(f"{self.cassette.path} holds {len(self.cassette)} replies ({whole.calls} calls, {cost})")
        return f"used: {'; '.join(parts)}"

    def usage_row(self) -> dict[str, Any]:
        """As `--json` shows it; nothing if no model was asked for."""
        from memlab.models.usage import Usage

        if not self.prompted and not self.curates:
            return {}
        return {"usage": asdict(self.chat.usage if self.chat else Usage())}


def readers_of(
    extractor: str,
    curator: str = "offline",
    *,
    cassette: Path | None,
    record: bool,
    max_cost: float | None,
    prompts: Sequence[str],
    categories: Path | None = None,
) -> Readers:
    """The readers that a call names.

    Raises
    ------
    InputError
        If there is no such reader, a prompt is for another one, a setting is missing, or the categories can't be read.
    """
    from memlab.extraction.categories import read_categories

    for what, name in (("extractor", extractor), ("curator", curator)):
        if name not in ("offline", "prompted"):
            raise InputError(f"unknown {what} {name!r}; known: offline, prompted")
    own = read_categories(categories) if categories else None
    asking = [w for w, name in (("extractor", extractor), ("curator", curator)) if name == "prompted"]
    if not asking:
        _refuse(cassette=cassette, record=record, max_cost=max_cost, prompt=prompts)
        return _offline(own)
    if record and cassette is None:
        raise click.UsageError("--record needs --cassette FILE, the file to record in")
    return _prompted(asking, cassette, record, max_cost, _by_reader(prompts, asking), own)


def _refuse(**given: object) -> None:
    for name, value in given.items():
        if value is not None and value is not False and value != ():
            raise click.UsageError(
                f"--{name.replace('_', '-')} needs a prompted reader (--extractor prompted or --curator prompted)"
            )


def _offline(categories: Categories | None) -> Readers:
    from memlab.curation.curator import OfflineCurator
    from memlab.extraction import OfflineExtractor

    return Readers(OfflineExtractor(categories=categories), lambda _: OfflineCurator())


def _by_reader(prompts: Sequence[str], asking: Sequence[str]) -> dict[str, str]:
    """Which prompt is for whom, by what it asks for."""
    from memlab.models.prompts import load_prompt

    found: dict[str, str] = {}
    for name in prompts:
        schema = load_prompt(name).schema
        reader = _SCHEMAS.get(schema, "")
        if reader not in asking:
            raise InputError(f"prompt {name!r} asks for {schema!r}, which is not what the {' or '.join(asking)} needs")
        if reader in found:
            raise InputError(f"two prompts for the {reader}: {found[reader]!r} and {name!r}; give one")
        found[reader] = name
    return found


def _prompted(
    asking: Sequence[str],
    path: Path | None,
    record: bool,
    max_cost: float | None,
    prompts: Mapping[str, str],
    categories: Categories | None,
) -> Readers:
    from memlab.curation.prompted import PromptedCurator
    from memlab.extraction.prompted import PromptedExtractor
    from memlab.models.cassette import Cassette

    tape = None if path is None else Cassette(_recordable(path) if record else path, "record" if record else "replay")
    replays = tape is not None and not record
    chat = _recorded_model(tape) if tape is not None and replays else _chat(max_cost)
    prompted, plain = None, _offline(categories)
    if "extractor" in asking:
        names = categories.names if categories else None
        prompted = PromptedExtractor(chat, prompt=prompts.get("extractor", "extract"), cassette=tape, categories=names)

    def curator(customer: str) -> Curator:
        if "curator" not in asking:
            return plain.curator(customer)
        return PromptedCurator(chat, customer=customer, prompt=prompts.get("curator", "curate"), cassette=tape)

    asked = None if replays else chat
    return Readers(prompted or plain.extractor, curator, prompted, "curator" in asking, asked, tape)


def _recorded_model(cassette: Cassette) -> Chat | None:
    """The model whose replies are used, where a cassette has several; it is never asked."""
    from memlab.models.chat import Chat

    models = sorted({model for model, _, _ in cassette.senders})
    if not models:
        raise InputError(f"{cassette.path}: no reply is recorded in this cassette; --record asks and records")
    chosen = os.environ.get("MEMLAB_MODEL", "")
    if len(models) > 1 and chosen not in models:
        raise InputError(f"{cassette.path} holds replies of {', '.join(models)}; set MEMLAB_MODEL to one of them")
    return Chat(chosen) if len(models) > 1 else None


def _recordable(path: Path) -> Path:
    """The path of a cassette, if a reply could be appended there: a paid one must not be lost."""
    folder = next(f for f in path.absolute().parents if f.exists())
    if path.is_dir() or not folder.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise InputError(f"{path}: can't record replies here; name a file in a folder that can be written")
    return path


def _chat(max_cost: float | None) -> Chat:
    from memlab.models.chat import Chat

    missing = [] if os.environ.get("MEMLAB_MODEL") else ["MEMLAB_MODEL"]
    if not (os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENAI_BASE_URL")):
        missing.append("OPENAI_API_KEY (or OPENAI_BASE_URL for an endpoint that needs no key)")
    if missing:
        raise InputError(
            f"a prompted model needs settings: set {' and '.join(missing)}; "
            f"or give --cassette FILE to use recorded replies only"
        )
    return Chat(max_cost=max_cost)


class Ahead:
    """A prompted extractor that has the next conversations read while one is taken in.

    Parameters
    ----------
    extractor : PromptedExtractor
        Who reads.
    conversations : sequence of Conversation
        What will be asked for, in this order.
    """

    def __init__(self, extractor: PromptedExtractor, conversations: Sequence[Conversation]) -> None:
        self.name = extractor.name
        self._extractor = extractor
        self._read = extractor.extract_all(conversations)
        self._held: dict[str, Sequence[Proposal] | ExtractionError] = {}

    def extract(self, conversation: Conversation) -> Sequence[Proposal]:
        """What was read out of a conversation; one that was not announced is read now."""
        while conversation.version not in self._held:
            following = next(self._read, None)
            if following is None:
                return self._extractor.extract(conversation)
            self._held[following[0].version] = following[1]
        found = self._held.pop(conversation.version)
        if isinstance(found, ExtractionError):
            raise found
        return found
