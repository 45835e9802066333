"""Readers of foreign formats, on small fixtures of our own in the same form; and on arbitrary data, which never breaks them."""

from __future__ import annotations

import json
from email.message import EmailMessage

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memlab.corpus import read_conversations
from memlab.corpus.formats import FORMATS
from memlab.corpus.reading import Options, Skipped
from memlab.errors import InputError
from memlab.records import Conversation


def read(tmp_path, data, form, name="f.json", **options):
    path = tmp_path / name
    path.write_text(data if isinstance(data, str) else json.dumps(data, ensure_ascii=False), "utf-8")
    return read_conversations(path, format=form, **{"customer": "acme", **options})


def said(conversation):
    return [(t.role, t.text) for t in conversation.turns]


def test_openai_chats(tmp_path):
    messages = [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": [{"type": "text", "text": "VPN is down"}, {"type": "image_url", "image_url": {}}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "t1", "function": {"name": "ping", "arguments": '{"h":1}'}}],
        },
        {"role": "tool", "tool_call_id": "t1", "content": "timeout"},
        {"role": "assistant", "content": "The gateway is down."},
    ]
    lines = "\n".join(
        map(json.dumps, [{"messages": messages, "created": 1772442000}, {"messages": "no"}, {"messages": messages}])
    )
    report = read(tmp_path, lines, "openai")
    # The call itself has no text; its result is told with the call.
    assert said(report[0]) == [
        ("user", "VPN is down"),
        ("tool", 'ping({"h":1}): timeout'),
        ("agent", "The gateway is down."),
    ]
    assert report[0].started_at.isoformat() == "2026-03-02T09:00:00+00:00"
    assert report[0].metadata == {"left_out": 1}
    assert [s.line for s in report.skipped] == [2, 3]
    assert "has no time" in report.skipped[1].reason
    again = read(tmp_path, json.dumps({"messages": messages}), "openai", at="2026-03-01T00:00:00Z")
    assert again[0].started_at.isoformat() == "2026-03-01T00:00:00+00:00"
    # The id is made of the messages: the same chat gets the same one wherever it stands.
    assert again[0].id == report[0].id


ZENDESK = {
    "id": 35436,
    "subject": "Printer on fire",
    "description": "It smokes.",
    "status": "solved",
    "tags": ["printer"],
    "requester_id": 1,
    "created_at": "2026-03-02T09:00:00Z",
    "organization": {"name": "fabrikam"},
    "comments": [
        {
            "author_id": 2,
            "public": True,
            "plain_body": "Unplug it.\n\nOn Mon, 2 Mar 2026 Jo wrote:\n> It smokes.",
            "created_at": "2026-03-02T09:05:00Z",
        },
        {"author_id": 1, "public": True, "body": "It smokes.", "created_at": "2026-03-02T09:00:00Z"},
        {"author_id": 3, "public": False, "html_body": "<p>fuser is worn</p>", "created_at": "2026-03-02T09:06:00Z"},
    ],
}


@pytest.mark.parametrize("wrap", [lambda t: t, lambda t: {"tickets": [t], "count": 1}, lambda t: [t]])
def test_zendesk_tickets(tmp_path, wrap):
    report = read(tmp_path, wrap(ZENDESK), "zendesk", columns={"customer": "organization.name"}, customer=None)
    ticket = report[0]
    # The first comment is the description: it is there once, behind the subject; comments are in the order of time.
    assert said(ticket) == [
        ("user", "Printer on fire\n\nIt smokes."),
        ("agent", "Unplug it."),
        ("agent", "fuser is worn"),
    ]
    assert (ticket.id, ticket.customer, ticket.requester) == ("35436", "fabrikam", "1")
    # Two quoted lines: the one that introduces the quote, and the quote.
    assert ticket.metadata == {"status": "solved", "tags": ["printer"], "quoted_lines_cut": 2, "private_notes": 1}


def test_zendesk_needs_a_customer(tmp_path):
    assert "say whose conversations" in read(tmp_path, ZENDESK, "zendesk", customer=None).skipped[0].reason


INCIDENT = {
    "number": "INC0010023",
    "short_description": "VPN drops",
    "description": "every 10 minutes",
    "opened_at": "2026-03-02 09:00:00",
    "caller_id": {"display_value": "Jo Doe", "link": "https://x"},
    "work_notes": "2026-03-02 09:20:00 - Al Tuter (Work notes)\nMTU is 1500,\nshould be 1350\n\n",
    "comments": "2026-03-02 09:30:00 - Jo Doe (Additional comments)\nworks now\n\n2026-03-02 09:10:00 - Al Tuter (Additional comments)\nwhich network?\n",
    "close_notes": "MTU set to 1350",
    "closed_at": "2026-03-02 10:00:00",
}


def test_servicenow_incidents(tmp_path):
    report = read(tmp_path, {"result": [INCIDENT]}, "servicenow", zone="Europe/Berlin")
    assert said(report[0]) == [
        ("user", "VPN drops\n\nevery 10 minutes"),
        ("agent", "which network?"),
        ("agent", "MTU is 1500,\nshould be 1350"),
        ("user", "works now"),
        ("agent", "MTU set to 1350"),
    ]
    assert report[0].turns[1].at.isoformat() == "2026-03-02T09:10:00+01:00"
    assert report[0].metadata == {"work_notes": 1}
    assert "no UTC offset" in read(tmp_path, {"result": [INCIDENT]}, "servicenow").skipped[0].reason
    odd = {**INCIDENT, "work_notes": "02/03/2026 - Al\nx"}
    assert "does not begin with an entry" in read(tmp_path, [odd], "servicenow", zone="UTC").skipped[0].reason


def test_servicenow_journal_rows(tmp_path):
    row = {
        "element": "work_notes",
        "value": "looked at it",
        "sys_created_on": "2026-03-02 09:20:00",
        "sys_created_by": "al",
    }
    report = read(tmp_path, [{**INCIDENT, "work_notes": [row], "comments": ""}], "servicenow", zone="UTC")
    assert ("agent", "looked at it") in said(report[0])


def test_slack_threads_over_the_days_of_a_folder(tmp_path):
    channel = tmp_path / "it-help"
    channel.mkdir()
    (tmp_path / "users.json").write_text(json.dumps([{"id": "U1", "real_name": "Jo Doe"}, {"id": "U2", "name": "al"}]))
    first = [
        {
            "type": "message",
            "user": "U1",
            "text": "vpn &amp; mail down, see <https://st.example|status>",
            "ts": "1772442000.000100",
            "thread_ts": "1772442000.000100",
        },
        {"type": "message", "subtype": "channel_join", "user": "U9", "text": "joined", "ts": "1772442001.000000"},
        {"type": "message", "user": "U3", "text": "printer?", "ts": "1772442005.000000"},
    ]
    second = [
        {"type": "message", "user": "U1", "text": "works", "ts": "1772528401.000000", "thread_ts": "1772442000.000100"},
        {
            "type": "message",
            "user": "U2",
            "text": "<@U1> restart it",
            "ts": "1772528400.000000",
            "thread_ts": "1772442000.000100",
        },
        {
            "type": "message",
            "subtype": "bot_message",
            "bot_id": "B1",
            "text": "gateway up",
            "ts": "1772528400.500000",
            "thread_ts": "1772442000.000100",
        },
        {
            "type": "message",
            "user": "U2",
            "text": "<@U1> restart it",
            "ts": "1772528400.000000",
            "thread_ts": "1772442000.000100",
        },
        {"type": "message", "user": "U2", "text": "no time"},
    ]
    (channel / "2026-03-02.json").write_text(json.dumps(first))
    (channel / "2026-03-03.json").write_text(json.dumps(second, indent=1))
    report = read_conversations(channel, format="slack", customer="acme")
    assert [c.id for c in report] == ["it-help-1772442000.000100", "it-help-1772442005.000000"]
    assert said(report[0]) == [
        ("user", "vpn & mail down, see status (https://st.example)"),
        ("agent", "@Jo Doe restart it"),
        ("tool", "gateway up"),
        ("user", "works"),
    ]
    assert report[0].requester == "Jo Doe"
    assert [s.reason[:8] for s in report.skipped] == ["ts must "]


def test_who_helps_in_a_channel_can_be_told(tmp_path):
    messages = [
        {
            "type": "message",
            "user": "U2",
            "text": "heads-up: vpn update",
            "ts": "1772442000.0",
            "thread_ts": "1772442000.0",
        },
        {"type": "message", "user": "U1", "text": "mine broke", "ts": "1772442001.0", "thread_ts": "1772442000.0"},
    ]
    assert [r for r, _ in said(read(tmp_path, messages, "slack")[0])] == ["user", "agent"]
    assert [r for r, _ in said(read(tmp_path, messages, "slack", columns={"agents": "U2|U7"})[0])] == ["agent", "user"]


def test_teams_threads_by_reply(tmp_path):
    def message(id, text, minute, *, reply=None, user="u1", **more):
        body = {"contentType": "html", "content": f"<div>{text}</div>"}
        sender = {"user": {"id": user, "displayName": user.upper()}, "application": None}
        return {
            "id": id,
            "replyToId": reply,
            "messageType": "message",
            "createdDateTime": f"2026-03-02T09:{minute:02d}:00Z",
            "from": sender,
            "body": body,
            **more,
        }

    page = {
        "value": [
            message("2", "restart&nbsp;it", 5, reply="1", user="u2"),
            message("1", "no sound", 0, subject="Help", replies=[message("3", "works", 9, reply="1")]),
            message("4", "", 10, messageType="systemEventMessage"),
            message("5", "gone", 11, reply="1", deletedDateTime="2026-03-02T10:00:00Z"),
            {"id": "6", "createdDateTime": "yesterday", "body": {"content": "x"}},
        ]
    }
    report = read(tmp_path, page, "teams")
    assert said(report[0]) == [("user", "Help\n\nno sound"), ("agent", "restart it"), ("user", "works")]
    assert (report[0].id, report[0].requester) == ("1", "U1")
    assert ["not an ISO 8601 time" in s.reason for s in report.skipped] == [True]


def mail(sender, subject, body, *, id, refs="", date="Mon, 02 Mar 2026 09:00:00 +0100", **headers):
    message = EmailMessage()
    message["From"], message["Subject"], message["Date"], message["Message-ID"] = sender, subject, date, f"<{id}@x>"
    if refs:
        message["References"] = " ".join(f"<{r}@x>" for r in refs.split())
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(body)
    return message


def mbox(path, messages):
    data = b"".join(
        b"From x Mon Mar  2 09:00:00 2026\n" + m.as_bytes().replace(b"\nFrom ", b"\n>From ") + b"\n\n" for m in messages
    )
    path.write_bytes(data)
    return path


MAILS = [
    mail(
        "desk@acme.example",
        "AW: Drucker",
        "Bitte neu starten.\n\nAm 02.03.2026 schrieb Jo <jo@acme.example>:\n> druckt nicht",
        id="b",
        refs="a",
        date="Mon, 02 Mar 2026 10:00:00 +0100",
    ),
    mail("Jo <jo@acme.example>", "Drucker", "druckt nicht, Grüße Jo", id="a"),
    mail("jo@acme.example", "AW: Drucker", "läuft", id="d", refs="a b missing", date="Mon, 02 Mar 2026 11:00:00 +0100"),
    mail(
        "desk@acme.example",
        "Automatic reply",
        "I am away",
        id="e",
        refs="a",
        Auto_Submitted="auto-replied",
        date="Mon, 02 Mar 2026 10:01:00 +0100",
    ),
    mail("li@acme.example", "VPN", "drops", id="z", date="Tue, 03 Mar 2026 09:00:00 +0100"),
]


def test_mail_threads_of_an_mbox(tmp_path):
    report = read_conversations(mbox(tmp_path / "m.mbox", [*MAILS, MAILS[0]]), format="mail", customer="acme")
    assert [said(c) for c in report] == [
        [("user", "Drucker\n\ndruckt nicht, Grüße Jo"), ("agent", "Bitte neu starten."), ("user", "läuft")],
        [("user", "VPN\n\ndrops")],
    ]
    assert report[0].metadata == {"quoted_lines_cut": 2, "auto_replies": 1}
    assert report[0].requester == "jo@acme.example"


def test_mails_of_a_folder_and_a_desk_that_writes_first(tmp_path):
    for n, m in enumerate(MAILS):
        (tmp_path / f"{n}.eml").write_bytes(m.as_bytes())
    report = read_conversations(tmp_path, format="mail", customer="acme", columns={"agents": "jo@acme.example"})
    assert [r for r, _ in said(report[0])] == ["agent", "user", "agent"]
    assert len(read_conversations(tmp_path / "1.eml", format="mail", customer="acme")) == 1


def test_mails_that_lie_about_charset_or_have_no_date(tmp_path):
    odd = mail("a@x.example", "x", "WORD", id="q").as_bytes()
    lying = odd.replace(b'charset="utf-8"', b'charset="no-such-set"').replace(b"WORD", b"gr\xfcn")
    dateless = mail("a@x.example", "x", "plain", id="r", date="whenever").as_bytes()
    (tmp_path / "1.eml").write_bytes(lying)
    (tmp_path / "2.eml").write_bytes(dateless)
    naive = mail("a@x.example", "x", "plain", id="s", date="Mon, 02 Mar 2026 09:00:00 -0000").as_bytes()
    (tmp_path / "3.eml").write_bytes(naive)
    report = read_conversations(tmp_path, format="mail", customer="acme")
    assert report[0].turns[0].text == "x\n\ngrün"
    assert ["no readable Date" in report.skipped[0].reason, "no UTC offset" in report.skipped[1].reason] == [True, True]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no mail found"):
        read_conversations(tmp_path / "empty", format="mail", customer="acme")


def test_helpdesk_keeps_the_form_out_of_the_turns(tmp_path):
    def message(role, text, kind="message"):
        return {"role": role, "text": text, "kind": kind, "at": "2022-01-02 11:12"}

    messages = [
        message("assignee", "app down"),
        message("others", "solution: restart", "agent_form"),
        message("reporter", "fixed"),
    ]
    ticket = {
        "ticket_id": 7,
        "created": "2022-01-02 11:12",
        "messages": messages,
        "agent_form": {"solution": "restart"},
    }
    report = read(
        tmp_path, json.dumps(ticket) + "\n" + json.dumps({"ticket_id": 8, "messages": []}), "helpdesk", customer=None
    )
    assert [(s.line, s.reason[:8]) for s in report.skipped] == [(2, "ticket 8")]
    assert said(report[0]) == [("user", "app down"), ("user", "fixed")]
    assert report[0].metadata["agent_form"] == {"solution": "restart"}


def test_state_bench_puts_results_before_the_reply_that_uses_them(tmp_path):
    call = {"name": "get_order", "arguments": {"id": "O-1"}, "result": {"status": "lost"}}
    chat = [{"role": "user", "content": "where?"}, {"role": "assistant", "content": "lost", "tool_calls": [call]}]
    lines = "\n".join(json.dumps({"task": f"t{n}", "conversation": chat}) for n in (1, 2))
    report = read(tmp_path, lines, "state_bench", customer=None)
    assert said(report[0]) == [
        ("user", "where?"),
        ("tool", 'get_order({"id": "O-1"}): {"status": "lost"}'),
        ("agent", "lost"),
    ]
    assert [c.started_at.isoformat()[:16] for c in report] == ["2026-01-01T00:00", "2026-01-01T00:01"]
    assert report[0].metadata == {"time": "nominal"}


def test_tau2_tasks_and_simulations(tmp_path):
    task = {
        "id": "[mms]x",
        "intent": "mms",
        "ticket": "no MMS",
        "causes": ["x"],
        "fix_actions": [{"tool": "t"}],
        "split": "train",
    }
    simulation = {
        "id": "s1",
        "start_time": "2026-03-02T09:00:00+00:00",
        "task_id": "[mms]x",
        "reward_info": {"reward": 1.0},
        "messages": [
            {"role": "assistant", "content": "Hi"},
            {"role": "user", "content": "no MMS", "tool_calls": None},
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "name": "look", "arguments": {}}]},
            {"role": "tool", "id": "c1", "content": "APN wrong"},
        ],
    }
    report = read(tmp_path, [task, simulation, {"id": "y", "causes": ["y"], "fix": []}], "tau2", customer=None)
    assert [said(c) for c in report] == [
        [("user", "no MMS")],
        [("agent", "Hi"), ("user", "no MMS"), ("tool", "look(): APN wrong")],
    ]
    # What would answer the task is kept apart from what is said.
    assert report[0].metadata["ground_truth"] == {"causes": ["x"], "fix_actions": [{"tool": "t"}]}
    assert ["no ticket text" in s.reason for s in report.skipped] == [True]


def test_ubuntu_chats_that_run_over_midnight(tmp_path):
    clocks = [
        ("23:58", "asker", "help"),
        ("00:03", "helper_1", "reboot"),
        ("00:02", "bot", "!reboot"),
        ("00:09", "asker", "thx"),
    ]
    messages = [{"t": t, "who": who, "text": text} for t, who, text in clocks]
    chat = {"conv_id": "c#1", "date": "2010-03-02", "messages": messages, "weak_outcome": {"thanked": True}}
    report = read(tmp_path, json.dumps(chat), "ubuntu_irc", customer=None)
    assert [(t.role, t.at.isoformat()[:16]) for t in report[0].turns] == [
        ("user", "2010-03-02T23:58"),
        ("agent", "2010-03-03T00:03"),
        ("tool", "2010-03-03T00:02"),
        ("user", "2010-03-03T00:09"),
    ]


KEYS = sorted(
    {
        *ZENDESK,
        *ZENDESK["comments"][0],
        *INCIDENT,
        "element",
        "sys_created_on",
        "sys_created_by",
        "display_value",
        "html_body",
    }
    | {
        "role",
        "text",
        "content",
        "messages",
        "conversation",
        "created",
        "author",
        "user",
        "bot_id",
        "type",
        "subtype",
        "value",
        "replyToId",
    }
    | {
        "createdDateTime",
        "from",
        "replies",
        "task",
        "tool_calls",
        "arguments",
        "function",
        "result",
        "ticket",
        "intent",
        "conv_id",
        "date",
    }
    | {
        "t",
        "who",
        "ts",
        "thread_ts",
        "metadata",
        "tickets",
        "simulations",
        "causes",
        "reward_info",
        "requester",
        "customer",
        "messageType",
    }
)
WORDS = [
    "user",
    "assistant",
    "2026-03-02T09:00:00Z",
    "2026-03-02 09:00:00 - A (Work notes)\nx",
    "1772442000.0",
    "2010-03-02",
    "03:10",
    "x",
]
leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.sampled_from(WORDS)
)
values = st.recursive(
    leaves, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from(KEYS), v, max_size=6), max_leaves=15
)
records = st.dictionaries(st.sampled_from(KEYS), values, max_size=10)


plain = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=40).filter(
    lambda t: t.strip() and ">" not in t
)


@settings(max_examples=40, deadline=None)
@given(words=st.lists(plain, min_size=1, max_size=5))
def test_any_words_survive_the_way_through_a_chat_and_a_ticket(tmp_path_factory, words):
    path = tmp_path_factory.mktemp("round") / "f.json"
    roles = ["user", "assistant"] * len(words)
    chat = {"created": 1772442000, "messages": [{"role": r, "content": w} for r, w in zip(roles, words, strict=False)]}
    path.write_text(json.dumps(chat), "utf-8")
    assert [t.text for t in read_conversations(path, format="openai", customer="acme")[0].turns] == words
    comments = [{"author_id": 1, "body": w, "created_at": f"2026-03-02T09:00:{n:02d}Z"} for n, w in enumerate(words)]
    path.write_text(json.dumps({"id": 1, "requester_id": 1, "comments": comments}), "utf-8")
    ticket = read_conversations(path, format="zendesk", customer="acme")[0]
    # What stands around a comment is cut: mails end in white space.
    assert [t.text for t in ticket.turns] == [w.strip() for w in words]


@pytest.mark.parametrize("form", sorted(set(FORMATS) - {"csv", "parquet", "xlsx", "mail"}))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(found=st.lists(records, max_size=3))
def test_no_json_breaks_a_reader(tmp_path_factory, form, found):
    path = tmp_path_factory.mktemp("fuzz") / "f.jsonl"
    path.write_text("\n".join(map(json.dumps, found)), "utf-8")
    items = list(FORMATS[form](path, Options(customer="acme")))
    assert all(isinstance(item, (Conversation, Skipped)) for item in items)


@settings(max_examples=80, deadline=None)
@given(at=st.integers(0, 600), junk=st.binary(min_size=0, max_size=40), cut=st.integers(0, 600))
def test_no_mail_breaks_the_reader(tmp_path_factory, at, junk, cut):
    data = MAILS[0].as_bytes()
    data = data[:at] + junk + data[at + len(junk) : len(data) - cut]
    path = tmp_path_factory.mktemp("fuzz") / "f.eml"
    path.write_bytes(data)
    items = list(FORMATS["mail"](path, Options(customer="acme")))
    assert all(isinstance(item, (Conversation, Skipped)) for item in items)


@settings(max_examples=40, deadline=None)
@given(data=st.binary(max_size=200))
@pytest.mark.parametrize("form", sorted(set(FORMATS) - {"parquet", "xlsx"}))
def test_no_bytes_break_a_reader(tmp_path_factory, form, data):
    path = tmp_path_factory.mktemp("fuzz") / "f.eml"
    path.write_bytes(data)
    try:
        items = list(FORMATS[form](path, Options(customer="acme")))
    except InputError as error:
        assert str(path) in str(error)
    else:
        assert all(isinstance(item, (Conversation, Skipped)) for item in items)
