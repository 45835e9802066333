"""The console: its HTML as pure functions, its widgets without a browser, and the whole page in a real one through Voilà."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from calls import NO_MODEL, refused

from memlab.agent import SupportAgent
from memlab.agent.console_html import session_html, status_html, timeline_html
from memlab.agent.console_page import start_console, write_page
from memlab.agent.console_session import Session, play
from memlab.agent.jsonstore import JsonStore
from memlab.agent.records import Memory, Telling, remembered
from memlab.agent.replies import Recalled, Reply, Source
from memlab.agent.timeline import timeline_of
from memlab.errors import BankError, CustomerError, InputError

HOSTILE = "<img src=x onerror=alert(1)>"
CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
MARCH = "2026-03-02T09:00:00+01:00"
WHEN = datetime.fromisoformat(MARCH)


class Scripted(SupportAgent):
    """An agent whose answers are known: with memory it recalls what it was told, word for word."""

    def __init__(self, store: JsonStore) -> None:
        self.store = store
        self.calls: list[tuple[str, str, bool]] = []

    def ask(self, customer, message, *, conversation=None, at=None, memory=True) -> Reply:
        self.calls.append((customer, message, memory))
        when = datetime.fromisoformat(at) if at else WHEN
        if message == "break":
            raise BankError("the server can't be reached")
        before = [m for m in self.store.all(customer) if m.kind == "attempt"] if memory else []
        told = remembered(customer, "attempt", message, Telling(when, conversation or "c", "user", "failed", message))
        if memory:
            self.store.add(customer, [told])
        used = tuple(
            Recalled(m.id, "attempt", m.text, "s", 0.5, m.outcome, m.last, m.conversations[0], f"like {m.text}")
            for m in before
        )
        sources = (Source("skill", message, 0.4, ("x",), message),) if memory else ()
        return Reply(
            text=f"You said: {message}", customer=customer, conversation=conversation or "c", at=when, memory=memory,
            used=used, sources=sources, learned=(told,) if memory else (), escalate=memory, why_escalate=message,
        )  # fmt: skip

    def timeline(self, customer):
        return timeline_of(customer, self.store.all(customer))

    def resolve(self, customer, *, fix=None, at=None, conversation=None, **_) -> tuple[Memory, ...]:
        telling = Telling(WHEN, conversation or "c", "staff", "worked")
        return (
            remembered(customer, "incident", "it is broken", telling),
            remembered(customer, "attempt", fix or "x", telling),
        )

    def forget(self, customer, *, conversation=None, memory=None) -> int:
        return self.store.forget(customer)


@pytest.fixture
def agent(tmp_path: Path) -> Scripted:
    return Scripted(JsonStore(tmp_path / "home"))


# -- sessions and their HTML ------------------------------------------------------------------------------------------


def test_every_message_is_answered_twice_and_the_side_without_memory_sees_none(agent):
    session = Session(agent, "acme")
    session.say("first")
    session.say("second")
    assert agent.calls == [("acme", m, side) for m in ("first", "second") for side in (False, True)]
    off, on = ([item.replies[side] for item in session.seen(side)] for side in (False, True))
    assert [len(r.used) for r in off] == [0, 0]
    assert [[u.text for u in r.used] for r in on] == [[], ["first"]]


@pytest.mark.parametrize(("mode", "sides"), [("both", (False, True)), ("on", (True,)), ("off", (False,))])
def test_a_mode_chooses_the_sides(agent, mode, sides):
    session = Session(agent, "acme", mode=mode)
    session.say("hello")
    assert session.shown == sides
    html = session_html(session)
    assert [side for side, title in ((False, "Memory off"), (True, "Memory on")) if title in html] == list(sides)
    session.mode = "both"  # what was said before stays
    assert session.shown == (False, True)


def test_under_a_reply_stands_what_was_recalled_and_why_and_what_was_learned(agent):
    html = session_html(
        play(agent, "acme", [{"at": MARCH, "conversation": "c1", "say": s} for s in ("reboot", "again")])
    )
    on = html[html.index("Memory on") :]
    assert re.search(r"<b>reboot</b> <span class=\"failed\">failed</span>, 2026-03-02, c1, score 0\.50", on)
    assert "like reboot" in on
    assert "Learned<ul><li>step, failed: again</li>" in on
    assert "1 recalled, 1 from other cases, 1 learned" in on
    assert "Escalate: again" in on
    assert "Timeline of acme" in on


@pytest.mark.parametrize(
    "text", [HOSTILE, "</style><script>alert(1)</script>", "'\"><svg onload=alert(1)>", "{{ 7 * 7 }}", "a & b"]
)
def test_what_people_wrote_is_escaped_everywhere(agent, text):
    session = Session(agent, text, conversation=text)
    session.say(text)
    session.say(text)
    session.resolve(fix=text)
    html = session_html(session) + status_html(text, error=True) + timeline_html(session.timeline())
    assert {tag.lower() for tag in re.findall(r"<\s*/?\s*([a-zA-Z][a-zA-Z0-9]*)", html)} <= {
        "b", "br", "details", "div", "h3", "li", "p", "section", "small", "span", "style", "summary", "ul",
    }  # fmt: skip
    assert "onerror" not in re.sub("&lt;.*?&gt;", "", html)
    assert "49" not in html
    assert html.count("<style>") == html.count("</style>") == 2


def test_an_error_shows_nothing_that_was_not_answered(agent):
    session = Session(agent, "acme")
    with pytest.raises(BankError):
        session.say("break")
    assert session.items == []


def test_odd_customers_and_scripts_are_refused(agent):
    with pytest.raises(CustomerError):
        Session(agent, " acme")
    with pytest.raises(InputError, match="says or resolves"):
        play(agent, "acme", [{"at": MARCH, "conversation": "c", "do": "dance"}])


def test_forgetting_everything_clears_the_page(agent):
    session = Session(agent, "acme")
    session.say("secret step")
    session.forget()
    assert "secret step" not in session_html(session)
    assert "Forgot everything" in session_html(session)
    assert "Nothing is remembered" in session_html(session)


def test_a_session_is_html_and_text_without_widget_state(agent):
    session = Session(agent, "acme")
    session.say("hello")
    assert "memory on" in str(session)
    assert "You said: hello" in str(session)
    assert session._repr_html_() == session_html(session)


# -- the widgets, without a browser ---------------------------------------------------------------------------------------


@pytest.fixture
def console(agent: Scripted) -> Any:
    pytest.importorskip("ipywidgets", reason="ipywidgets is not installed: pip install 'memlab[console]'")
    from memlab.agent.console import Console

    return Console(agent)


def test_fields_have_labels_and_are_in_the_order_of_their_use(console):
    assert [w.description for w in (console.customer, console.conversation, console.mode, console.message)] == [
        "Customer", "Conversation", "Memory", "Message",
    ]  # fmt: skip
    assert all(button.description and button.tooltip for button in console._buttons)


def test_without_a_customer_nothing_is_asked(console, agent):
    console.message.value = "hello"
    console.send.click()
    assert "name a customer first" in console.status.value
    assert 'role="alert"' in console.status.value
    assert agent.calls == []


def test_a_message_is_answered_and_its_field_emptied(console):
    console.customer.value = "acme"
    console.message.value = HOSTILE
    console.send.click()
    assert console.message.value == ""
    assert "&lt;img src=x" in console.sides.value
    assert "<img" not in console.sides.value + console.timeline.value + console.status.value
    assert "1 memory" in console.timeline.value


def test_enter_sends_and_leaving_the_field_does_not(console, agent):
    enter = {"content": {"data": {"method": "custom", "content": {"event": "submit"}}}, "buffers": []}
    console.customer.value = "acme"
    console.message._handle_msg(enter)  # in the empty field: nothing to send, now or later
    console.message.value = "hello"
    assert agent.calls == []
    console.message._handle_msg(enter)
    assert {m for _, m, _ in agent.calls} == {"hello"}


def test_a_failure_is_said_and_no_empty_history_shown(console):
    console.customer.value = "acme"
    console.message.value = "fine"
    console.send.click()
    console.message.value = "break"
    console.send.click()
    assert "can&#39;t be reached" in console.status.value
    assert console.message.value == "break"  # it can be sent again
    assert "fine" in console.sides.value
    assert not any(button.disabled for button in console._buttons)


def test_a_timeline_that_can_not_be_read_is_an_error(console, agent, monkeypatch):
    console.customer.value = "acme"

    def fail(customer):
        raise BankError("no server")

    monkeypatch.setattr(agent, "timeline", fail)
    console.message.value = "hello"
    console.send.click()
    assert "can&#39;t be read: no server" in console.timeline.value
    assert "Nothing is remembered" not in console.timeline.value


def test_another_customer_sees_nothing_of_the_last_one(console):
    console.customer.value = "acme"
    console.message.value = "secret of acme"
    console.send.click()
    console.customer.value = "globex"
    assert "secret" not in console.sides.value + console.timeline.value + console.status.value
    console.customer.value = "acme"
    console.customer.value = " odd"  # a refused name leaves nobody's memory on the page
    assert "secret" not in console.sides.value + console.timeline.value + console.status.value


def test_forgetting_a_customer_asks_once_more(console, agent):
    console.customer.value = "acme"
    console.message.value = "secret"
    console.send.click()
    console.forget_all.click()
    assert (console.forget_all.description, len(agent.store.all("acme"))) == ("Really forget?", 1)
    console.resolve.click()  # anything else takes the question back
    assert console.forget_all.description == "Forget customer"
    console.forget_all.click()
    console.forget_all.click()
    assert agent.store.all("acme") == []
    assert "secret" not in console.sides.value + console.timeline.value


# -- served by Voilà, in a browser ------------------------------------------------------------------------------------------


def test_the_command_refuses_a_missing_folder(tmp_path):
    assert "no such folder" in refused("console", "--home", tmp_path / "nowhere")


def test_the_page_is_one_cell_without_outputs(tmp_path):
    import nbformat

    page = nbformat.read(write_page(tmp_path), as_version=4)
    nbformat.validate(page)
    assert [(c.cell_type, c.outputs) for c in page.cells] == [("code", [])]
    assert "Content-Security-Policy" in (tmp_path / "voila.json").read_text("utf-8")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The console on a free port, over a folder in which acme has a history and globex a secret."""
    if not CHROMIUM.exists():
        pytest.skip(f"no browser: {CHROMIUM} is missing (apt-get install chromium)")
    for package in ("playwright", "voila", "ipywidgets"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    folder = tmp_path_factory.mktemp("console")
    store = JsonStore(folder / "home")
    for customer, text in (("acme", "update the client"), ("globex", "globex secret")):
        told = Telling(WHEN.astimezone(UTC), "march", "user", "worked", text)
        store.add(
            customer, [remembered(customer, "attempt", text, told, symptoms=["the client crashes on big uploads"])]
        )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environ = {k: v for k, v in os.environ.items() if k not in NO_MODEL and not k.startswith("HINDSIGHT")}
    process = start_console(
        folder, folder / "home", port=port, browser=False, environ={**environ, "MEMLAB_STORE": "json"}
    )
    try:
        for _ in range(240):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, "Voilà ended before it was ready"
            time.sleep(0.25)
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(timeout=20)


@pytest.fixture(scope="module")
def page(address: str) -> Iterator[Any]:
    """The open page; the test fails on script errors, dialogs, reloads, and on anything that reaches another host."""
    from playwright.sync_api import sync_playwright

    trouble: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 1400})
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda e: trouble.append(f"error: {e}"))
        page.on("dialog", lambda d: (trouble.append(f"dialog: {d.message}"), d.dismiss()))
        page.on("response", lambda r: None if r.url.startswith(address) else trouble.append(f"answer from {r.url}"))
        page.goto(address)
        page.get_by_label("Message").wait_for()
        page.evaluate("window.notReloaded = true")
        yield page
        assert page.evaluate("window.notReloaded") is True
        browser.close()
    assert [t for t in trouble if not t.startswith("answer from data:")] == []


def status_says(page: Any, text: str) -> None:
    page.locator(".status", has_text=text).wait_for()


def test_the_page_talks_with_memory_on_and_off_by_keyboard_alone(page, tmp_path):
    page.get_by_label("Customer").focus()
    page.keyboard.type("acme")
    page.keyboard.press("Enter")
    status_says(page, "acme: 1 memories")
    page.get_by_label("Message").focus()
    page.keyboard.type(f"The client crashes again on big uploads. {HOSTILE}")
    page.keyboard.press("Enter")
    status_says(page, "Answered message 1")
    assert "widget-input" in page.evaluate("document.activeElement.className")  # ready for the next message
    assert page.get_by_label("Message").input_value() == ""
    off, on = page.locator("section[aria-label='Memory off']"), page.locator("section[aria-label='Memory on']")
    assert HOSTILE in off.inner_text()
    assert HOSTILE in on.inner_text()
    assert page.locator(".memlab-console img").count() == 0
    assert "update the client" in on.locator("details").inner_text()
    assert "update the client" not in off.inner_text()
    assert "worked" in page.locator("section[aria-label='Timeline of acme']").inner_text()
    page.screenshot(path=str(tmp_path / "both.png"), full_page=True)
    assert (tmp_path / "both.png").stat().st_size > 10_000


def test_every_control_is_reached_by_tab_with_a_focus_that_can_be_seen(page):
    page.get_by_label("Customer").focus()
    look = "() => { const e = document.activeElement, s = getComputedStyle(e); return [e.textContent || e.placeholder, s.outlineStyle, parseFloat(s.outlineWidth)]; }"
    seen = [page.evaluate(look)]
    for _ in range(9):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(look))
    names = [name for name, _, _ in seen]
    assert names[1:9] == [
        "one a day", "side by side", "memory on", "memory off", "what the customer says", "Send", "Mark resolved",
        "Forget conversation",
    ]  # fmt: skip
    assert all(style == "solid" and width >= 2 for _, style, width in seen)


def test_a_problem_is_marked_resolved_and_forgotten(page):
    page.get_by_role("button", name="Mark resolved").press("Enter")
    status_says(page, "Marked resolved")
    timeline = page.locator("section[aria-label='Timeline of acme']")
    assert "solved" in timeline.inner_text()
    page.get_by_role("button", name="Forget customer").press("Space")
    status_says(page, "This erases everything")
    page.get_by_role("button", name="Really forget?").press("Space")
    status_says(page, "Forgot everything of acme")
    assert "Nothing is remembered" in timeline.inner_text()


def test_another_customer_and_memory_off_show_nothing_of_the_first(page):
    page.get_by_label("Customer").fill("initech")
    page.keyboard.press("Enter")
    status_says(page, "initech: 0 memories")
    page.get_by_role("button", name="memory off").press("Enter")
    status_says(page, "initech: memory off")
    page.get_by_label("Message").fill("the client crashes on big uploads")
    page.get_by_role("button", name="Send").press("Enter")
    status_says(page, "Answered message 1")
    text = page.locator(".memlab-controls").inner_text()
    assert "secret" not in text
    assert "update the client" not in text
    assert page.locator("section[aria-label='Memory on']").count() == 0


def test_an_odd_name_is_refused_on_the_page(page):
    page.get_by_label("Customer").fill(" acme")
    page.keyboard.press("Enter")
    page.locator(".status.error[role=alert]", has_text="white space").wait_for()
    assert page.locator("section").count() == 0
