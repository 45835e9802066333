"""The ways to ask a model: sentence vectors, token counts, chat, prompt files."""
