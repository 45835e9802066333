"""Prompts are files with a name, a version and the schema of their reply; data stands between fences it can't close."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from memlab.errors import InputError

__all__ = ["Message", "Prompt", "check_released", "fence", "load_prompt", "prompt_folder", "read_prompt"]

Message = Mapping[str, str]

_FRONT = re.compile(r"\A---\n(.*?)\n---\n(.*)\Z", re.DOTALL)
_PART = re.compile(r"^# (system|user)\n", re.MULTILINE)
_SLOT = re.compile(r"\{\{(\w+)\}\}")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One version of one prompt.

    Attributes
    ----------
    name, version : str, int
        Recorded replies name both; an edited text needs a new version.
    schema : str
        Name of the response schema.
    system, user : str
        The two messages, with slots such as ``{{conversation}}``.
    hash : str
        The first 16 hex digits of SHA-256 over the file.
    """

    name: str
    version: int
    schema: str
    system: str
    user: str
    hash: str

    @property
    def id(self) -> str:
        """Name and version, for example ``extract@1``."""
        return f"{self.name}@{self.version}"

    @property
    def slots(self) -> frozenset[str]:
        """The names that `messages` needs values for."""
        return frozenset(_SLOT.findall(self.system + self.user))

    def messages(self, **values: str) -> tuple[Message, ...]:
        """The messages with every slot filled; text inside a value is never read as a slot.

        Raises
        ------
        InputError
            If a slot has no value or a value no slot.
        """
        if self.slots != set(values):
            raise InputError(f"prompt {self.id} needs {sorted(self.slots)}, not {sorted(values)}")
        parts = (("system", self.system), ("user", self.user))
        return tuple({"role": role, "content": _SLOT.sub(lambda m: values[m[1]], text)} for role, text in parts if text)


def fence(text: str, label: str) -> str:
    """Data between two marks that do not occur in it, so that it can't end early or pose as instructions.

    The mark is made from the data (no randomness, so that equal requests stay equal), and made anew while the data
    contains it.

    >>> print(fence("hello", "mail").replace(fence("hello", "mail").split()[2], "MARK"))
    BEGIN mail MARK
    hello
    END mail MARK
    """
    mark = hashlib.sha256(f"{label}\n{text}".encode("utf-8", "replace")).hexdigest()[:16]
    while mark in text:
        mark = hashlib.sha256(mark.encode()).hexdigest()[:16]
    return f"BEGIN {label} {mark}\n{text}\nEND {label} {mark}"


def prompt_folder() -> Path:
    """Where the prompts that ship with memlab are."""
    return Path(str(resources.files("memlab") / "prompts"))


def load_prompt(name: str | Path) -> Prompt:
    """A prompt that ships with memlab, by name, or any prompt file, by a path that ends in ``.md``.

    Raises
    ------
    InputError
        If there is none, or the file is not a prompt.
    """
    if str(name).endswith(".md"):
        return read_prompt(Path(name))
    path = prompt_folder() / f"{name}.md"
    if not _NAME.fullmatch(str(name)) or not path.is_file():
        known = ", ".join(sorted(p.stem for p in prompt_folder().glob("*.md")))
        raise InputError(f"no prompt {str(name)!r}; known: {known}; or give the path of a .md file")
    return read_prompt(path)


def read_prompt(path: Path) -> Prompt:
    """Read a prompt file: front matter with name, version and schema, then ``# system`` and ``# user``.

    Raises
    ------
    InputError
        If it can't be read or is not of this form.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    match = _FRONT.match(text)
    if match is None:
        raise InputError(f"{path}:1: a prompt starts with front matter between two lines of ---")
    front = _front_matter(match[1], path)
    parts = _PART.split(match[2])
    texts = {role: body.strip() for role, body in zip(parts[1::2], parts[2::2], strict=True)}
    if not texts.get("user"):
        raise InputError(f"{path}: a prompt needs a part under the line '# user'")
    return Prompt(
        name=front["name"],
        version=int(front["version"]),
        schema=front["schema"],
        system=texts.get("system", ""),
        user=texts["user"],
        hash=hashlib.sha256(text.encode()).hexdigest()[:16],
    )


def _front_matter(text: str, path: Path) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines())
    front = {key.strip(): value.strip() for key, _, value in pairs}
    if set(front) != {"name", "version", "schema"}:
        raise InputError(f"{path}: front matter holds name, version and schema, not {sorted(front)}")
    if not _NAME.fullmatch(front["name"]) or not front["schema"]:
        raise InputError(f"{path}: name must be lower-case letters, digits, - and _, not {front['name']!r}")
    if not front["version"].isdigit() or int(front["version"]) < 1:
        raise InputError(f"{path}: version must be a whole number from 1, not {front['version']!r}")
    return front


def check_released(folder: Path) -> list[str]:
    """What is wrong with the prompts of a folder and their lock file ``released.json``, one line each; [] if nothing.

    The lock file maps name → version → hash. A released text must not change under its version, so that a recorded
    reply always says which text it answers.
    """
    lock: dict[str, dict[str, Any]] = json.loads((folder / "released.json").read_text("utf-8"))
    faults, names = [], set()
    for path in sorted(folder.glob("*.md")):
        prompt = read_prompt(path)
        names.add(prompt.name)
        released = lock.get(prompt.name, {})
        entry = f'"{prompt.version}": "{prompt.hash}"'
        if prompt.name != path.stem:
            faults.append(f"{path.name}: is named {prompt.name!r} inside")
        if released and prompt.version < max(map(int, released)):
            faults.append(f"{path.name}: version {prompt.version} is older than the released {max(map(int, released))}")
        elif str(prompt.version) not in released:
            faults.append(f"{path.name}: version {prompt.version} is not in released.json; add {entry}")
        elif released[str(prompt.version)] != prompt.hash:
            faults.append(f"{path.name}: released version {prompt.version} was edited; move it and add the hash")
    return faults + [f"released.json: {name} has no file" for name in sorted(set(lock) - names)]
