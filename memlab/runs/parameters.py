"""Parameters of a notebook: read from its tagged cell, and overrides checked before a kernel starts."""

from __future__ import annotations

import ast
import difflib
import importlib
import io
import json
import math
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memlab.errors import RunError
from memlab.runs.files import read_notebook

__all__ = ["Parameter", "check_parameters", "load_parameter_file", "parameters_of"]

_SIMPLE = ("bool", "int", "float", "str")
_ALLOWED = "bool, int, float, str, list, list[T], dict, dict[str, T], Literal[…] or T | None"
_YES_NO = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One line ``name: type = value  # help`` of the cell tagged `parameters`."""

    name: str
    type: str
    default: Any
    help: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.type} = {self.default!r}" + (f"  # {self.help}" if self.help else "")

    def convert(self, value: object) -> Any:
        """The value in the declared type; text is read as the type asks.

        Raises
        ------
        RunError
            If it does not fit.

        >>> Parameter("k", "int", 3).convert("30"), Parameter("names", "list[str]", []).convert("a, b")
        (30, ['a', 'b'])
        """
        try:
            return _convert(ast.parse(self.type, mode="eval").body, value, self.default)
        except (ValueError, OverflowError) as error:
            raise RunError(f"parameter {self.name} must be {self.type}, not {value!r}{_because(error)}") from None


def parameters_of(notebook: Any) -> tuple[Parameter, ...]:
    """The parameters that a notebook declares, in its order; none if it has no cell tagged `parameters`.

    Parameters
    ----------
    notebook : path or notebook node

    Raises
    ------
    RunError
        If the cell holds anything but lines ``name: type = literal``, or a type that can't be passed to a notebook.
    """
    where = str(notebook) if isinstance(notebook, (str, Path)) else "the notebook"
    node = read_notebook(notebook) if isinstance(notebook, (str, Path)) else notebook
    cells = [c for c in node["cells"] if c["cell_type"] == "code" and "parameters" in c["metadata"].get("tags", ())]
    if len(cells) > 1:
        raise RunError(f"{where}: {len(cells)} cells are tagged parameters; one is allowed")
    return _read_cell(cells[0]["source"], where) if cells else ()


def check_parameters(
    declared: Iterable[Parameter], overrides: Mapping[str, object], *, where: str = "the notebook"
) -> dict[str, Any]:
    """The overrides in their declared types, in the order of declaration.

    Parameters
    ----------
    declared : iterable of Parameter
        What the notebook has.
    overrides : mapping
        Values, or text as it comes from a command line.
    where : str
        Name for messages.

    Raises
    ------
    RunError
        If a name is unknown (with the nearest and all allowed names), or a value does not fit its type.

    >>> check_parameters([Parameter("k", "int", 3)], {"k": "30"})
    {'k': 30}
    """
    known = {p.name: p for p in declared}
    for name in overrides:
        if name not in known:
            raise RunError(unknown_parameter(name, known, where))
    return {name: p.convert(overrides[name]) for name, p in known.items() if name in overrides}


def unknown_parameter(name: str, known: Iterable[str], where: str) -> str:
    """The message for a name that nothing declares."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{where} has no parameter {name!r}{hint} (allowed: {', '.join(names) or 'none'})"


def load_parameter_file(path: str | Path) -> dict[str, Any]:
    """The overrides in a YAML (or JSON) file: one mapping from names to values; dates stay text.

    Raises
    ------
    RunError
        If the file can't be read, is no mapping with names as keys, or has a name twice.
    """
    yaml: Any = importlib.import_module("yaml")
    try:
        data = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=_yaml_loader(yaml, str(path)))
    except OSError as error:
        raise RunError(f"{path}: {error.strerror or error}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RunError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    if data is None:
        return {}
    if not isinstance(data, dict) or not all(isinstance(k, str) for k in data):
        raise RunError(f"{path}: must map names to values, one `name: value` a line")
    return data


def _yaml_loader(yaml: Any, path: str) -> Any:
    """PyYAML's safe loader, without dates, and refusing a key that stands twice."""

    def mapping(loader: Any, node: Any) -> dict[Any, Any]:
        keys = [loader.construct_object(k, deep=True) for k, _ in node.value]
        twice = [k for k in keys if keys.count(k) > 1]
        if twice:
            raise RunError(f"{path}:{node.start_mark.line + 1}: {twice[0]!r} stands twice")
        return dict(loader.construct_mapping(node, deep=True))

    rules = {
        first: [rule for rule in rules if rule[0] != "tag:yaml.org,2002:timestamp"]
        for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    loader: Any = type("Loader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": rules})
    loader.add_constructor("tag:yaml.org,2002:map", mapping)
    return loader


# -- reading the cell ----------------------------------------------------------------------------------------------


def _read_cell(source: str, where: str) -> tuple[Parameter, ...]:
    try:
        statements = ast.parse(source).body
    except SyntaxError as error:
        raise RunError(f"{where}: the parameters cell, line {error.lineno}: {error.msg}") from None
    comments = _comments(source)
    found: dict[str, Parameter] = {}
    for statement in statements:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue  # a text that explains the cell
        parameter = _read_line(statement, comments, f"{where}: the parameters cell, line {statement.lineno}")
        if parameter.name in found:
            raise RunError(f"{where}: the parameters cell sets {parameter.name} twice")
        found[parameter.name] = parameter
    return tuple(found.values())


def _read_line(statement: ast.stmt, comments: Mapping[int, str], where: str) -> Parameter:
    target: ast.expr
    annotation = None
    if isinstance(statement, ast.AnnAssign):
        target, annotation, value = statement.target, statement.annotation, statement.value
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
    else:
        raise RunError(f"{where}: only lines `name: type = value  # help` are allowed")
    if not isinstance(target, ast.Name) or value is None:
        raise RunError(f"{where}: only lines `name: type = value  # help` are allowed")
    try:
        default = ast.literal_eval(value)
    except (ValueError, TypeError):
        raise RunError(f"{where}: the value of {target.id} must be a literal, not an expression") from None
    kind = ast.unparse(annotation) if annotation else type(default).__name__
    if not _allowed(ast.parse(kind, mode="eval").body):
        raise RunError(f"{where}: {target.id} has type {kind}; allowed: {_ALLOWED}")
    parameter = Parameter(target.id, kind, default, comments.get(statement.end_lineno or 0, ""))
    if isinstance(default, str) and kind != "str" and parameter.convert(default) != default:
        raise RunError(f"{where}: {target.id} is declared {kind} but its value is text")
    parameter.convert(default)
    return parameter


def _comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {t.start[0]: t.string.lstrip("# ").strip() for t in tokens if t.type == tokenize.COMMENT}


def _allowed(kind: ast.expr) -> bool:
    match kind:
        case ast.Name(id=name):
            return name in (*_SIMPLE, "list", "dict")
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _allowed(left)
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            return _allowed(inner)
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[ast.Name(id="str"), inner])):
            return _allowed(inner)
        case ast.Subscript(value=ast.Name(id="Literal")):
            return all(isinstance(c, ast.Constant) for c in _choices(kind))
    return False


def _choices(kind: ast.Subscript) -> Sequence[ast.expr]:
    return kind.slice.elts if isinstance(kind.slice, ast.Tuple) else [kind.slice]


# -- converting a value --------------------------------------------------------------------------------------------


def _convert(kind: ast.expr, value: Any, default: Any = None) -> Any:
    """The value as the type asks; ValueError if it does not fit."""
    match kind:
        case ast.BinOp(left=left):
            if value is None or (isinstance(value, str) and value.strip().lower() in ("none", "null")):
                return None
            return _convert(left, value, default)
        case ast.Name(id="list"):
            return _list(value, _element(default))
        case ast.Subscript(value=ast.Name(id="list"), slice=inner):
            return _list(value, inner)
        case ast.Name(id="dict"):
            return _dict(value, None)
        case ast.Subscript(value=ast.Name(id="dict"), slice=ast.Tuple(elts=[_, inner])):
            return _dict(value, inner)
        case ast.Subscript():
            return _choice(kind, value)
        case ast.Name(id=name):
            return _simple(name, value)
    raise ValueError


def _simple(name: str, value: Any) -> Any:
    if name == "str" and isinstance(value, str):
        return value
    if name == "bool":
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.strip().lower() in _YES_NO:
            return _YES_NO[value.strip().lower()]
        raise ValueError("use true or false")
    if name in ("int", "float") and not isinstance(value, bool) and isinstance(value, (int, float, str)):
        if name == "int" and isinstance(value, float):
            raise ValueError
        number: int | float = int(value) if name == "int" else float(value)
        if isinstance(number, float) and not math.isfinite(number):
            raise ValueError("use a finite number")
        return number
    raise ValueError


def _list(value: Any, inner: ast.expr | None) -> list[Any]:
    if isinstance(value, str):
        text = value.strip()
        value = _literal(text) if text.startswith("[") else [part.strip() for part in text.split(",") if text]
    if not isinstance(value, (list, tuple)):
        raise ValueError("use a list, or text with commas")
    return [_plain(v) if inner is None else _convert(inner, v) for v in value]


def _dict(value: Any, inner: ast.expr | None) -> dict[str, Any]:
    value = _literal(value.strip()) if isinstance(value, str) else value
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        raise ValueError('use an object with text as keys, such as {"a": 1}')
    return {k: _plain(v) if inner is None else _convert(inner, v) for k, v in value.items()}


def _choice(kind: ast.Subscript, value: Any) -> Any:
    for choice in (c.value for c in _choices(kind) if isinstance(c, ast.Constant)):
        same_type = isinstance(value, str) or type(value) is type(choice)
        if same_type and (value == choice or value == str(choice)):
            return choice
    raise ValueError


def _element(default: Any) -> ast.expr | None:
    """The element type of a bare `list`: that of its default's elements, if they share a simple one."""
    names = {type(v).__name__ for v in default} if isinstance(default, list) else set()
    return ast.Name(names.pop()) if len(names) == 1 and names <= set(_SIMPLE) else None


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise ValueError("the text is neither JSON nor a Python literal") from None


def _plain(value: Any) -> Any:
    """A value that arrives in a notebook as it was sent: no tuples, no keys but text, no NaN."""
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, Mapping):
        return _dict(value, None)
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ValueError(f"{type(value).__name__} can't be passed to a notebook")


def _because(error: Exception) -> str:
    text = str(error)
    return f" ({text})" if text and not text.startswith(("invalid literal", "could not convert")) else ""
