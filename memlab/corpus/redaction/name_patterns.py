"""Where names stand: after greetings and titles, in signatures, where people introduce themselves or name others."""

from __future__ import annotations

import re

__all__ = ["CAPITAL", "GIVEN", "PARTICLE", "PLACES", "SMALL"]

# Possessive and bounded, so that no text can make the search slow.
CAPITAL = r"(?:(?<![\w'’-])[A-ZÀ-ÖØ-ÞĀ-Ž][\w'’-]{1,30}+(?![\w'’-])|(?<!\w)[A-ZÀ-Þ]\.)"
PARTICLE = r"(?:van|von|vom|de|den|der|del|di|da|du|la|le|ter|ten|zu|bin|el|al)"
_TITLE = r"(?:(?:Dr|Prof|Ing|Mr|Mrs|Ms|Mx|Herrn?|Frau|Fr|Hr|Monsieur|Madame|Mme|Mlle|M|Mevrouw|Meneer|Dhr|Mevr)\.?\s+)"
_NAME = rf"{CAPITAL}(?:[ \t]+(?:{PARTICLE}[ \t]+){{0,3}}{CAPITAL}){{0,3}}"
_VALUE = rf"{_TITLE}*(?P<value>{_NAME})"

_GREETING = (
    r"(?:hi|hello|hey|hallo|hej|hoi|dear|moin|servus|liebe[rs]?|guten (?:tag|morgen|abend)|"
    r"good (?:morning|afternoon|evening|day)|sehr geehrte[rs]?|bonjour|bonsoir|salut|cher|chère|beste|goedemorgen|"
    r"dag|merci|thx|thanks|thank you|danke|ciao)"
)
_GREETED = (
    rf"(?:^|(?<=[\s\"“(.!?,]))(?i:{_GREETING}),?[ \t]+{_VALUE}"
    rf"(?:[ \t]+(?:and|und|et|en|&)[ \t]+{_TITLE}*(?P<second>{_NAME}))?"
)
_GREETED_SMALL = (
    r"(?:^|(?<=[\n\"“]))[ \t]*(?i:hi|hello|hey|hallo|moin|dear|salut)[ \t]+"
    r"(?P<value>[a-zà-ž]{3,14})(?=[ \t]*[,!]|[ \t]*$)"
)
# A greeting, then one's own name: "Hi ihr, Anja Kretschmer (…)", "Good day, Siegfried Buck from hall 2".
_GREETED_SELF = (
    rf"(?:^|\n)[ \t]*(?i:{_GREETING})(?:[ \t]+[a-z]+)?,[ \t]+(?P<value>{CAPITAL}(?:[ \t]+{CAPITAL})+)"
    r"(?=[ \t]*(?:[,(–-]|from\b|aus\b|du\b|van\b))"
)
_TITLED = rf"\b{_TITLE}+(?P<value>{_NAME})"
# What a machine wrote down from a call has no capitals: "good afternoon mister eisele".
_TITLED_SMALL = r"\b(?:mister|mr|mrs|miss|herr|frau|monsieur|madame)\s+(?P<value>[a-zß-ž]{3,20})\b"

_BYE = (
    r"(?:(?:kind|best|warm|many|with (?:kind|best|friendly)) +(?:regards|wishes|greetings)|regards|cheers|thanks|"
    r"thank you|thx|br|kr|rgds|yours(?: sincerely| truly)?|sincerely(?: yours)?|best|mfg|lg|vg|gruß|grüße|"
    r"(?:viele|liebe|beste|schöne) grüße|mit freundlichen grüßen|freundliche grüße|grüße aus \w+|cordialement|cdt|"
    r"bien à vous|bàv|merci|met vriendelijke groet(?:en)?|mvg|groet(?:en|jes)?|sent from my \w+\b)"
)
_SIGNED = (
    rf"(?im:^|(?<=[.!?,]))[ \t]*(?i:{_BYE})[ \t]*[,.!–—-]*[ \t]*\n?[ \t]*[–—-]?[ \t]*{_VALUE}"
    r"(?=[ \t]*(?:$|[,.!–—(|]|\n))"
)
_LAST_LINE = rf"\n[ \t]*(?:[–—-]{{1,2}}[ \t]*)?{_TITLE}*(?P<value>{CAPITAL}(?:[ \t]+{CAPITAL})?)[ \t]*\.?\s*\Z"

_SELF = (
    r"(?:\b(?i:my name is|my name's|mein name ist|ich hei(?:ß|ss)e|je m['’]appelle|mon nom est|ik ben|c['’]est|ici|"
    r"this is|hier ist|hier schreibt|here writes|hello is|it['’]s)|\b(?:I['’]m|I am|ich bin|je suis|hier))"
    rf"[ \t]+{_VALUE}"
)
_SELF_SMALL = (
    r"(?i)\b(?:my name is|mein name ist|ich heiße|je m['’]appelle)[ \t]+"
    r"(?P<value>[^\W\d_]+(?:[ \t]+(?!i['’]?m\b|and\b|from\b|und\b|at\b)[^\W\d_]+)?)"
)
_HERE = rf"(?P<value>{_NAME})[ \t]+(?:here|hier|speaking|am Apparat|à l['’]appareil)\b"
# A line that begins with a name and goes on with how to reach it, and a name beside an address.
_CARD = (
    rf"(?:^|\n|[:–-][ \t])[ \t]*(?P<value>{CAPITAL}(?:[ \t]+(?:{PARTICLE}[ \t]+)?{CAPITAL}){{1,2}}),"
    r"(?=[^\n]{0,80}(?:@|\d\d[\s/-]?\d\d))"
)
_BESIDE = rf"(?P<value>{_NAME})[ \t]*[,(<\[]+[ \t]*(?:mailto:)?(?=[\w.+-]+@)"
_ROLE_OF = rf"(?:^|(?<=[.!?] ))(?P<value>{_NAME})[ \t]+\((?=[a-z])"

_ABOUT = (
    r"\b(?i:my (?:colleague|boss|manager|neighbour)|colleagues?|collègue|kolleg(?:e|in)|collega|chef(?:in)?|"
    r"ask(?:ed)?(?: for)?|tell|told|contact|next to|number of|cc|frag(?:t|en)?|demandez|sagt|from:|name:)"
    rf"[ \t]+{_VALUE}"
)
_CALL = (
    rf"\b(?:call|phone|ring|reach)[ \t]+{_VALUE}"
    r"(?=[ \t]+(?:on|at|under|back|about|auf|unter)\b|[ \t]*[,.!?(]|$)"
)

PLACES = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        *(_TITLED, _TITLED_SMALL, _GREETED, _GREETED_SELF, _GREETED_SMALL, _SIGNED, _SELF, _SELF_SMALL, _HERE),
        *(_ABOUT, _CALL, _CARD, _BESIDE, _ROLE_OF, _LAST_LINE),
    )
)
GIVEN = re.compile(
    rf"(?<![\w@.\\/-])(?=(?P<value>{CAPITAL}(?:[ \t]+(?:{PARTICLE}[ \t]+){{0,3}}{CAPITAL}){{0,2}})(?![\w@\\/]))"
    r"(?P<first>[\w-]+)"
)
SMALL = re.compile(r"(?<![\w@.\\/-])[a-zà-ž]{5,}(?![\w@\\/.-]\w|[\w@])")
