"""Phone numbers and national ids in text. Both are checked by packages of the extra `satchel[privacy]`.

Without it, phone numbers are found by their shape only, and of national ids those with a distinct shape.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from satchel.privacy.kinds import NATIONAL_ID, PHONE, Span
from satchel.privacy.patterns import is_card_number

_INTERNATIONAL = re.compile(
    r"(?<![\w+.,-])(?:\+|00(?=[1-9]))[ (]{0,2}\d(?:[ ().\-/\u00a0\u2011]{0,3}\d){6,17}+"
)
_NORTH_AMERICAN = re.compile(
    r"(?<![\w.+-])(?:(?:00)?1[ .-])?(?:\([2-9]\d\d\)[ -]?[2-9]\d\d[ .-]"
    r"|[2-9]\d\d([.-])\d{3}\1)\d{4}(?!\d|-\w|\.\d)"
)
_NATIONAL = re.compile(r"(?<![\w.+-])\(?\d(?:[ ().\-/\u00a0]{0,2}\d){5,14}+(?!\w|[.,]\d)")
_EXTENSION = re.compile(r"(?:\s?(?:x|ext\.?|#|Durchwahl|poste)\s?\d{1,6})(?!\w)", re.IGNORECASE)
_SAYS_PHONE = re.compile(
    r"(?:\b(?:phone|telephone|tel|mobile|mob|cell|cellphone|fax|call(?:ed|s|ing)?(?: (?:me|us|her"
    r"|him|them|back|you))?"
    r"|text(?: (?:me|us))?|sms|whatsapp|dial|ring(?: me)?|reach(?: (?:me|us|her|him))?"
    r"|messages to|landline|answer(?:ing|s)?|hotline|contact"
    r"|handy|handynummer|telefon|telefonnummer|tél|tlf|tfno|fon|mobil|mobilnummer|rufnummer|festnetz|anrufen"
    r"|rückruf|erreichbar"
    r"|teléfono|telefono|móvil|celular|llamar|llame|téléphone|portable|appeler|joindre|cellulare"
    r"|chiamare|telefone"
    r"|telemóvel|ligar|telefoon|bellen|puhelin|telefonu|komórka)|телефон\w*|тел|моб\w*|电话|電話|手机|携帯|전화)"
    r"(?:\W{0,4}(?:number|no|nr|is|at|on|to|from|under|unter|ist|es|est|au|al|en|è|et|numero|número"
    r"|numéro|nummer|home|work|back"
    r"|номер|番号|号码|번호|是|は)){0,3}[\s:.#=\"'(–-]{0,6}$",
    re.IGNORECASE,
)
_SAYS_NO_PHONE = re.compile(
    r"\b(?:order|invoice|ticket|tracking|ref|reference|id|sku|item|article|article|serial|batch"
    r"|version|case|isbn|part|model"
    r"|amount|total|price|bestellung|rechnung|artikel|auftrag|pedido|factura|commande|facture"
    r"|ordine|fattura|number)"
    r"\W{0,3}(?:no|nr|number|id)?[\s:.#=]{0,4}$",
    re.IGNORECASE,
)


def phones(text: str, *, bare: bool = False) -> Iterator[Span]:
    """Numbers in international form, in North America's form, and after a word for phones any."""
    if "+" in text or "00" in text:
        for found in _INTERNATIONAL.finditer(text):
            has_plus = found[0][0] == "+"
            if _is_international(found[0]) and (has_plus or _says_phone(text, found.start())):
                yield _extended(text, found.start(), found.end())
    for found in _NORTH_AMERICAN.finditer(text):
        if not _SAYS_NO_PHONE.search(text[max(0, found.start() - 40) : found.start()]):
            yield _extended(text, found.start(), found.end())
    if bare or _may_say_phone(text):
        for found in _NATIONAL.finditer(text):
            digits = _digits(found[0])
            if 6 <= len(digits) <= 15 and _says_phone(text, found.start()) and not _is_date(found[0]):
                yield _extended(text, found.start(), found.end())


def _extended(text: str, start: int, end: int) -> Span:
    """With its extension, as in `x123`."""
    more = _EXTENSION.match(text, end)
    return Span(start=start, end=more.end() if more else end, kind=PHONE)


_MAY_SAY = re.compile(
    r"phon|tel|mob|cell|fax|call|answer|text|sms|whatsapp|dial|ring|reach|messages to|line|contact|handy"
    r"|ruf|festnetz|erreichbar|móvil"
    r"|llam|tél|portable|appel|joindre|chiama|ligar|bellen|puhelin|komórka|тел|моб|电话|電話|手机|携帯|전화",
    re.IGNORECASE,
)


def _may_say_phone(text: str) -> bool:
    return _MAY_SAY.search(text) is not None


def _says_phone(text: str, at: int) -> bool:
    return _SAYS_PHONE.search(text[max(0, at - 48) : at]) is not None


def _digits(text: str) -> str:
    return "".join(sign for sign in text if sign.isdigit())


_DATE = re.compile(r"(?:19|20)\d\d[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)\d\d")


def _is_date(text: str) -> bool:
    return _DATE.match(text) is not None


def _is_international(text: str) -> bool:
    digits = _digits(text)
    if not 8 <= len(digits) <= 17:
        return False
    is_grouped = any(sign in " ()-/" for sign in text.strip())
    if re.fullmatch(r"\+\d{1,3}\.\d{4,}", text):  # a coordinate or another measure
        return False
    package = _phonenumbers()
    if package is None:
        return is_grouped or 9 <= len(digits) <= 15
    plain = "+" + digits.removeprefix("00")
    try:
        number = package.parse(plain, None)
    except package.NumberParseException:
        return False
    return bool(package.is_valid_number(number) or (is_grouped and package.is_possible_number(number)))


def normalised_phone(text: str) -> str:
    """The same for the same number: its digits, and + if it was written in international form."""
    digits = _digits(_EXTENSION.sub("", text))
    if text.strip().startswith("+"):
        return "+" + digits
    return "+" + digits[2:] if digits.startswith("00") else digits


@cache
def _phonenumbers() -> Any | None:
    try:
        return import_module("phonenumbers")
    except ImportError:
        return None


# National ids: a shape, the check of python-stdnum, and whether the shape alone is believed without it.

_SHAPES: tuple[tuple[str, str, bool], ...] = (
    (r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]", "it.codicefiscale", True),
    (r"[A-Z]{4}\d{6}[HMX][A-Z]{5}[A-Z0-9]\d", "mx.curp", True),
    (r"\d{3}\.\d{3}\.\d{3}-\d{2}", "br.cpf", True),
    (r"\d{6}-[1-4]\d{6}", "kr.rrn", True),
    (r"\d{6}[-+A]\d{3}[0-9A-FHJ-NPR-Y]", "fi.hetu", False),
    (r"(?:19|20)\d{6}[-+]\d{4}", "se.personnummer", False),
    (r"\d{1,2}\.\d{3}\.\d{3}-[\dKk]", "cl.rut", True),
    (r"[12] ?\d{2} ?[01]\d ?\d{2} ?\d{3} ?\d{3} ?\d{2}", "fr.nir", False),
    (r"[1-9]\d{5}(?:19|20)\d{2}[01]\d[0-3]\d{4}[\dXx]", "cn.ric", False),
    (r"\d{8}-?[A-HJ-NP-TV-Z]", "es.dni", False),
    (r"[XYZ]-?\d{7}-?[A-HJ-NP-TV-Z]", "es.nie", False),
    (r"[2-9]\d{3} \d{4} \d{4}", "in_.aadhaar", False),
    (r"[A-Z]{3}P[A-Z]\d{4}[A-Z]", "in_.pan", True),
    (r"\d{2}\.\d{2}\.\d{2}-\d{3}\.\d{2}", "be.nn", True),
    (r"756\.\d{4}\.\d{4}\.\d{2}", "ch.ssn", True),
    (r"9\d{2}-[5-9]\d-\d{4}", "us.itin", False),
    (r"\d{6}/\d{4}", "cz.rc", False),
)
_ID = re.compile(
    r"(?<![\w.+-])(?:" + "|".join(f"({shape})" for shape, _, _ in _SHAPES) + r")(?![\w]|-\w|\.\d)",
)
_NINO = re.compile(
    r"(?<![\w-])(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z](?: ?\d{2}){3} ?[A-D](?![\w-])"
)
_SAYS_ID = re.compile(
    r"\b(?:passport|national id|id card|identity card|driver'?s? licen[sc]e|driving licen[sc]e"
    r"|tax id|tax number"
    r"|national insurance|nino|nhs|social insurance|sin|aadhaar|aadhar|dni|nie|nif|cpf|cnp|egn"
    r"|oib|pesel|bsn|curp"
    r"|personnummer|fødselsnummer|hetu|cpr|nir|numéro de sécurité sociale|codice fiscale"
    r"|steuer-?id(?:nr)?|steuernummer"
    r"|personalausweis(?:nummer)?|ausweisnummer|reisepass(?:nummer)?|passnummer"
    r"|führerschein(?:nummer)?|passeport"
    r"|pasaporte|passaporto|passaporte|paspoort|cédula|rut|personal id|id number|паспорт\w*|инн"
    r"|снилс|身份证\w*|护照\w*"
    r"|マイナンバー|주민등록번호)(?:\W{0,3}(?:number|no|nr|num|is|ist|es|est|è|número|numéro|numero|nummer|номер)){0,3}"
    r"[\s:.#=\"'(]{0,5}$",
    re.IGNORECASE,
)
_MAY_BE_ID = re.compile(r"(?<![\w-])[A-Z]{0,3}\d[A-Z0-9]*(?:[ ./-]?[A-Z0-9]){4,19}+", re.IGNORECASE)


def national_ids(text: str) -> Iterator[Span]:
    for found in _ID.finditer(text):
        _, module, is_distinct = _SHAPES[(found.lastindex or 1) - 1]
        check = _check_of(module)
        is_one = check(found[0]) if check else is_distinct
        if is_one and not is_card_number(_digits(found[0])[:19].rjust(4, "0")):
            yield Span(start=found.start(), end=found.end(), kind=NATIONAL_ID)
    for found in _NINO.finditer(text):
        yield Span(start=found.start(), end=found.end(), kind=NATIONAL_ID)
    if _MAY_SAY_ID.search(text):
        yield from _announced_ids(text)


_MAY_SAY_ID = re.compile(
    r"passp|national|card|licen|tax|nino|nhs|insurance|\bsin\b|aadh|dni|nie|nif|cpf|cnp|egn|oib"
    r"|pesel|bsn|curp|personnum|dsels"
    r"|hetu|cpr|nir|sociale|codice|steuer|ausweis|reisep|schein|passe|pasap|paspo|dula|rut|id n"
    r"|паспорт|инн|снилс|身|护|マイ|주민",
    re.IGNORECASE,
)


def _announced_ids(text: str) -> Iterator[Span]:
    for found in _WORDISH.finditer(text):
        before = text[max(0, found.start() - 60) : found.start()]
        if not _SAYS_ID.search(before):
            continue
        more = _MAY_BE_ID.match(text, found.start())
        if more and 5 <= sum(sign.isdigit() for sign in more[0]) <= 18:
            end = found.start() + len(_id_part(more[0]))
            yield Span(start=found.start(), end=end, kind=NATIONAL_ID)


_WORDISH = re.compile(r"(?<![\w-])[A-Za-z]{0,3}\d")


def _id_part(text: str) -> str:
    """Up to the first group without a digit: the next words of a sentence are not a part of it."""
    taken = 0
    for group in re.finditer(r"[A-Za-z0-9]+", text):
        if taken and not any(sign.isdigit() for sign in group[0]) and len(group[0]) > 1:
            break
        taken = group.end()
    return text[:taken]


@cache
def _check_of(module: str) -> Callable[[str], bool] | None:
    try:
        return import_module("stdnum." + module).is_valid
    except ImportError:
        return None


def missing_packages() -> tuple[str, ...]:
    """The packages of the extra that are not installed."""
    checks = {"phonenumbers": _phonenumbers(), "python-stdnum": _check_of("es.dni")}
    return tuple(name for name, found in checks.items() if found is None)
