"""Gold labels: what people say that a conversation holds, checked line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

from memlab.corpus.reading import Skipped, read_jsonl_objects
from memlab.errors import InputError
from memlab.records import Outcome, Resolution, SolutionKind

__all__ = ["check_label", "read_labels", "read_labels_without_ids", "symptom_texts"]

T = TypeVar("T")


def read_labels(path: str | Path) -> list[dict[str, Any]]:
    """The objects of a `labels.jsonl`, one an issue of a conversation, in the order of the file.

    `case` is 0 where it is missing; unknown keys are kept.

    Raises
    ------
    InputError
        At the first bad line, with file, line, the field, and what is allowed; or if an issue is labelled twice.
    """
    return _labels(Path(path), check_label)


def read_labels_without_ids(path: str | Path) -> list[dict[str, Any]]:
    """The same of labels with no catalogue of entries behind them: each item is an entry of its own, named by its place.

    Raises
    ------
    InputError
        As `read_labels`.
    """
    return _labels(Path(path), lambda data: check_label(_named(data)))


def _labels(path: Path, check: Callable[[Mapping[str, Any]], dict[str, Any]]) -> list[dict[str, Any]]:
    seen: dict[tuple[str, int], int] = {}
    labels = []
    for number, label in checked_lines(path, check):
        key = (label["conversation"], label["case"])
        if key in seen:
            raise InputError(f"{path}:{number}: {key[0]!r} case {key[1]} is labelled on line {seen[key]} already")
        seen[key] = number
        labels.append(label)
    return labels


def _named(data: Mapping[str, Any]) -> dict[str, Any]:
    def named(item: Any, name: str) -> Any:
        place = f"{data.get('conversation')}-{data.get('case', 0)}-{name}"
        return {**item, "id": place} if isinstance(item, Mapping) else item

    found = {name: named(data[name], name) for name in ("root_cause", "solution") if name in data}
    if isinstance(symptoms := data.get("symptoms"), list):
        found["symptoms"] = [named(item, f"symptoms-{n}") for n, item in enumerate(symptoms)]
    return {**data, **found}


def checked_lines(path: Path, check: Callable[[Mapping[str, Any]], T]) -> Iterator[tuple[int, T]]:
    """Each line of a JSON lines file after `check`, with its number; a bad one raises with file and line."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    for item in read_jsonl_objects(path):
        if isinstance(item, Skipped):
            raise InputError(str(item))
        number, data = item
        try:
            value = check(data)
        except InputError as error:
            raise InputError(f"{path}:{number}: {error}") from None
        yield number, value


def check_label(data: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of one label with every known field present and of the right type.

    Raises
    ------
    InputError
        If a field is missing or is not what it must be; the message names it.
    """
    label = {"case": 0, "category": None, "profile": [], "phenomena": [], **data}
    text(label.get("conversation"), "conversation")
    number(label["case"], "case")
    if label["category"] is not None:
        text(label["category"], "category")
    if not isinstance(label.get("low_value"), bool):
        raise InputError(f"low_value must be true or false, not {label.get('low_value')!r}")
    for n, symptom in enumerate(_list(label, "symptoms")):
        _entry(symptom, f"symptoms[{n}]")
    for name in ("root_cause", "solution"):
        if label.get(name) is not None:
            _entry(label[name], name)
        label.setdefault(name, None)
    for n, attempt in enumerate(_list(label, "attempts")):
        _attempt(attempt, f"attempts[{n}]")
    _check_ending(label)
    texts(_list(label, "phenomena"), "phenomena")
    texts([p.get("text") if isinstance(p, Mapping) else p for p in _list(label, "profile")], "profile")
    return label


def _check_ending(label: dict[str, Any]) -> None:
    one_of(label.get("resolution"), get_args(Resolution), "resolution")
    if label.setdefault("solution_kind", None) is not None:
        one_of(label["solution_kind"], get_args(SolutionKind), "solution_kind")
    if (label["solution"] is None) != (label["solution_kind"] is None):
        raise InputError("solution and solution_kind must both be given, or both be null")


def _entry(value: object, name: str) -> None:
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must be an object with id and text, not {value!r}")
    text(value.get("id"), f"{name}.id")
    text(value.get("text"), f"{name}.text")
    _place(value, name)


def _attempt(value: object, name: str) -> None:
    if not isinstance(value, Mapping):
        raise InputError(f"{name} must be an object with action and outcome, not {value!r}")
    text(value.get("action"), f"{name}.action")
    one_of(value.get("outcome"), get_args(Outcome), f"{name}.outcome")
    _place(value, name)


def _place(value: Mapping[str, Any], name: str) -> None:
    if "turn" in value:
        number(value["turn"], f"{name}.turn")
    if "quote" in value:
        text(value["quote"], f"{name}.quote")


def _list(label: Mapping[str, Any], name: str) -> list[Any]:
    value = label.get(name)
    if not isinstance(value, list):
        raise InputError(f"{name} must be a list, not {'missing' if value is None else repr(value)}")
    return value


def text(value: object, name: str) -> str:
    """The value, if it is text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{name} must be a non-empty text, not {value!r}")
    return value


def texts(value: object, name: str) -> tuple[str, ...]:
    """The values of a list of texts that are not blank."""
    if not isinstance(value, (list, tuple)):
        raise InputError(f"{name} must be a list of texts, not {value!r}")
    return tuple(text(v, f"{name}[{n}]") for n, v in enumerate(value))


def number(value: object, name: str) -> int:
    """The value, if it is a whole number ≥ 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InputError(f"{name} must be a whole number ≥ 0, not {value!r}")
    return value


def one_of(value: object, allowed: tuple[str, ...], name: str) -> None:
    """Refuse a value that is not among those allowed."""
    if value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


def symptom_texts(labels: list[dict[str, Any]]) -> dict[str, str]:
    """The text of every gold symptom by its id, sorted by id."""
    found = {s["id"]: s["text"] for label in labels for s in label["symptoms"]}
    return dict(sorted(found.items()))
