"""Deciding whether two wordings are one entry, and what to do with each proposal."""
