"""Every error that memlab raises on purpose.

MemlabError
├── InputError            a file, line, argument or record is not what it must be
│   ├── TimeError         a time without a zone, or no time at all
│   └── CustomerError     an empty or odd customer name, or another customer's data
├── BankError             the bank can't be opened, read or written
│   ├── BankFormatError   not a bank, damaged, or written by a newer memlab
│   └── StaleBankError    another process changed the bank meanwhile
├── ExtractionError       a conversation could not be read into proposals; it stays pending
├── CurationError         an operation that the curator may not do
├── ModelError            an embedder or a model endpoint failed
├── RecallError           memory could not be searched (never "nothing found")
└── RunError              a notebook run could not start, failed, or differs
"""

from __future__ import annotations

__all__ = [
    "BankError",
    "BankFormatError",
    "CurationError",
    "CustomerError",
    "ExtractionError",
    "InputError",
    "MemlabError",
    "ModelError",
    "RecallError",
    "RunError",
    "StaleBankError",
    "TimeError",
]


class MemlabError(Exception):
    """What went wrong, where, what is allowed, and what to do next, in one line."""


class InputError(MemlabError):
    """A file, line, argument or record is not what it must be."""


class TimeError(InputError):
    """A time has no zone, or is missing."""


class CustomerError(InputError):
    """A customer name is empty or odd, or data belongs to another customer."""


class BankError(MemlabError):
    """A bank can't be opened, read or written."""


class BankFormatError(BankError):
    """The file is not a bank, is damaged, or was written by a newer memlab."""


class StaleBankError(BankError):
    """Another process changed the bank since it was read."""


class _ReplyError(MemlabError):
    """An error that may be about a model's reply.

    Attributes
    ----------
    raw : str
        The reply (or its beginning), for people to look at; empty if there was none.
    """

    def __init__(self, *args: object, raw: str = "") -> None:
        super().__init__(*args)
        self.raw = raw


class ExtractionError(_ReplyError):
    """A conversation could not be read into proposals; it stays pending. `raw` holds the model's reply, if any."""


class CurationError(_ReplyError):
    """An operation that the curator may not do. `raw` holds the model's reply, if any."""


class ModelError(_ReplyError):
    """An embedder or a model endpoint failed. `raw` holds what the server sent last, if anything."""


class RecallError(MemlabError):
    """Memory could not be searched; this never means that nothing was found."""


class RunError(MemlabError):
    """A notebook run could not start, failed, or differs from the committed one."""
