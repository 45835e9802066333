"""The project as a stranger meets it: pins, imports from the root, start-up, and what the package exports."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import memlab

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PINS = {
    canonicalize_name(name): Version(version)
    for name, version in (
        line.split("==") for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if "==" in line
    )
}


def test_every_dependency_is_pinned_inside_its_range():
    wanted = [Requirement(r) for r in PROJECT["dependencies"]]
    wanted += [Requirement(r) for group in PROJECT["optional-dependencies"].values() for r in group]
    loose = [r.name for r in wanted if PINS.get(canonicalize_name(r.name)) not in r.specifier]
    assert not loose


def test_everything_imports_from_the_root_although_a_folder_is_called_datasets():
    names = "memlab sentence_transformers pandas papermill openai pyvis networkx sklearn".split()
    code = f"import {', '.join(names)}; from sentence_transformers import SentenceTransformer; print('fine')"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "fine", done.stderr
    assert not (ROOT / "datasets" / "__init__.py").exists()


def test_help_loads_nothing_heavy():
    code = "import sys, memlab.cli; print(sorted(m for m in sys.modules if m in {'numpy', 'pandas', 'torch', 'onnxruntime', 'sqlite3'}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stdout


def test_recall_never_loads_torch_or_pandas(tmp_path):
    code = "import sys, memlab.recalling; print(sorted(m for m in sys.modules if m in {'pandas', 'torch', 'sklearn', 'matplotlib'}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stdout


def test_the_public_names_exist_and_are_documented():
    for name in memlab.__all__:
        value = getattr(memlab, name)
        assert name == "__version__" or value.__doc__, name
    assert memlab.__version__ == PROJECT["version"]


def test_a_submodule_never_hides_a_function_of_the_same_name():
    for name in ("memlab.recalling", "memlab.learning", "memlab.extraction", "memlab.rendering"):
        importlib.import_module(name)
    assert all(callable(getattr(memlab, n)) for n in ("recall", "learn", "extract", "render_skill", "why", "forget"))
