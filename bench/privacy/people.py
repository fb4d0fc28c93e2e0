"""People that don't exist, from a seed: names, numbers and addresses as several countries write them."""

import random
from dataclasses import dataclass

FIRST = {
    "en": "Olivia Noah Emma Liam Charlotte Elijah Amelia Lucas Harper Mason Nora Caleb Hazel Wyatt Priya",
    "de": "Anneliese Jörg Friederike Thorsten Lieselotte Uwe Gisela Rüdiger Svenja Malte Heike Detlef",
    "fr": "Océane Thibault Maëlle Aurélien Clémence Gaëtan Solène Loïc Noémie Baptiste",
    "es": "Ximena Íñigo Rocío Gonzalo Lourdes Adrián Begoña Iker Macarena Rubén",
    "it": "Ludovica Ottavio Fiorella Gianmarco Rosaria Fabrizio Donatella Ettore",
    "pl": "Bożena Zbigniew Grażyna Sławomir Wiesława Mirosław Jadwiga Kazimierz",
    "sv": "Ingegerd Torbjörn Solveig Håkan Birgitta Örjan",
    "pt": "Conceição Thiago Luciana Vinícius Francisca Wagner",
    "ja": "美咲 健太 陽菜 翔太 結衣 大輔",
    "zh": "秀英 建国 丽华 志强 晓燕 国栋",
    "ru": "Людмила Геннадий Зинаида Вячеслав Раиса Аркадий",
}
LAST = {
    "en": "Whitaker Pemberton Hollis Okafor Delacroix Thornton Vasquez McAllister O'Brien Nakamura",
    "de": "Schäufele Wöhrle Kleinschmidt Baumgärtner Oberhauser Zimmerling Großmann Kühnert Reinecke Voß",
    "fr": "Lefèvre Beauchamp Dufresne Montagnier Delaunay Chevrolier Bézier Rousselot",
    "es": "Echevarría Zubizarreta Carrasco Villanueva Quintanilla Arizmendi Montoya Peñalver",
    "it": "Bevilacqua Santangelo Dell'Acqua Passalacqua Montanari Quaranta",
    "pl": "Wojciechowska Szczepański Grzybowska Brzęczyszczykiewicz Jabłoński Kwiatkowska",
    "sv": "Åkerlund Söderström Lindqvist Bergström Nyqvist Hägglund",
    "pt": "Figueiredo Guimarães Albuquerque Vasconcelos Magalhães Nogueira",
    "ja": "田中 佐々木 高橋 渡辺 小林 山口",
    "zh": "王 欧阳 张 刘 陈 赵",
    "ru": "Кузнецова Воробьёв Соловьёва Белоусов Тихомирова Емельянов",
}
STREETS = {
    "en": (
        "{n4} Maple Street",
        "{n3} Old Mill Road",
        "{n2} Juniper Avenue",
        "{n4} Lakeview Drive",
        "{n2} Sycamore Lane",
    ),
    "de": (
        "Lindenstraße {n2}",
        "Am Mühlbach {n2}",
        "Goetheallee {n2}",
        "Kirchgasse {n1}",
        "Bahnhofstr. {n2}",
    ),
    "fr": (
        "{n2} rue de la République",
        "{n3} avenue Victor Hugo",
        "{n1} place du Marché",
        "{n2} chemin des Vignes",
    ),
    "es": ("Calle de Alcalá {n2}", "Avenida de la Paz {n2}", "Paseo del Prado {n2}", "Calle Mayor {n1}"),
    "it": ("Via Garibaldi {n2}", "Viale dei Mille {n2}", "Corso Magenta {n2}", "Piazza Navona {n2}"),
    "pl": ("ul. Długa {n2}", "ul. Mickiewicza {n2}", "ul. Piękna {n1}"),
    "sv": ("Storgatan {n2}", "Drottninggatan {n2}", "Skolvägen {n1}"),
    "pt": ("Rua das Flores {n2}", "Rua do Ouro {n3}", "Rua Augusta {n3}"),
    "ja": ("東京都港区芝公園{n1}丁目{n1}-{n2}",),
    "zh": ("上海市浦东新区世纪大道{n3}号",),
    "ru": ("ул. Ленина {n2}", "ул. Гагарина {n2}", "ул. Садовая {n1}"),
}
PHONES: dict[str, tuple[str, ...]] = {
    "en": ("+1 (415) 555-2{n3}", "415-555-2{n3}", "+1 212 736 5{n3}", "(312) 664-7{n3}", "+44 20 7946 0{n3}"),
    "de": ("+49 30 9018{n4}", "030 9018{n4}", "+49 (0)89 2180{n4}", "0151 2345{n4}", "089/2180-{n4}"),
    "fr": ("+33 1 42 68 5{n1} {n2}", "01 42 68 5{n1} {n2}", "+33 6 12 34 {n2} {n2}"),
    "es": ("+34 612 34 {n2} {n2}", "612 34 {n2} {n2}", "91 528 {n2} {n2}"),
    "it": ("+39 06 6982 {n4}", "06 6982 {n4}", "+39 347 123 {n4}"),
    "pl": ("+48 22 621 {n2} {n2}", "22 621 {n2} {n2}", "+48 601 234 {n3}"),
    "sv": ("+46 8 508 290 {n2}", "08-508 290 {n2}", "+46 70 174 06 {n2}"),
    "pt": ("+351 21 323 {n2} {n2}", "+55 11 91234-{n4}", "21 323 {n2} {n2}"),
    "ja": ("+81 3-3580-{n4}", "03-3580-{n4}", "090-1234-{n4}"),
    "zh": ("+86 138 1234 {n4}", "1381234{n4}", "021-6279{n4}"),
    "ru": ("+7 495 123-45-{n2}", "8 (495) 123-45-{n2}", "+7 916 123 45 {n2}"),
}
IBANS = {"en": "GB", "de": "DE", "fr": "FR", "es": "ES", "it": "IT", "pl": "PL", "sv": "SE", "pt": "PT"}
_BBAN = {
    "GB": "{l4}{d14}",
    "DE": "{d18}",
    "FR": "{d23}",
    "ES": "{d20}",
    "IT": "{l1}{d22}",
    "PL": "{d24}",
    "SE": "{d20}",
    "PT": "{d21}",
}
DATES = (
    "{y}-{m:02}-{d:02}",
    "{d:02}.{m:02}.{y}",
    "{m:02}/{d:02}/{y}",
    "{d} {month} {y}",
    "{y}-{m:02}-{d:02}T00:00:00Z",
)
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


@dataclass(frozen=True, kw_only=True)
class Person:
    language: str
    first: str
    last: str
    email: str
    phone: str
    card: str
    iban: str
    ssn: str
    national_id: str
    ip: str
    address: str
    birth: str

    @property
    def name(self) -> str:
        return f"{self.last}{self.first}" if self.language in ("ja", "zh") else f"{self.first} {self.last}"


def person(source: random.Random, languages: tuple[str, ...] = tuple(FIRST)) -> Person:
    language = source.choice(languages)
    first, last = source.choice(FIRST[language].split()), source.choice(LAST[language].split())
    user = source.choice(("{f}.{l}", "{f}{n}", "{f}_{l}", "{f}.{l}+news", "{l}-{n}"))
    plain = {"f": _ascii(first) or "user", "l": _ascii(last) or "name", "n": str(source.randint(10, 9999))}
    domain = source.choice(
        (
            "gmail.com",
            "example.org",
            "posteo.de",
            "orange.fr",
            "mail.co.uk",
            "acme-corp.io",
            "uni.edu",
            "firma.example",
        )
    )
    return Person(
        language=language,
        first=first,
        last=last,
        email=user.format(**plain) + "@" + domain,
        phone=_filled(source.choice(PHONES[language]), source),
        card=card(source),
        iban=iban(source, IBANS.get(language, "DE")),
        ssn=f"{source.randint(1, 665):03}-{source.randint(1, 99):02}-{source.randint(1, 9999):04}",
        national_id=source.choice((_dni, _cpf, _pesel, _passport, _nino))(source),
        ip=ip(source),
        address=_filled(source.choice(STREETS[language]), source),
        birth=source.choice(DATES).format(
            y=source.randint(1935, 2005),
            m=source.randint(1, 12),
            d=source.randint(1, 28),
            month=source.choice(MONTHS),
        ),
    )


def _ascii(text: str) -> str:
    return "".join(sign for sign in text.lower() if sign.isascii() and sign.isalpha())


def digits(source: random.Random, count: int) -> str:
    return "".join(source.choices("0123456789", k=count))


def _filled(text: str, source: random.Random) -> str:
    for count in (1, 2, 3, 4):
        while f"{{n{count}}}" in text:
            text = text.replace(f"{{n{count}}}", source.choice("123456789") + digits(source, count - 1), 1)
    return text


def luhn(body: str) -> str:
    total = sum(
        int(digit) if place % 2 else (int(digit) * 2 - 9 if int(digit) > 4 else int(digit) * 2)
        for place, digit in enumerate(reversed(body))
    )
    return body + str(-total % 10)


def card(source: random.Random) -> str:
    prefix, length = source.choice(
        (("4", 16), ("51", 16), ("55", 16), ("37", 15), ("6011", 16), ("2720", 16), ("3530", 16), ("36", 14))
    )
    plain = luhn(prefix + digits(source, length - len(prefix) - 1))
    if length == 16 and source.random() < 0.6:
        sign = source.choice((" ", "-"))
        return sign.join(plain[at : at + 4] for at in range(0, 16, 4))
    return plain


def iban(source: random.Random, country: str) -> str:
    body = _BBAN[country]
    for mark, signs in (("l", "ABCDEFGHKLMNPRSTUVWXYZ"), ("d", "0123456789")):
        for count in range(30, 0, -1):
            while f"{{{mark}{count}}}" in body:
                body = body.replace(f"{{{mark}{count}}}", "".join(source.choices(signs, k=count)), 1)
    number = int("".join(str(int(sign, 36)) for sign in body + country + "00"))
    plain = f"{country}{98 - number % 97:02}{body}"
    return " ".join(plain[at : at + 4] for at in range(0, len(plain), 4)) if source.random() < 0.5 else plain


def ip(source: random.Random) -> str:
    if source.random() < 0.25:
        return "2a02:" + ":".join(f"{source.randint(1, 65535):x}" for _ in range(7))
    first = source.choice((23, 81, 93, 178, 203, 10, 192))
    rest = (source.randint(0, 254), source.randint(0, 254), source.randint(1, 254))
    return ".".join(map(str, (first, *rest)))


def _dni(source: random.Random) -> str:
    number = source.randint(10_000_000, 99_999_999)
    return f"{number}{'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23]}"


def _cpf(source: random.Random) -> str:
    body = digits(source, 9)
    for _ in range(2):
        total = sum(int(digit) * weight for digit, weight in zip(reversed(body), range(2, 12), strict=False))
        body += str((total * 10 % 11) % 10)
    return f"{body[:3]}.{body[3:6]}.{body[6:9]}-{body[9:]}"


def _pesel(source: random.Random) -> str:
    body = f"{source.randint(50, 99)}{source.randint(1, 12):02}{source.randint(1, 28):02}{digits(source, 4)}"
    total = sum(
        int(digit) * weight for digit, weight in zip(body, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3), strict=True)
    )
    return body + str(-total % 10)


def _passport(source: random.Random) -> str:
    return source.choice("CFGHJKLMNPRTVWXYZ") + digits(source, 8)


def _nino(source: random.Random) -> str:
    start = "".join(source.choices("ABCEHJ", k=2))
    return " ".join((start, *(digits(source, 2) for _ in range(3)), source.choice("ABCD")))
