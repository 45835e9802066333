"""The support console as widgets: a thin layer over a session and its HTML, for JupyterLab and Voilà alike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memlab.agent.agent import SupportAgent
from memlab.agent.console_html import controls_css, sides_html, status_html, timeline_html
from memlab.agent.console_session import Exchange, Mode, Session
from memlab.errors import InputError, MemlabError

__all__ = ["Console"]

_MODES: dict[str, Mode] = {"side by side": "both", "memory on": "on", "memory off": "off"}
_ON_ITS_WAY = 0.3  # seconds
_KEYS = "Tab moves between the fields, Enter in “Message” sends, Space presses a button."


class Console:
    """Customer, conversation, message and memory as fields; both sides, the status and the timeline as HTML.

    Parameters
    ----------
    agent : SupportAgent
        Who answers.
    customer : str
        Whose memory is opened first; empty for nobody's.

    Raises
    ------
    InputError
        If ipywidgets is not installed.
    """

    def __init__(self, agent: SupportAgent, *, customer: str = "") -> None:
        self._agent, self._session = agent, None if not customer else Session(agent, customer)
        self._armed = self._forgetting = False  # “Forget customer” asks once more
        self._entered = False  # Enter was pressed, and the text that it ends is still on its way
        self._make_fields(customer)
        self._make_buttons()
        self._wire()
        self.view = self._arranged()
        self._show(_KEYS)

    def _make_fields(self, customer: str) -> None:
        w, style = _widgets(), {"description_width": "7.5rem"}
        wide = {"layout": {"width": "auto", "flex": "1 1 16rem"}, "style": style, "continuous_update": False}
        self.customer = w.Combobox(
            value=customer, options=tuple(self._agent.store.customers()), description="Customer", ensure_option=False,
            placeholder="exact name, then Enter", **wide,
        )  # fmt: skip
        self.conversation = w.Text(description="Conversation", placeholder="one a day", **wide)
        self.mode = w.ToggleButtons(
            options=list(_MODES),
            description="Memory",
            layout={"width": "100%"},
            style={**style, "button_width": "8rem"},
        )
        self.message = w.Text(description="Message", placeholder="what the customer says", **wide)
        self.status, self.sides, self.timeline = w.HTML(), w.HTML(), w.HTML()

    def _make_buttons(self) -> None:
        def button(name: str, what: str, **more: Any) -> Any:
            return _widgets().Button(description=name, tooltip=what, layout={"width": "auto"}, **more)

        self.send = button("Send", "Send the message", button_style="primary")
        self.resolve = button("Mark resolved", "The open problem is solved; a person says so")
        self.forget = button("Forget conversation", "Erase what this conversation told")
        self.forget_all = button("Forget customer", "Erase everything of this customer; press twice")
        self._buttons = (self.send, self.resolve, self.forget, self.forget_all)

    def _arranged(self) -> Any:
        w = _widgets()

        def row(*parts: Any) -> Any:
            return w.HBox(parts, layout={"flex_flow": "row wrap"})

        rows = [
            w.HTML(f"<style>{controls_css()}</style>"),
            row(self.customer, self.conversation),
            self.mode,
            row(self.message, self.send),
            row(self.resolve, self.forget, self.forget_all),
        ]
        view = w.VBox([*rows, self.status, self.sides, self.timeline])
        view.add_class("memlab-controls")
        return view

    @classmethod
    def open(cls, home: str | Path, *, customer: str = "", **options: Any) -> Console:
        """A console on a folder of banks; see `SupportAgent.open`."""
        return cls(SupportAgent.open(home, **options), customer=customer)

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.view)  # type: ignore[no-untyped-call]

    # -- what the fields do -------------------------------------------------------------------------------------------

    def _wire(self) -> None:
        self.customer.observe(lambda _: self._do(self._choose), "value")
        self.mode.observe(lambda _: self._do(lambda session: f"{session.customer}: {self.mode.value}"), "value")
        self.message.on_msg(lambda _, content, __: self._submitted(content))
        self.message.observe(lambda _: self._typed(), "value")
        self.send.on_click(lambda _: self._do(self._say))
        self.resolve.on_click(lambda _: self._do(lambda session: session.resolve()))
        self.forget.on_click(lambda _: self._do(self._forget_conversation))
        self.forget_all.on_click(lambda _: self._do(self._forget_customer))

    def _submitted(self, content: dict[str, Any]) -> None:
        """Enter: the browser says so just before it sends the text, or alone if the text was sent on leaving the field."""
        if content.get("event") != "submit":
            return
        self._entered = True
        try:
            asyncio.get_running_loop().call_later(_ON_ITS_WAY, self._waited)
        except RuntimeError:  # no loop: nothing can be on its way
            self._waited()

    def _waited(self) -> None:
        self._typed()
        self._entered = False

    def _typed(self) -> None:
        if self._entered and self.message.value:
            self._entered = False
            self._do(self._say)

    def _do(self, action: Callable[[Session], str]) -> None:
        """Run one action; what memlab refuses or can't do stands in the status line, and never as an empty history."""
        for button in self._buttons:
            button.disabled = True
        self.status.value = status_html("Working …")
        self._armed, self._forgetting = self._forgetting, False
        try:
            self._show(action(self._current()))
        except MemlabError as error:
            self._show(str(error), error=True)
        finally:
            self.forget_all.description = "Really forget?" if self._forgetting else "Forget customer"
            for button in self._buttons:
                button.disabled = False

    def _current(self) -> Session:
        name = self.customer.value
        if not name:
            self._session = None
            raise InputError("name a customer first")
        if self._session is None or self._session.customer != name:
            self._session = None  # nothing of another customer may stay on the page if the name is refused
            self._session = Session(self._agent, name)
        self._session.mode = _MODES[self.mode.value]
        self._session.conversation = self.conversation.value.strip() or None
        return self._session

    def _choose(self, session: Session) -> str:
        return f"{session.customer}: {len(session.timeline())} memories. {_KEYS}"

    def _say(self, session: Session) -> str:
        session.say(self.message.value)
        self.message.value = ""
        self.message.focus()
        return f"Answered message {sum(isinstance(item, Exchange) for item in session.items)}."

    def _forget_conversation(self, session: Session) -> str:
        if session.conversation is None:
            raise InputError("name the conversation to forget")
        return session.forget(conversation=session.conversation)

    def _forget_customer(self, session: Session) -> str:
        if not self._armed:
            self._forgetting = True
            return f"This erases everything that is remembered of {session.customer}. Press “Really forget?” to do it."
        return session.forget()

    def _show(self, text: str, *, error: bool = False) -> None:
        self.status.value = status_html(text, error=error)
        session = self._session
        if session is None:
            self.sides.value = self.timeline.value = ""
            return
        try:
            self.timeline.value = timeline_html(session.timeline())
        except MemlabError as failed:
            self.timeline.value = status_html(f"The timeline can't be read: {failed}", error=True)
        self.sides.value = sides_html(session)


def _widgets() -> Any:
    try:
        import ipywidgets
    except ImportError:
        raise InputError("the live console needs ipywidgets: pip install 'memlab[console]'") from None
    return ipywidgets
