"""The documentation: it builds without a broken link or a request, its code runs, its commands and names exist."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import json
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from scripted import conv, prop

from memlab.cli import main
from memlab.runs.report import external_requests

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pages, check = load("docs_pages"), load("docs_check")


def blocks(path: Path, kind: str) -> list[str]:
    return [text for found, text in BLOCK.findall(path.read_text("utf-8")) if found == kind]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT / "docs").as_posix()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: pip install -e .[docs]")
    pytest.importorskip("material", reason="mkdocs-material is not installed: pip install -e .[docs]")
    folder = tmp_path_factory.mktemp("site")
    arguments = ["build", "--quiet", "--strict", "-f", str(ROOT / "mkdocs.yml"), "-d", str(folder)]
    done = subprocess.run([sys.executable, "-m", "mkdocs", *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr  # strict: a broken link or anchor is an error
    return folder


def test_the_site_builds_and_asks_for_nothing(site: Path) -> None:
    built = sorted(site.rglob("*.html"))
    assert len(built) >= len(PAGES)
    for page in built:
        assert external_requests(page.read_text("utf-8")) == [], page.name
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?https?:", style.read_text("utf-8")), style.name


def test_every_page_is_in_the_navigation(site: Path) -> None:
    index = (site / "index.html").read_text("utf-8")
    for page in PAGES:
        assert f'href="{name_of(page)[:-3]}.html"' in index or page.name == "index.md", page.name


def test_the_site_opens_from_a_folder_in_a_browser_that_is_offline(site: Path) -> None:
    chromium = Path("/usr/bin/chromium")
    if not chromium.exists():
        pytest.skip(f"no browser: {chromium} is missing (apt-get install chromium)")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    asked: list[str] = []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(chromium), args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda r: asked.append(r.url))
        page.goto((site / "index.html").as_uri())
        page.get_by_role("link", name="The ten laws").first.click()
        assert page.locator("h1").inner_text().startswith("The ten laws")
        page.locator("[data-md-component=search-query]").first.fill("mcnemar")
        page.locator(".md-search-result__link").first.wait_for(state="attached", timeout=20_000)
        assert "Every metric" in page.locator(".md-search-result__link").first.inner_text()
        browser.close()
    assert [u for u in asked if not u.startswith(("file:", "data:", "blob:"))] == []


# -- what is filled in ---------------------------------------------------------------------------------------------


def test_every_command_and_option_is_in_the_reference() -> None:
    text = pages.commands()
    for name in main.list_commands(click.Context(main)):
        assert re.search(rf"^#+ memlab {name}$", text, re.MULTILINE), name
    assert "`--fail-if-worse`" in text
    assert "`-j, --jobs INTEGER RANGE`" in text


def test_marks_are_filled_and_unknown_ones_fail() -> None:
    for page in PAGES:
        assert "<!-- make:" not in pages.fill(page.read_text("utf-8"))
    with pytest.raises(KeyError):
        pages.fill("<!-- make: nothing -->")


def test_figures_are_drawn_with_their_words_and_numbers(bank: Any, teach: Any, tmp_path: Path) -> None:
    teach(bank, [(conv("a"), prop("no light", "broken cable", "swap the cable", failed=["restart it"]))])
    assert load("figures").draw(bank, "vpn", tmp_path) == ["memory", "pipeline"]
    told = json.loads((tmp_path / "figures.json").read_text("utf-8"))
    for folder, figures in ((tmp_path, told), (ROOT / "docs", json.loads((ROOT / "docs/figures.json").read_text()))):
        for name, figure in figures.items():
            svg = ET.fromstring((folder / f"{name}.svg").read_text("utf-8"))
            assert svg.findtext("{http://www.w3.org/2000/svg}desc") == figure["alt"]
            assert figure["table"]["data"]
    html = pages.figure("memory")
    assert f"<td>{told['memory']['table']['data'][0][2]}</td>" in html
    assert html.count("<img ") == 1


def test_the_laws_page_has_ten_laws_each_with_what_breaks() -> None:
    text = (ROOT / "docs" / "laws.md").read_text("utf-8")
    assert [int(n) for n in re.findall(r"^## (\d+)\. ", text, re.MULTILINE)] == list(range(1, 11))
    assert text.count("*Without it:*") == 10
    assert "test_law_5" in pages.laws_tests()
    assert "crash while curating" in pages.laws_tests()


# -- code and names ------------------------------------------------------------------------------------------------


def test_the_code_of_the_extending_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks(ROOT / "docs" / "extending.md", "python"):
        exec(compile(block, "docs/extending.md", "exec"), names)
    assert capsys.readouterr().out.splitlines() == ["VPN drops every hour -> Update the client", "1 learned; 3 entries"]
    (tmp_path / "notes.txt").write_text(
        '{"ticket": "1", "when": "2026-01-01T00:00:00Z", "problem": "p", "answer": "a"}\nno\n'
    )
    options = importlib.import_module("memlab.corpus.reading").Options()
    first, second = names["read_notes"](tmp_path / "notes.txt", options)
    assert (first.id, first.customer, second.line) == ("1", "acme", 2)


def test_the_code_that_records_runs(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    exec(blocks(ROOT / "docs" / "results.md", "python")[-1], {})
    assert "recall@3 = 0.8125 [0.744, 0.871] (n = 90)" in capsys.readouterr().out


def sessions() -> Iterator[Any]:
    for page in PAGES:
        for number, text in enumerate(blocks(page, "pycon")):
            yield pytest.param(text, id=f"{name_of(page)}-{number}")


@pytest.mark.parametrize("session", list(sessions()))
def test_sessions_print_what_they_show(session: str) -> None:
    example = doctest.DocTestParser().get_doctest(session, {}, "session", "docs", 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert runner.run(example).failed == 0


def calls() -> Iterator[Any]:
    """Every memlab command in any block of any page, without what the shell does around it."""
    for page in PAGES:
        for text in (*blocks(page, "bash"), *blocks(page, "console")):
            joined = re.sub(r"\$\([^)]*\)", "x", re.sub(r"\\\n\s*", " ", text))
            for line in joined.splitlines():
                for part in re.split(r"\||\s&&\s", line.removeprefix("$ ")):
                    words = re.split(r"\s(?:#|>)\s?", part.strip(), maxsplit=1)[0]
                    if words.startswith("memlab "):
                        yield pytest.param(words, id=f"{name_of(page)}: {words[:60]}")


@pytest.mark.parametrize("call", list(calls()))
def test_every_command_that_is_shown_exists_with_its_options(call: str) -> None:
    words = shlex.split(call)[1:]
    command: click.Command = main
    path = "memlab"
    while isinstance(command, click.Group):
        name, words = words[0], words[1:]
        found = command.get_command(click.Context(command), name)
        assert found is not None, f"no command {path} {name}"
        command, path = found, f"{path} {name}"
    command.make_context(path, list(words))  # raises for an unknown option or a missing argument


def dotted() -> list[str]:
    found = {n for page in PAGES for n in re.findall(r"`(memlab(?:\.\w+)+)`", page.read_text("utf-8"))}
    return sorted(n for n in found if n != "memlab.readers")  # the name of a group of entry points


@pytest.mark.parametrize("name", dotted())
def test_every_python_name_exists(name: str) -> None:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            value = getattr(value, part)
        return
    raise AssertionError(name)


def test_every_file_that_is_named_exists() -> None:
    for page in PAGES:
        for name in re.findall(r"`((?:memlab|tests|scripts|datasets|notebooks)/[\w./-]+)`", page.read_text("utf-8")):
            assert (ROOT / name).exists(), f"{page.name}: {name}"


def test_the_walks_are_read_as_they_are_meant() -> None:
    page = '```console\n$ one "a\nb"\nout\n$ two\n```\ntext\n```bash\nthree\n```\n'
    assert list(check.commands_of(page)) == [('one "a\nb"', "out"), ("two", "")]
    assert check.matches("x … z\n…", "x y z\nmore")
    assert not check.matches("x", "x y")
