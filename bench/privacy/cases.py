"""Results of tools as JSON, made from a seed, with every personal value marked, and decoys beside them.

`held_out` chooses other names of fields and other sentences than those that development looks at.
"""

import csv
import io
import json
import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bench.privacy.people import Person, digits, luhn, person

Marks = dict[str, str]
"""Values and their kinds."""
KEYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {  # for development, held out
    "email": (
        (
            "email",
            "contactEmail",
            "user_email",
            "E-Mail",
            "correo",
            "mail_address",
            "emailAddress",
            "customer.email",
        ),
        (
            "workEmail",
            "primary_email",
            "courriel",
            "email-address",
            "billingEmail",
            "posta_elettronica",
            "replyTo",
            "epost",
        ),
    ),
    "phone": (
        ("phone", "phoneNumber", "mobile", "telefon", "tel", "contact_phone", "teléfono", "fax", "homePhone"),
        (
            "phone_number",
            "cell",
            "mobilePhone",
            "Telefonnummer",
            "téléphone",
            "workPhone",
            "telefono",
            "msisdn",
            "phone_1",
        ),
    ),
    "card": (
        ("card_number", "creditCard", "cardNumber", "ccNumber", "kreditkarte", "pan"),
        ("credit_card_number", "card_no", "paymentCardNumber", "numero_tarjeta", "debitCard", "Kartennummer"),
    ),
    "iban": (("iban", "bank_iban", "IBAN"), ("ibanNumber", "payout_iban", "account_iban")),
    "ssn": (("ssn", "social_security_number", "SSN"), ("socialSecurityNumber", "employee_ssn", "ssnNumber")),
    "national_id": (
        ("national_id", "passportNumber", "dni", "tax_id", "nif", "personalausweis"),
        (
            "nationalId",
            "passport_no",
            "taxId",
            "identityNumber",
            "codice_fiscale",
            "Ausweisnummer",
            "driver_license_number",
        ),
    ),
    "ip": (
        ("ip", "ip_address", "clientIp", "remote_addr"),
        ("ipAddress", "source_ip", "last_login_ip", "userIp", "IPv4"),
    ),
    "address": (
        ("address", "street", "streetAddress", "anschrift", "direccion", "address_line1", "shippingAddress"),
        (
            "home_address",
            "street_address",
            "Straße",
            "adresse",
            "indirizzo",
            "addressLine1",
            "billing_address",
            "mailingAddress",
        ),
    ),
    "birth": (
        ("dob", "birthDate", "date_of_birth", "geburtsdatum", "birthday"),
        ("birth_date", "dateOfBirth", "fecha_nacimiento", "Geburtstag", "data_di_nascita", "DOB"),
    ),
    "name": (
        ("full_name", "customerName", "contact_name", "displayName", "nombre_completo", "patient_name"),
        (
            "fullName",
            "customer_name",
            "accountHolder",
            "beneficiary_name",
            "employeeName",
            "vollständiger_name",
            "nom_complet",
        ),
    ),
    "first": (
        ("first_name", "firstName", "given_name", "vorname", "prénom"),
        ("givenName", "fname", "Vorname", "prenom", "voornaam"),
    ),
    "last": (
        ("last_name", "lastName", "surname", "nachname", "apellidos"),
        ("familyName", "family_name", "lname", "cognome", "achternaam"),
    ),
}
KINDS = {
    "email": "EMAIL",
    "phone": "PHONE",
    "card": "CREDIT_CARD",
    "iban": "IBAN",
    "ssn": "US_SSN",
    "national_id": "NATIONAL_ID",
    "ip": "IP_ADDRESS",
    "address": "ADDRESS",
    "birth": "DATE_OF_BIRTH",
    "name": "PERSON",
    "first": "PERSON",
    "last": "PERSON",
}
SENTENCES = (
    (
        "Please write to {email} about the delay.",
        "Customer called from {phone} twice.",
        "Paid with card {card}, thanks.",
        "Transfer the amount to {iban} by Friday.",
        "Her SSN is {ssn}.",
        "Login from {ip} was blocked.",
        "Ship it to {address}.",
        "Patient born on {birth}, stable.",
        "Bitte überweisen an {iban}, Rückfragen an {email}.",
        "Telefon: {phone}",
        "I spoke with {name} yesterday.",
        "Mr. {last} will join the call.",
    ),
    (
        "Reach me at {email} or {phone}.",
        "Call me on {phone} after six.",
        "My credit card {card} was declined.",
        "Refund goes to IBAN {iban}.",
        "SSN: {ssn}, verified.",
        "Request from {ip} timed out.",
        "He lives at {address} now.",
        "DOB: {birth}",
        "Merci de contacter {email}; tél. {phone}.",
        "Meeting with {name} moved to noon.",
        "Dear {first}, your request was accepted.",
        "¿Puede llamar al {phone}? Gracias.",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A value as a tool returns it, the personal values in it, and which leaves have none."""

    value: Any
    marks: Marks
    place: str  # telling, opaque, prose or decoys
    decoys: tuple[Any, ...] = ()
    language: str = field(default="en")


def cases(count: int, seed: int, *, held_out: bool = False) -> Iterator[Case]:
    source = random.Random(f"{seed}{held_out}")
    shapes = (
        _record,
        _records,
        _nested,
        _as_text,
        _as_csv,
        _table,
        _opaque,
        _prose,
        _prose,
        _pairs,
        _lines,
        _decoys,
        _decoys,
    )
    for _ in range(count):
        yield source.choice(shapes)(source, int(held_out))


def _fields(source: random.Random, split: int, who: Person, most: int = 7) -> tuple[dict[str, Any], Marks]:
    values: dict[str, Any] = {}
    marks: Marks = {}
    for what in source.sample(sorted(KEYS), source.randint(3, most)):
        value = str(getattr(who, what))
        values[source.choice(KEYS[what][split])] = value
        marks[value] = KINDS[what]
    return values, marks


def decoys(source: random.Random, split: int) -> dict[str, Any]:
    """Fields that look like personal data, and are none."""
    stamp = source.randint(1_500_000_000, 1_900_000_000)
    moment = f"20{source.randint(18, 26)}-{source.randint(1, 12):02}-{source.randint(1, 28):02}"
    everything: tuple[tuple[str, Any], ...] = (
        ("id", str(uuid.UUID(int=source.getrandbits(128)))),
        ("order_id", digits(source, source.choice((8, 10, 12, 16)))),
        ("orderNumber", luhn("4" + digits(source, 14))),
        ("created_at", f"{moment}T{source.randint(10, 23)}:15:0{source.randint(0, 9)}Z"),
        ("updatedAt", stamp * 1000),
        ("timestamp", str(stamp)),
        (
            "version",
            f"{source.randint(1, 9)}.{source.randint(0, 30)}.{source.randint(0, 30)}.{source.randint(0, 99)}",
        ),
        ("sha", f"{source.getrandbits(160):040x}"),
        ("etag", f'W/"{source.getrandbits(64):x}"'),
        ("sku", f"{digits(source, 3)}-{digits(source, 3)}-{digits(source, 4)}"),
        ("amount", f"{source.randint(1, 99999)}.{source.randint(10, 99)}"),
        ("price", source.randint(100, 99_999_999)),
        ("lat", source.uniform(-90, 90)),
        ("coordinates", f"{source.uniform(-90, 90):.6f}, {source.uniform(-180, 180):.6f}"),
        ("tracking_number", f"1Z{digits(source, 16)}"),
        ("invoice", f"INV-{digits(source, 4)}-{digits(source, 5)}"),
        ("isbn", f"978-3-{digits(source, 3)}-{digits(source, 5)}-{digits(source, 1)}"),
        ("company", source.choice(("Hollis & Sons Ltd", "Baumgärtner GmbH", "Wells Fargo", "Acme Inc"))),
        ("status", source.choice(("active", "pending", "shipped"))),
        ("city", source.choice(("Berlin", "Lyon", "Austin", "Osaka"))),
        ("url", f"https://shop.example.com/items/{digits(source, 10)}?v={digits(source, 13)}"),
        ("repository", "git@github.com:acme/tools.git"),
        ("note", f"Order {digits(source, 10)} shipped, total {source.randint(100, 999)}.00 EUR"),
        (
            "message",
            f"upgraded to version {source.randint(1, 9)}.{'.'.join(digits(source, 3))}",
        ),
        ("user_agent", f"Mozilla/5.0 (X11) Chrome/{source.randint(90, 130)}.0.0.0 Safari/537.36"),
        ("email_verified", True),
        ("phone_type", "mobile"),
        ("ip_version", 4),
        ("name", source.choice(("Quarterly report", "backup-job", "Standard plan", "main"))),
        ("title", source.choice(("Fix login page", "Release notes", "Jordan river survey"))),
        ("model", f"XR-{digits(source, 4)}-{digits(source, 4)}"),
        ("mac", ":".join(f"{source.getrandbits(8):02x}" for _ in range(6))),
        ("duration", f"{source.randint(10, 23)}:{source.randint(10, 59)}:{source.randint(10, 59)}"),
        ("image", f"registry.example.com/app@sha256:{source.getrandbits(256):064x}"),
        ("logo", "logo@2x.png"),
        ("package", f"lodash@4.17.{source.randint(1, 30)}"),
        ("cidr", f"10.{source.randint(0, 9)}.0.0/16"),
        ("account_id", digits(source, 12)),
        ("transactionId", digits(source, 16)),
        ("barcode", digits(source, 13)),
        ("file_name", "John_Deere_manual_2024-05-06.pdf"),
        ("rate", f"+{source.randint(1, 99)}.{digits(source, 6)}"),
        ("delta", f"+{digits(source, 6)}"),
        ("log", f"took {digits(source, 10)} ns at {moment} 12:00:01,123 pid={digits(source, 7)}"),
        ("phase", f"{moment}/{moment}"),
        ("address", f"0x{source.getrandbits(160):040x}"),
    )
    later = everything[split::2] + everything[-3:]
    return dict(source.sample(later, source.randint(3, 9)))


def _mixed(source: random.Random, split: int, who: Person) -> tuple[dict[str, Any], Marks, tuple[Any, ...]]:
    values, marks = _fields(source, split, who)
    others = {
        key: value for key, value in decoys(source, split).items() if key not in values and key != "name"
    }
    both = list((values | others).items())
    source.shuffle(both)
    return dict(both), marks, tuple(others.values())


def _case(value: Any, marks: Marks, place: str, others: tuple[Any, ...] = (), language: str = "en") -> Case:
    return Case(value=value, marks=marks, place=place, decoys=others, language=language)


def _record(source: random.Random, split: int) -> Case:
    who = person(source)
    values, marks, others = _mixed(source, split, who)
    return _case(values, marks, "telling", others, who.language)


def _records(source: random.Random, split: int) -> Case:
    rows: list[Any] = []
    marks: Marks = {}
    others: tuple[Any, ...] = ()
    for _ in range(source.randint(2, 5)):
        values, found, more = _mixed(source, split, person(source))
        rows.append(values)
        marks |= found
        others += more
    return _case(
        {"total": len(rows), "items": rows, "next_cursor": digits(source, 18)}, marks, "telling", others
    )


def _nested(source: random.Random, split: int) -> Case:
    who = person(source)
    marks = {who.name: "PERSON", who.email: "EMAIL", who.phone: "PHONE", who.address: "ADDRESS"}
    others = decoys(source, split)
    key = ("customer", "assignee")[split]
    inside = {"name": who.name, "email": who.email, "phones": [{"type": "home", "number": who.phone}]}
    place = {"address": {"street": who.address, "city": "Lyon", "country": "FR"}}
    return _case({"data": {key: inside | place, "meta": others}}, marks, "telling", tuple(others.values()))


def _as_text(source: random.Random, split: int) -> Case:
    values, marks, others = _mixed(source, split, person(source))
    text = json.dumps(values, indent=source.choice((None, 2)), ensure_ascii=source.random() < 0.3)
    return _case(
        source.choice((text, f"Found 1 record:\n{text}\nDone.", repr(values))), marks, "telling", others
    )


def _as_csv(source: random.Random, split: int) -> Case:
    names = source.sample(sorted(KEYS), 4)
    header = [source.choice(KEYS[name][split]) for name in names]
    marks: Marks = {}
    out = io.StringIO()
    table = csv.writer(out, delimiter=source.choice(",;\t"))
    table.writerow([*header, "order_id"])
    for _ in range(source.randint(2, 5)):
        who = person(source)
        cells = [str(getattr(who, name)) for name in names]
        marks |= {cell: KINDS[name] for cell, name in zip(cells, names, strict=True)}
        table.writerow([*cells, digits(source, 10)])
    return _case(out.getvalue(), marks, "telling")


def _table(source: random.Random, split: int) -> Case:
    names = source.sample(sorted(KEYS), 4)
    columns = [source.choice(KEYS[name][split]) for name in names]
    rows: list[list[Any]] = []
    marks: Marks = {}
    for _ in range(source.randint(2, 4)):
        who = person(source)
        cells = [str(getattr(who, name)) for name in names]
        marks |= {cell: KINDS[name] for cell, name in zip(cells, names, strict=True)}
        rows.append([*cells, source.randint(1, 9)])
    return _case({"columns": [*columns, "count"], "rows": rows}, marks, "telling")


def _opaque(source: random.Random, split: int) -> Case:
    who = person(source)
    marks: Marks = {}
    values: dict[str, Any] = {}
    for what in source.sample(("email", "phone", "card", "iban", "ssn", "ip"), 4):
        value = who.phone if what == "phone" else str(getattr(who, what))
        if what == "phone" and not value.startswith("+"):
            continue
        values[
            source.choice((("value", "f1", "data", "text"), ("col_a", "field", "content", "x"))[split])
            + str(len(values))
        ] = value
        marks[value] = KINDS[what]
    others = decoys(source, split)
    return _case({"row": values, "info": others}, marks, "opaque", tuple(others.values()))


def _prose(source: random.Random, split: int) -> Case:
    marks: Marks = {}
    lines: list[str] = []
    for sentence in source.sample(SENTENCES[split], 3):
        who = person(source, ("en", "de", "fr", "es", "it"))
        for what in KEYS:
            if f"{{{what}}}" in sentence:
                marks[str(getattr(who, what))] = KINDS[what]
        lines.append(sentence.format(**{what: getattr(who, what) for what in KEYS}))
    return _case({"comment": " ".join(lines)}, marks, "prose")


def _pairs(source: random.Random, split: int) -> Case:
    values, marks = _fields(source, split, person(source))
    rows = [{"name": key, "value": value} for key, value in values.items()]
    return _case({"fields": rows}, marks, "telling")


def _lines(source: random.Random, split: int) -> Case:
    values, marks = _fields(source, split, person(source))
    return _case("\n".join(f"{key}: {value}" for key, value in values.items()), marks, "telling")


def _decoys(source: random.Random, split: int) -> Case:
    rows = [decoys(source, split) for _ in range(source.randint(1, 4))]
    everything = tuple(value for row in rows for value in row.values())
    return _case({"results": rows}, {}, "decoys", everything)
