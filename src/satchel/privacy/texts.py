"""Names, addresses and dates of birth in text: what words around them give away, without a model.

Most names in free text are not found here, by any means. What is found is right in most cases.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from satchel.privacy.first_names import FIRST_NAMES
from satchel.privacy.key_words import COMPANY
from satchel.privacy.kinds import ADDRESS, DATE_OF_BIRTH, PERSON, Span
from satchel.privacy.tables import table

_WORD = r"[^\W\d_][^\W\d_]{0,30}+(?:['’-][^\W\d_]{1,30}+){0,3}"
_TITLED = re.compile(
    r"(?<!\w)(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Sir|Madam|Herrn?|Frau|Monsieur|Madame|Mme"
    r"|Mlle|Señora?|Sra?"
    r"|Sig|Signora?|Dott|Dottoressa|Don|Doña|Senhora?|Dhr|Mevr|Pan|Pani|Hr|Fru|Fr)\.?\s{1,2}"
    rf"(?=[^\W\d_])(?:(?:Dr|Prof)\.\s)?({_WORD}(?:[ ](?:(?:van|von|de|del|della|di|da|dos|der|den"
    rf"|la|le|el|bin|al)[ ]){{0,2}}{_WORD}){{0,3}})"
)
_CALLED = re.compile(
    r"(?<!\w)(?:[Mm]y name is|[Nn]ame is|I am called|[Ii]ch heiße|[Mm]ein Name ist"
    r"|[Jj]e m['’]appelle|[Mm]on nom est"
    r"|[Mm]e llamo|[Mm]i nombre es|[Mm]i chiamo|[Mm]eu nome é|[Mm]ijn naam is|Jag heter|[Nn]azywam się"
    r"|Dear|Hi|Hello|Hallo|Liebe|Lieber|Bonjour|Hola|Ciao|Querida|Querido|Estimada|Estimado|Cher"
    r"|Chère|Caro|Cara"
    r"|Regards,|regards,|Sincerely,|sincerely,|Best,|Cheers,|Thanks,|Grüßen|Grüße|Cordialement,"
    r"|Saludos,|Saluti,)"
    rf"\s{{1,4}}({_WORD}(?:[ ]{_WORD}){{0,2}})"
)
_BEFORE_ADDRESS = re.compile(rf"({_WORD}(?:[ ]{_WORD}){{1,3}})[\"']?\s?[<(](?=[^\s<>()]{{1,80}}@)")
_NAMES = re.compile(_WORD)
_SMALL = table(
    """
    van von de del della di da dos der den la le el bin al ter ten zu y e
    """
)
_NOT_NAMES = table(
    """
    the this that there here all everyone team sir madam customer user colleague friend client support
    admin world hi hello please thanks thank you we i it my your our his her their a an and or but for
    from to of on in at by with monday tuesday wednesday thursday friday saturday sunday january
    february march april may june july august september october november december street avenue road
    university hospital bank damen herren kunde kollegen everybody folks guys today yesterday tomorrow
    who what when where why how
    """
)

_STREET = (
    r"(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Place|Pl|Square|Sq"
    r"|Terrace|Ter|Way"
    r"|Circle|Cir|Parkway|Pkwy|Highway|Hwy|Crescent|Cres|Close|Grove|Mews|Row|Trail|Loop|Alley|Plaza)"
)
_NUMBER_FIRST = re.compile(
    rf"(?<![\w.,-])\d{{1,6}}[A-Za-z]?(?:[ ](?:[NSEW]|North|South|East|West)\.?)?(?:[ ]{_WORD}\.?"
    rf"|[ ]\d{{1,3}}(?:st|nd|rd|th)){{1,4}}?[ ]"
    rf"{_STREET}\b\.?(?:,?[ ](?:Apt|Apartment|Suite|Ste|Unit|Floor|Fl|#)\.?[ ]?#?[\w-]{{1,8}})?"
    rf"(?:,[ ]{_WORD}(?:[ ]{_WORD}){{0,2}}(?:,?[ ][A-Z]{{2}})?(?:,?[ ]\d{{5}}(?:-\d{{4}})?"
    rf"|[ ][A-Z]{{1,2}}\d[A-Z\d]?[ ]\d[A-Z]{{2}})?)?"
)
_STREET_JOINED = re.compile(
    r"(?<!\w)(?:[^\W\d_]{1,30}+[ -]){0,3}(?:[^\W\d_]{2,30}(?:straße|strasse|str\.|gasse|weg|allee"
    r"|platz|ring|damm|ufer|chaussee"
    r"|straat|laan|gracht|plein|gatan|vägen|gade|vej|veien|katu|tie|utca)"
    r"|[^\W\d_]{2,30}+[ ](?:Straße|Strasse|Str\.|Allee|Platz|Weg"
    r"|utca|út))[ ]\d{1,4}[ ]?[a-zA-Z]?(?![\w%])"
    r"(?:,?[ ](?:[A-Z]{1,2}-)?\d{4,5}(?:[ ][A-Z]{2})?[ ][^\W\d_]{2,30}+)?"
)
_STREET_FIRST = re.compile(
    r"(?<!\w)(?:Calle|C/|Avenida|Avda\.?|Plaza|Paseo|Carrera|Via|Viale|Piazza|Corso|Rua|Travessa"
    r"|Largo|ul\.|ulica|aleja|al\."
    r"|Rue|rue|Boulevard|boulevard|Place|улица|ул\."
    r"|проспект)[ ](?:[^\W\d_]{1,30}['’.]?[ ]?){1,5}?,?[ ]?(?:n[º°.]?[ ]?|nº[ ]?"
    r"|д\.[ ]?)?\d{1,4}[a-zA-Z]?\b"
    r"(?:,?[ ]\d{4,5}(?:-\d{3})?[ ][^\W\d_]{2,30}+)?"
)
_NUMBER_RUE = re.compile(
    r"(?<![\w.,-])\d{1,4}(?:[ ]?(?:bis|ter|quater|[A-Z]))?,?[ ](?:rue|avenue|boulevard|place"
    r"|allée|chemin|impasse|quai|route|cours)[ ]"
    r"(?:[^\W\d_]{1,30}['’.-]?[ ]?){1,6}(?:,?[ ]\d{5}[ ][^\W\d_]{2,30}+)?",
    re.IGNORECASE,
)
_BOX = re.compile(r"(?<!\w)(?:P\.? ?O\.? Box|PO Box|Postfach)[ ]\d{1,6}\b", re.IGNORECASE)
_CJK_ADDRESS = re.compile(
    r"(?:[一-龥]{2,4}[省都道府県])?[一-龥]{1,6}[市区县區縣郡][一-龥\w-]{1,20}?(?:[路街道巷弄]\d{1,5}号?"
    r"|\d{1,4}丁目[\d-]{0,10}|\d{1,5}号|\d{1,4}番地?[\d-]{0,8})"
)

_DAY = (
    r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\s?\d{1,2}[-/.]\s?\d{2,4}|\d{1,2}(?:st|nd|rd"
    r"|th|\.|er|º)?\s(?:de\s|of\s)?[^\W\d_]{3,12}\.?,?\s(?:de\s)?\d{4}"
    r"|[^\W\d_]{3,12}\.?\s\d{1,2}(?:st|nd|rd|th)?,?\s\d{4}|\d{4}年\d{1,2}月\d{1,2}日)"
)
_BORN = re.compile(
    r"(?:(?<!\w)(?:born(?: on)?|date of birth|birth ?date|birthday|d\.?o\.?b\.?|geboren(?: am)?"
    r"|geb\.|geburtsdatum|geburtstag"
    r"|née? le|date de naissance|nacid[oa] el|fecha de nacimiento|nat[oa] il|data di nascita|nascid[oa] em"
    r"|data de nascimento|geboren op|geboortedatum|född(?: den)?|født(?: den)?|urodzon[ya]"
    r"|data urodzenia|родил\w+|дата рождения)"
    r"|生年月日|出生日期)"
    rf"(?:\W{{0,3}}(?:is|was|ist|war|est|es|è|é|on|the|am|el|le))?[\s:=\"'(]{{0,5}}({_DAY})",
    re.IGNORECASE,
)


@lru_cache(maxsize=8192)
def plain(word: str) -> str:
    """In lower case, without accents."""
    if word.isascii():
        return word.lower()
    return "".join(
        part for part in unicodedata.normalize("NFKD", word) if not unicodedata.combining(part)
    ).lower()


def _is_capital(word: str) -> bool:
    return word[0].isupper() or not (word[0].islower() or word[0].isascii())


def looks_like_name(text: str, *, most: int = 5) -> bool:
    """Whether a whole value is a name as people write it: a few words, and none of a company's."""
    text = text.strip()
    if not 2 <= len(text) <= 60 or any(
        sign.isdigit() or sign in "_@/\\:;<>{}[]()=|#&%$*+!?\n\t" for sign in text
    ):
        return False
    words = _NAMES.findall(text)
    if not 1 <= len(words) <= most + 1:
        return False
    if any(
        plain(word) in COMPANY - {"el", "la", "de", "san", "los", "street", "park", "west", "pro", "und"}
        for word in words
    ):
        return False
    if plain(words[-1]) in COMPANY or (
        len(words) > 1 and words[0].isupper() and len(words[0]) > 3 and not text.isupper()
    ):
        return False
    large = [word for word in words if _is_capital(word)]
    small = [word for word in words if not _is_capital(word)]
    return bool(large) and all(word.lower() in _SMALL for word in small)


def persons(text: str) -> Iterator[Span]:
    for pattern in (_TITLED, _CALLED, _BEFORE_ADDRESS):
        for found in pattern.finditer(text):
            span = _name_span(text, found.start(1), found.end(1))
            if span is not None:
                yield span
    yield from _full_names(text)


def _name_span(text: str, start: int, end: int) -> Span | None:
    """The words from the first on that are written like a name."""
    last = start
    for word in _NAMES.finditer(text, start, end):
        if (not _is_capital(word[0]) and word[0].lower() not in _SMALL) or plain(word[0]) in _NOT_NAMES:
            break
        if _is_capital(word[0]):
            last = word.end()
        if plain(word[0]) in COMPANY:
            return None
    return Span(start=start, end=last, kind=PERSON) if last - start >= 2 else None


def _full_names(text: str) -> Iterator[Span]:
    """A common first name, and words with a capital after it."""
    words = _NAMES.finditer(text)
    word = next(words, None)
    while word is not None:
        following = next(words, None)
        if not word[0][0].isupper() or plain(word[0].partition("-")[0]) not in FIRST_NAMES:
            word = following
            continue
        end, count, is_company = word.end(), 1, False
        part = following
        reach = word.end()
        while part is not None and count < 4 and _is_beside(text, reach, part.start()):
            name = part[0]
            if name.lower() in _SMALL:
                reach = part.end()
            elif (name[0].isupper() and plain(name) not in _NOT_NAMES and len(name) > 1) or (
                len(name) == 1 and name.isupper()
            ):
                is_company = is_company or plain(name) in COMPANY
                end = reach = part.end()
                count += 1
            else:
                break
            part = next(words, None)
        if (
            count > 1
            and not is_company
            and not (text[word.start() : end].isupper() and end - word.start() < 6)
        ):
            yield Span(start=word.start(), end=end, kind=PERSON)
        word = part


def _is_beside(text: str, before: int, after: int) -> bool:
    return text[before:after] in (" ", ". ", "\u00a0")


def addresses(text: str) -> Iterator[Span]:
    if not any(sign.isdigit() for sign in text):
        return
    for pattern in (_NUMBER_FIRST, _STREET_JOINED, _STREET_FIRST, _NUMBER_RUE, _BOX, _CJK_ADDRESS):
        for found in pattern.finditer(text):
            yield Span(start=found.start(), end=found.end(), kind=ADDRESS)


def births(text: str) -> Iterator[Span]:
    for found in _BORN.finditer(text):
        yield Span(start=found.start(1), end=found.end(1), kind=DATE_OF_BIRTH)
