"""Patterns that can be checked: e-mail, cards, IBAN, social security numbers, addresses of the internet.

Each pattern starts at the border of a word and has bounded parts, so that the time they take is linear in
the length of the text, whatever it is. Without an extra package.
"""

import ipaddress
import re
from collections.abc import Iterator

from satchel.privacy.kinds import CREDIT_CARD, EMAIL, IBAN, IP_ADDRESS, US_SSN, Span
from satchel.privacy.tables import table

_EMAIL = re.compile(
    r"(?<![\w.+-])(?:[\w+-]|\.(?=[\w+-])|(?<=[^\W\d_])'(?=[^\W\d_])){1,64}+(?:@|%40)"
    r"((?:[^\W_](?:[^\W_]|-(?=[^\W_]|-)){0,62}+\.){1,8}(?:[^\W\d_]{2,24}+"
    r"|xn--[a-z0-9-]{2,40}+))(?![\w@]|-\w)",
    re.IGNORECASE,
)
_FILES = table(
    """
    png jpg jpeg gif svg webp ico bmp tiff pdf js ts jsx tsx css scss html htm json yaml yml xml txt csv
    zip gz tar whl jar war exe dll so py rb go rs java php lock toml ini cfg conf service socket timer
    target mount local localhost internal lan localdomain invalid svc mp3 mp4 mov heic map min bin img
    iso deb rpm
    """
)
_TECHNICAL = re.compile(
    r"(?:git|hg|svn|no-?reply|do-?not-?reply|noreply[\w+.-]*|mailer-daemon|postmaster|root|ssh"
    r"|bounces?[+\w.-]*)$",
    re.IGNORECASE,
)
_IN_URL = re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s/@]{0,100}$", re.IGNORECASE)

_CARD = re.compile(r"(?<![\w.+/=#&-])\d(?:[ -]?\d){11,18}+(?![\w]|-\w|\.\d| \d)")
_CARD_LENGTHS: tuple[tuple[range, frozenset[int]], ...] = (
    (range(4000, 5000), frozenset((13, 16, 19))),
    (range(5100, 5600), frozenset((16,))),
    (range(2221, 2721), frozenset((16,))),
    (range(3400, 3500), frozenset((15,))),
    (range(3700, 3800), frozenset((15,))),
    (range(3000, 3060), frozenset((14, 16, 19))),
    (range(3095, 3096), frozenset((14, 16, 19))),
    (range(3600, 3700), frozenset((14, 16, 19))),
    (range(3800, 4000), frozenset((14, 16, 19))),
    (range(3528, 3590), frozenset((16, 17, 18, 19))),
    (range(6011, 6012), frozenset((16, 19))),
    (range(6440, 6600), frozenset((16, 19))),
    (range(6200, 6300), frozenset((16, 17, 18, 19))),
    (range(2200, 2205), frozenset((16, 17, 18, 19))),
    (range(9792, 9793), frozenset((16,))),
    (range(8100, 8172), frozenset((16, 17, 18, 19))),
)
_RARE_CARDS: tuple[tuple[range, frozenset[int]], ...] = (  # believed where the words before speak of a card
    (range(5018, 5019), frozenset(range(12, 20))),
    (range(5020, 5021), frozenset(range(12, 20))),
    (range(5038, 5039), frozenset(range(12, 20))),
    (range(5600, 5900), frozenset(range(12, 20))),
    (range(6000, 7000), frozenset(range(12, 20))),
    (range(3500, 3600), frozenset((16,))),
    (range(2131, 2132), frozenset((15,))),
    (range(1800, 1801), frozenset((15,))),
)

_IBAN = re.compile(r"(?<![\w-])[a-z]{2}\d{2}(?:[ -]?[a-z0-9]){11,30}+", re.IGNORECASE)
_IBAN_LENGTHS = {
    code: int(length)
    for code, length in (
        word.split(":")
        for word in [
            "AD:24",
            "AE:23",
            "AL:28",
            "AT:20",
            "AZ:28",
            "BA:20",
            "BE:16",
            "BG:22",
            "BH:22",
            "BI:27",
            "BR:29",
            "BY:28",
            "CH:21",
            "CR:22",
            "CY:28",
            "CZ:24",
            "DE:22",
            "DJ:27",
            "DK:18",
            "DO:28",
            "EE:20",
            "EG:29",
            "ES:24",
            "FI:18",
            "FK:18",
            "FO:18",
            "FR:27",
            "GB:22",
            "GE:22",
            "GI:23",
            "GL:18",
            "GR:27",
            "GT:28",
            "HN:28",
            "HR:21",
            "HU:28",
            "IE:22",
            "IL:23",
            "IQ:23",
            "IS:26",
            "IT:27",
            "JO:30",
            "KW:30",
            "KZ:20",
            "LB:28",
            "LC:32",
            "LI:21",
            "LT:20",
            "LU:20",
            "LV:21",
            "LY:25",
            "MC:27",
            "MD:24",
            "ME:22",
            "MK:19",
            "MN:20",
            "MR:27",
            "MT:31",
            "MU:30",
            "NI:28",
            "NL:18",
            "NO:15",
            "OM:23",
            "PK:24",
            "PL:28",
            "PS:29",
            "PT:25",
            "QA:29",
            "RO:24",
            "RS:22",
            "RU:33",
            "SA:24",
            "SC:31",
            "SD:18",
            "SE:24",
            "SI:19",
            "SK:24",
            "SM:27",
            "SO:23",
            "ST:25",
            "SV:28",
            "TL:23",
            "TN:24",
            "TR:26",
            "UA:29",
            "VA:22",
            "VG:24",
            "XK:20",
            "YE:30",
        ]
    )
}

_SSN = re.compile(r"(?<![\w.+-])\d{3}-\d{2}-\d{4}(?![\w]|-\w|\.\d)")
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w]|\.\w|-\w)")
_IPV6 = re.compile(
    r"(?<![\w:.])[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}+(?:(?<=:)\d{1,3}(?:\.\d{1,3}){3})?(?![\w:])",
    re.IGNORECASE,
)
_VERSION_BEFORE = re.compile(
    r"(?:\b(?:v|ver|version|versions|release|releases|build|firmware|section|chapter|clause"
    r"|paragraph|oid|rev|revision"
    r"|upgrade[ds]? to|updated? to|update|driver|sdk|api|patch|kernel|schema|app|client|agent"
    r"|package|from|since|until"
    r"|abschnitt|kapitel|fassung|versión|versione|versie|wersja|версия|версии|версию|版本|バージョン|§)"
    r"\s{0,2}[:=#]?\s{0,2}[\"'(]?|[a-z_)]/|[a-z0-9_]-|[=<>~^]=\s?|[~^]|\$)$",
    re.IGNORECASE,
)
_SAYS_IP = re.compile(
    r"\b(?:ip|ips|ipv4|addr|address|host|client|from|remote|src|source|peer"
    r"|login)\W{0,4}(?:\w+\W{0,3}){0,1}$",
    re.I,
)


def emails(text: str) -> Iterator[Span]:
    if "@" not in text and "%40" not in text:
        return
    for found in _EMAIL.finditer(text):
        domain = found[1].lower()
        ending = domain.rpartition(".")[2]
        local = re.split("@|%40", found[0], maxsplit=1)[0]
        if ending in _FILES or _TECHNICAL.match(local) or domain.endswith("gserviceaccount.com"):
            continue
        if _IN_URL.search(text[max(0, found.start() - 124) : found.start()]) or _is_password(text, found):
            continue
        if (local.isdigit() and len(local) > 12) or ("." in local and _is_message_id(local)):
            continue
        yield Span(start=found.start(), end=found.end(), kind=EMAIL)


def _is_password(text: str, found: re.Match[str]) -> bool:
    """Whether it is the end of `scheme://user:password@host`."""
    before = text[max(0, found.start() - 124) : found.start()]
    return before.endswith(":") and "://" in before and not re.search(r"\s", before[before.rfind("://") :])


def _is_message_id(local: str) -> bool:
    """Whether it is the first part of a Message-ID: mostly digits, and long."""
    return len(local) > 20 and sum(part.isdigit() for part in local) * 2 > len(local)


def is_card_number(digits: str) -> bool:
    return passes_luhn(digits) and _has_issuer(digits, _CARD_LENGTHS)


def is_rare_card_number(digits: str) -> bool:
    return passes_luhn(digits) and _has_issuer(digits, _RARE_CARDS)


def _has_issuer(digits: str, table: tuple[tuple[range, frozenset[int]], ...]) -> bool:
    first = int(digits[:4])
    return any(first in issuer and len(digits) in lengths for issuer, lengths in table)


def passes_luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = ord(digit) - 48
        if place % 2:
            value = value * 2 - 9 if value > 4 else value * 2
        total += value
    return total % 10 == 0 and digits.strip("0") != ""


_SAYS_CARD = re.compile(
    r"(?:card|visa|mastercard|amex|express|credit|debit|maestro|discover|diners|cc|kreditkarte"
    r"|karte|tarjeta|carte|carta"
    r"|cartão|cartao|payment|pay|charged|карт\w*|カード|卡)[\w ,.'’-]{0,40}[\W_]{0,5}$",
    re.IGNORECASE,
)


def cards(text: str) -> Iterator[Span]:
    for found in _CARD.finditer(text):
        digits = found[0].replace(" ", "").replace("-", "")
        if not digits.isascii() or len(set(digits)) < 2:
            continue
        before = text[max(0, found.start() - 60) : found.start()]
        is_fit = is_card_number(digits) or (is_rare_card_number(digits) and _SAYS_CARD.search(before))
        if is_fit and _is_grouped(found[0]):
            yield Span(start=found.start(), end=found.end(), kind=CREDIT_CARD)


def _is_grouped(text: str) -> bool:
    """Whether separators stand where those of a card may: between groups of three or more digits."""
    groups = re.split("[ -]", text)
    return len(groups) == 1 or (len(groups) <= 6 and all(len(group) >= 3 for group in groups[:-1]))


def is_iban(text: str) -> bool:
    code = text[:2].upper()
    if _IBAN_LENGTHS.get(code) != len(text) or not text.isascii() or not text.isalnum():
        return False
    number = "".join(str(int(sign, 36)) for sign in text[4:] + text[:4])
    return int(number) % 97 == 1


def ibans(text: str) -> Iterator[Span]:
    for found in _IBAN.finditer(text):
        length = _IBAN_LENGTHS.get(found[0][:2].upper())
        if length is None:
            continue
        taken = 0
        for place, sign in enumerate(found[0]):  # words may follow, which look like a part of it
            taken += sign not in " -"
            if taken == length:
                end = found.start() + place + 1
                rest = text[end : end + 1]
                plain = found[0][: place + 1].replace(" ", "").replace("-", "")
                if not (rest.isalnum() or rest == "_") and is_iban(plain):
                    yield Span(start=found.start(), end=end, kind=IBAN)
                break


def is_ssn(digits: str) -> bool:
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def ssns(text: str) -> Iterator[Span]:
    for found in _SSN.finditer(text):
        if is_ssn(found[0].replace("-", "")):
            yield Span(start=found.start(), end=found.end(), kind=US_SSN)


def ip_addresses(text: str) -> Iterator[Span]:
    if "." in text:
        for found in _IPV4.finditer(text):
            if _is_personal(found[0]) and not _is_version(text, found):
                yield Span(start=found.start(), end=found.end(), kind=IP_ADDRESS)
    if text.count(":", 0, 4096) >= 2 or text.count(":") >= 2:
        for found in _IPV6.finditer(text):
            part = found[0]
            if len(part) >= 6 and re.search(r"\d", part) and _is_personal(part):
                yield Span(start=found.start(), end=found.end(), kind=IP_ADDRESS)


def _is_version(text: str, found: re.Match[str]) -> bool:
    before, after = text[max(0, found.start() - 40) : found.start()], text[found.end() : found.end() + 3]
    if re.match(r"/\d{1,2}", after):  # a network
        return True
    if not _VERSION_BEFORE.search(before):
        return False
    if before.endswith("://"):
        return False
    return not _SAYS_IP.search(before) or not re.search(r"from\W{0,3}$", before, re.I)


def _is_personal(text: str) -> bool:
    """Whether it is the address of somebody's machine: not of this one, of a group, or of nobody."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if address.is_loopback or address.is_unspecified or address.is_multicast or address.is_link_local:
        return False
    if address.version == 4:
        parts = [int(part) for part in text.split(".")]
        return parts[0] != 0 and parts[0] != 255 and text not in ("8.8.8.8", "8.8.4.4", "1.1.1.1", "9.9.9.9")
    return True


def is_ip(text: str) -> bool:
    return _is_personal(text)
