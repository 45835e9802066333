"""Is the offline reader as often right as it is sure? What it said of each field, and whether that came true."""

from __future__ import annotations

from collections.abc import Iterable

from memlab.evaluation.extraction import ExtractionResult
from memlab.extraction.offline import confidences
from memlab.extraction.reader import read
from memlab.extraction.triage import triage
from memlab.models.embeddings import Encoder, default_encoder
from memlab.records import Conversation

__all__ = ["Said", "offline_confidence"]

Said = dict[str, tuple[list[float], list[bool]]]


def offline_confidence(
    conversations: Iterable[Conversation], result: ExtractionResult, *, encoder: Encoder | None = None
) -> Said:
    """For `reliability_frame`: by field, how sure the offline reader was and whether it was right.

    Parameters
    ----------
    conversations : iterable of Conversation
        Those that were read. The category is judged only where the conversation does not name it.
    result : ExtractionResult
        Of the offline extractor on these conversations.

    Returns
    -------
    dict of field to (list of float, list of bool)
        One entry a conversation for which the field was proposed and can be judged; right if one of its cases matched.
    """
    encoder = encoder or default_encoder()
    rows = result.items[result.items["status"].isin(["matched", "invented"])]
    right = {
        (c, f): bool((part["status"] == "matched").any()) for (c, f), part in rows.groupby(["conversation", "field"])
    }
    said: Said = {}
    for conversation in conversations:
        verdict = triage(conversation, encoder)
        for field, sure in confidences(read(conversation), verdict).items():
            named = field == "category" and conversation.category is not None
            if (conversation.id, field) in right and not named:
                sures, rights = said.setdefault(field, ([], []))
                sures.append(min(1.0, sure))
                rights.append(right[conversation.id, field])
    return {field: said[field] for field in sorted(said)}
