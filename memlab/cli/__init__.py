"""The command line. Every command says what it does with `--help`; results on stdout, progress and errors on stderr.

Nothing heavy is imported before a command needs it, so that `memlab --help` answers at once.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import IO, Any

import click

from memlab import __version__
from memlab.cli import (
    chatting,
    comparing,
    data,
    importing,
    keeping,
    learning,
    notebooks,
    reading,
    reviewing,
    serving,
    simulating,
    tidying,
)
from memlab.cli.shared import say
from memlab.errors import MemlabError

__all__ = ["main"]


class _WrongCall(click.ClickException):
    """A call that can't be understood, in one line and with exit code 2."""

    exit_code = 2

    def __init__(self, error: click.UsageError) -> None:
        self.path = error.ctx.command_path if error.ctx else "memlab"
        super().__init__(error.format_message().rstrip("."))

    def show(self, file: IO[Any] | None = None) -> None:  # noqa: ARG002 - click's own signature
        say(f"{self.path}: {self.message}; see `{self.path} --help`")


class _OneLineErrors(click.Group):
    """Errors that memlab raises on purpose become one line on stderr and exit code 1; a wrong call is exit code 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's own signature
        return list(self.commands)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        with _wrong_calls():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with _wrong_calls():
                return super().invoke(ctx)
        except MemlabError as error:
            say(f"memlab: {error}")
        except BrokenPipeError:
            # The reader of our output has gone (`| head`): not an error, and nothing more to say.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return ctx.exit(0)
        except OSError as error:  # a full disk, a file that vanished: the machine's trouble, and no traceback
            say(f"memlab: {error.filename or 'a file'}: {error.strerror or error}")
        return ctx.exit(1)


@contextlib.contextmanager
def _wrong_calls() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        raise _WrongCall(error) from error


@click.group(
    "memlab", cls=_OneLineErrors, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, prog_name="memlab")
def main() -> None:
    """A laboratory for agent memory: learn from past support conversations, and measure honestly whether it helps."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


for _command in (  # as `--help` lists them
    *(notebooks.run, notebooks.verify, notebooks.runs, comparing.compare),
    *(learning.formats, importing.import_, learning.extract, learning.learn),
    *(reading.skill, reading.recall, reading.episodes, reading.why, reading.graph),
    *(reviewing.review, reviewing.decide, tidying.tidy, keeping.forget, keeping.bank, data.data),
    *(chatting.chat, serving.mcp, serving.console),
    *(simulating.simulate,),
):
    main.add_command(_command)
