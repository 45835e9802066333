"""The simulated help desk: devices that break, users who notice, agents that mend, and whether memory helps them."""

from __future__ import annotations

__all__: list[str] = []
