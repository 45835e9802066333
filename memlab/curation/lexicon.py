"""Words that the guards and the pair model know something about, as plain lists: English, some German and French."""

from __future__ import annotations

__all__ = [
    "ALL", "AUXILIARY", "BARE", "CLASSES", "ENTERING", "FAILURE", "GENERIC", "MANNER", "NEGATION", "ONE", "OPPOSITES", "OTHER", "PERCEIVE", "PRODUCTS", "RELATIONS",
    "SELF", "SIZES", "SPEAKER", "STATES", "STOP", "SYSTEMS", "UNITS", "VAGUE", "WEAK",
]  # fmt: skip


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP = _words(
    """a an and are as at be been but by did do does for from had has have in into is it its of on onto or so than that
    the their then there these this those to was were when where which while will with i me my mine we us our you your
    he she they them just only also very really still again now get gets got getting keep keeps any some all am if more
    longer anymore mehr der die das den dem ein eine einen und oder ist sind war hat haben ich mir mein meine es im in
    am auf mit von zu für le la les un une des du de et ou est sont je me mon ma il elle dans sur avec pour que qui ne"""
)
NEGATION = _words("not no never without nothing nobody none cannot nicht kein keine keinen ohne nie pas sans jamais")
AUXILIARY = _words("can could will would shall should may let")
FAILURE = _words(
    """error errors fail fails failed failure failing problem problems issue issues unable refuse refuses refused silent
    only trouble wrong broken dead impossible fehler problem nur erreur échec seulement"""
)
"""Words that say that something goes wrong: beside them, a negation on the other side says nothing new."""
SELF = _words("i me my we us our myself ich mir mich je moi")
OTHER = _words(
    """others other they them their people anyone anybody everyone everybody nobody noone someone somebody colleagues
    colleague caller callers participants participant attendees customer customers andere anderen autres"""
)
PERCEIVE = _words("hear hears heard see sees seen understand call reach hören sehen entendre voir")
ALL = _words("all every everyone everybody each nobody noone none whole entire alle jeder niemand tous toutes personne")
ONE = _words("one single sole einer einzelner einzige seul seule")
UNITS = _words(
    """s sec second seconds min mins minute minutes h hour hours day days week weeks month months am pm uhr times time x
    people users colleagues of pages % percent"""
)
SIZES = _words("gb mb tb kb ghz mhz khz mbit gbit mbps bit inch zoll volt watt dpi hz")
"""Units of what a thing is rather than of what differs from case to case: a number before one of them names the thing."""
PRODUCTS = {
    "teams": "teams msteams", "outlook": "outlook", "onedrive": "onedrive", "sharepoint": "sharepoint",
    "vpn": "vpn anyconnect globalprotect tunnel wireguard openvpn forticlient", "excel": "excel", "word": "winword",
    "zoom": "zoom", "citrix": "citrix", "sap": "sap", "printer": "printer drucker imprimante", "scanner": "scanner",
    "mouse": "mouse", "keyboard": "keyboard", "chrome": "chrome", "edge": "edge", "firefox": "firefox",
    "intune": "intune", "slack": "slack", "webex": "webex", "bitlocker": "bitlocker", "mac": "mac macbook macos",
}  # fmt: skip
SYSTEMS = {
    "windows": "windows", "mac": "mac macbook macos", "ios": "ios iphone ipad", "android": "android", "linux": "linux",
}  # fmt: skip
"""Operating systems: named on both sides and different, they keep apart like products."""
GENERIC = _words(
    """laptop notebook pc computer machine workstation rechner app application program client windows microsoft office
    system device software work works working problem issue error message help please since today yesterday morning
    monday tuesday wednesday thursday friday saturday sunday seem seems say says said show shows try tried tries tell
    told use uses used using user always hi hello thanks thank anyone everyone problem fehler seit heute gestern morgen
    hallo bitte danke bonjour merci depuis problème erreur aujourd'hui hier teams msteams outlook onedrive sharepoint
    vpn anyconnect globalprotect excel word zoom citrix sap printer drucker imprimante scanner chrome edge firefox
    intune slack webex mac macbook macos"""
)
"""Words that say nothing about *which* problem of a product it is: sharing them makes no two wordings the same."""
CLASSES = tuple(
    line.split()
    for line in """clear delete remove purge flush wipe erase
wrong incorrect incorrectly
broken broke defective faulty damaged corrupt corrupted defect kaputt
laptop notebook pc computer machine workstation rechner
screen monitor display bildschirm écran
microphone mic mikrofon micro
mail mails email emails e-mail
phone mobile smartphone handset handy
add-in addin add-ins plug-in plugin add-on addon
licence license lizenz
certificate cert zertifikat
restart reboot neustart
freeze freezes frozen froze hang hangs hung stuck
slow crawl crawls sluggish laggy langsam
missing gone lost disappeared vanished verschwunden
blank empty white leer
drop drops dropped disconnect disconnects disconnected
reject rejects rejected refused denied declined
replace swap
connect plug attach
assign give grant
password passwort kennwort
printer drucker imprimante
login logon signin sign-in log-in
logout logoff signout sign-out log-out
locked blocked
disable disabled deactivate deactivated
enable enabled activate activated
wi-fi wifi wlan wireless
crashed died crash crashes
stopped dead
update upgrade
colleague colleagues coworker coworkers
conference meeting meetings""".splitlines()
)
"""Words of one meaning here; the first one stands for all."""
STATES = _words(
    """full missing locked disabled expired revoked stopped crashed freeze slow blank black offline read-only flicker
    loud rejected drop renamed upside silent"""
)
"""What may be the matter with one thing: two different ones are two problems."""
MANNER = _words("slow read-only flicker loud renamed upside")
"""States of something that does happen, only badly: where the other side says that it does not happen, two problems."""
SPEAKER = _words("i me we us ich mir mich wir uns je moi nous")
RELATIONS = _words(
    """accept access allow answer assign block book call change connect copy delete detect find follow forward get give
    hear include invite join keep know leave load lock miss mirror mount move open overwrite pair print reach read receive
    recognise redirect reject remove replace reset ring see send sent share show start stop sync track trust turn update
    use wait wake write"""
)
"""Words between a doer and what it is done to: where the two trade places, it is another problem."""
OPPOSITES = [
    ("visible", "hidden"), ("incoming", "outgoing"), ("inbound", "outbound"), ("upload", "download"),
    ("enable", "disable"), ("install", "uninstall"), ("send", "receive"), ("sent", "received"),
    ("add", "remove"), ("open", "close"), ("start", "stop"), ("on", "off"), ("before", "after"), ("left", "right"),
    ("internal", "external"), ("connect", "disconnect"), ("lock", "unlock"), ("allow", "block"),
    ("wired", "wireless"), ("increase", "decrease"), ("old", "new"), ("first", "last"),
    ("microphone", "speaker"), ("camera", "microphone"), ("upgrade", "downgrade"),
    ("update", "rollback"), ("with", "without"), ("ahead", "behind"), ("expand", "collapse"), ("mute", "unmute"),
    ("inbox", "outbox"), ("input", "output"), ("public", "private"), ("import", "export"), ("encrypt", "decrypt"),
    ("minimum", "maximum"), ("sender", "recipient"), ("local", "remote"), ("server", "client"), ("portrait", "landscape"),
    ("horizontal", "vertical"), ("front", "rear"), ("top", "bottom"), ("startup", "shutdown"), ("boot", "shutdown"),
    ("personal", "shared"), ("home", "office"), ("morning", "evening"), ("day", "night"), ("join", "leave"),
    ("assign", "revoke"), ("light", "dark"), ("tcp", "udp"), ("fast", "slow"), ("push", "pull"), ("mount", "unmount"),
]  # fmt: skip
# Words that also do other work ("hold on, it is new"): opposites only between sentences that are alike.
WEAK = _words(
    "on off old new first last before after left right open close start stop with light fast server client home office "
    "morning evening day night personal local top join leave read"
)
VAGUE = _words("one ones new other another own same")
"""Words that name nothing by themselves: standing in another's place they part nothing."""
BARE = {
    "cant": "can", "dont": "do", "doesnt": "does", "didnt": "did", "wont": "will", "isnt": "is", "arent": "are",
    "wasnt": "was", "couldnt": "could", "havent": "have", "hasnt": "has", "dosent": "does",
}  # fmt: skip
"""Negations that are often written without their apostrophe."""
ENTERING = _words("sign signs signed signing log logs logged logging")
"""With "in" or "on" behind: a sign-in; with "out" or "off": a sign-out."""
