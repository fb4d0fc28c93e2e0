"""The words of field names in several languages, as tables. `key_names.py` reads names with them.

A phrase is in lower case, without accents, its words apart: `firstName`, `first_name` and `first-name` are
all `first name`. Languages that join words have the joined word.
"""

from satchel.privacy.kinds import (
    ADDRESS,
    CREDIT_CARD,
    DATE_OF_BIRTH,
    EMAIL,
    IBAN,
    IP_ADDRESS,
    NATIONAL_ID,
    PERSON,
    PHONE,
    US_SSN,
)
from satchel.privacy.tables import phrase_table, table


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(phrase.strip() for phrase in text.split(",") if phrase.strip())


PHRASES: dict[str, tuple[str, ...]] = {
    EMAIL: _phrases(
        "email, e mail, emails, mail, mail address, email addr, correo, correo electronico, courriel,"
        " adresse mail, mel, epost, e post, posta elettronica, sahkoposti, emailadresse,"
        " mailadresse, eposta,"
        " epostadress, reply to, replyto, mailto, adres email, poczta"
    ),
    PHONE: _phrases(
        "phone, phones, telephone, tel, telephones, phonenumber, phone nr, mobile, mobiles, cell,"
        " cellphone,"
        " cellular, fax, msisdn, whatsapp, sms, handy, handynummer, telefon, telefonnummer,"
        " telefonnr, mobil,"
        " mobilnummer, mobiltelefon, rufnummer, festnetz, telefono, celular, movil, telefax, faxnummer,"
        " portable, numero de telephone, cellulare, telefone, telemovel, telefoon, telefoonnummer, gsm,"
        " mobiel, puhelin, puhelinnumero, telefonszam, komorka, numer telefonu, landline, contact number,"
        " callback number, caller id, caller number, caller, callee, dialed number, mobilenumber,"
        " contact no,"
        " telefonu, telefonas, telefoni, numero di telefono, numero de telefono, numero de celular"
    ),
    CREDIT_CARD: _phrases(
        "credit card, creditcard, card number, cardnumber, card no, card num, cc, cc number, ccnumber, cc"
        " num, ccnum, card pan, pan, debit card, debitcard, payment card, kreditkarte, kreditkartennummer,"
        " kartennummer, carte bancaire, carte de credit, carte bleue, numero de carte, numero"
        " carte, tarjeta,"
        " tarjeta de credito, numero de tarjeta, numero tarjeta, carta di credito, numero carta, cartao,"
        " cartao de credito, numero do cartao, numero cartao, creditcardnummer, kreditkort, kortnummer, "
        " karta kredytowa, numer karty, luottokortti"
    ),
    IBAN: _phrases("iban, ibans, iban number, bank iban, ibannummer, kontonummer iban"),
    US_SSN: _phrases("ssn, social security, social security number, socialsecuritynumber, us ssn, soc sec"),
    NATIONAL_ID: _phrases(
        "national id, nationalid, national identifier, national identity, national insurance,"
        " nino, passport,"
        " passport id, passportnumber, tax id, taxid, taxpayer id, taxpayer, tax identification, tin, itin,"
        " tax file number, tfn, nif, dni, nie, cedula, cpf, cuil, cuit, rg, bsn,"
        " burgerservicenummer, pesel,"
        " personnummer, fodselsnummer, personnumer, hetu, henkilotunnus, cpr, aadhaar, aadhar, sin,"
        " social insurance, nhs, nhs number, steuer id, steuerid, steueridentifikationsnummer,"
        " steuernummer,"
        " sozialversicherungsnummer, rentenversicherungsnummer, svnr, ausweisnummer, personalausweis,"
        " personalausweisnummer, reisepass, reisepassnummer, passnummer, pasaporte, passeport, passaporto,"
        " passaporte, driver license, drivers license, driver licence, drivers licence, driving license,"
        " driving licence, dl number, fuhrerschein, fuhrerscheinnummer, permis de conduire, licencia de"
        " conducir, identity card, id card, id document, id doc, identity document, identity number,"
        " identification number, citizen id, citizenid, curp, rfc, rut, run, codice fiscale, codicefiscale,"
        " carta identita, numero de securite sociale, securite sociale, numero secu, nir, insee,"
        " ahv, ahv nr,"
        " avs, cnp, egn, oib, jmbg, emso, rodne cislo, asmens kodas, isikukood, personal id, personal code,"
        " personal number, personal identity, government id, govt id, gov id, medicare, medicare number,"
        " voter id, residence permit, documento de identidad, numero de documento, numero documento, inn,"
        " snils, my number, mynumber, resident registration, rrn, resident id, id number, numer dowodu,"
        " rijksregisternummer, numero national, dowod osobisty, ppsn, pps number, social insurance number"
    ),
    IP_ADDRESS: _phrases(
        "ip, ips, ip address, ip addr, ipaddress, ipaddr, ipv4, ipv6, remote addr, remote address,"
        " remoteaddr, client ip, clientip, source ip, src ip, dest ip, dst ip, sourceip, x"
        " forwarded for, forwarded for,"
        " remote ip, user ip, login ip, last ip, host ip, peer ip, ip adresse, adresse ip, direccion ip,"
        " indirizzo ip, ipadresse, endereco ip"
    ),
    ADDRESS: _phrases(
        "address, addr, addresses, street, streetaddress, street name, street address, mailing address,"
        " postal address, home address, residence, address line, addressline, address1, address2, addr1,"
        " addr2, street1, street2, domicile, anschrift, adresse, strasse, strassenname, hausnummer,"
        " wohnort adresse, wohnadresse, lieferadresse, rechnungsadresse, postanschrift, postadresse,"
        " direccion, domicilio, calle, rue, indirizzo, via, residenza, endereco, morada, rua, logradouro,"
        " adres, straat, straatnaam, woonadres, ulica, adresa, gatuadress, adress, gata, gade, vej, osoite,"
        " katuosoite, lahiosoite, cim, utca, house number, po box, postfach, ship to, bill to, delivery"
        " address, shipping address, billing address"
    ),
    DATE_OF_BIRTH: _phrases(
        "dob, d o b, birth date, birthdate, date of birth, dateofbirth, birthday, birth day, born, born on,"
        " bday, geburtsdatum, geburtstag, geboren, geb datum, gebdat, fecha de nacimiento, fecha"
        " nacimiento,"
        " nacimiento, fecha nac, date de naissance, date naissance, naissance, ne le, data di nascita, data"
        " nascita, nascita, data de nascimento, data nascimento, nascimento, geboortedatum, fodelsedatum,"
        " fodselsdato, fodselsdag, syntymaaika, data urodzenia, datum narozeni, datum rodjenja, szuletesi"
        " datum, data nasterii, dogum tarihi, gebdatum"
    ),
    PERSON: _phrases(
        "first name, firstname, fname, last name, lastname, lname, full name, fullname, given name,"
        " givenname, given names, family name, familyname, surname, forename, middle name,"
        " middlename, maiden name,"
        " legal name, real name, realname, preferred name, nickname, person name, personname, contact name,"
        " contact person, contactname, customer name, customername, client name, patient name,"
        " employee name,"
        " holder name, cardholder, card holder, cardholder name, card holder name, name on card, account"
        " holder, account holder name, beneficiary name, recipient name, sender name, author name, assignee"
        " name, owner name, user full name, guest name, passenger name, student name, teacher name, member"
        " name, manager name, lead name, applicant name, candidate name, subscriber name, attendee name,"
        " tenant name, spouse name, spouse, next of kin, emergency contact, emergency contact"
        " name, vorname,"
        " nachname, familienname, vollstandiger name, geburtsname, vorname nachname, ansprechpartner,"
        " kontaktperson, karteninhaber, kontoinhaber, kundenname, prenom, nom, nom de famille, nom complet,"
        " nom famille, nom usage, titulaire, nombre completo, apellido, apellidos, primer apellido, segundo"
        " apellido, nombres, nombre cliente, titular, nome completo, cognome, nominativo, intestatario,"
        " sobrenome, apelido, nome, voornaam, achternaam, volledige naam, contactpersoon, fornavn,"
        " etternavn,"
        " efternavn, fornamn, efternamn, etunimi, sukunimi, imie, nazwisko, imie i nazwisko,"
        " jmeno, prijmeni,"
        " ime, prezime, keresztnev, vezeteknev, teljes nev, nume, prenume, nume de familie, ad"
        " soyad, soyad,"
        " soyadi, display name, displayname, real_name, patient, doctor name, physician name, buyer name,"
        " shipping name, billing name, payer name, payee name, signer name, signatory name, reporter name,"
        " creator name, approver name, requester name, driver name, parent name, child name, father name,"
        " mother name, mothers maiden name, person, naam klant, contact full name"
    ),
}
"""A name with one of these at its end, as a whole word or words, tells of the kind."""

IN_ANY_SCRIPT: dict[str, tuple[str, ...]] = {
    EMAIL: ("邮箱", "邮件", "メール", "电子邮", "電子郵", "почта", "имейл", "이메일", "ایمیل", "بريد"),
    PHONE: (
        "电话",
        "電話",
        "手机",
        "手機",
        "携帯",
        "телефон",
        "전화",
        "휴대폰",
        "هاتف",
        "फ़ोन",
        "τηλέφωνο",
        "טלפון",
    ),
    CREDIT_CARD: ("银行卡", "信用卡号", "カード番号", "номер карты", "카드번호", "卡号"),
    NATIONAL_ID: (
        "身份证",
        "身分證",
        "マイナンバー",
        "护照",
        "護照",
        "パスポート",
        "주민등록번호",
        "여권",
        "паспорт",
        "инн",
        "снилс",
    ),
    ADDRESS: ("地址", "住所", "адрес", "주소", "عنوان", "पता", "διεύθυνση", "כתובת", "улица"),
    DATE_OF_BIRTH: ("出生日期", "生年月日", "生日", "дата рождения", "생년월일", "تاريخ الميلاد", "जन्म"),
    PERSON: (
        "姓名",
        "名前",
        "氏名",
        "имя",
        "фамилия",
        "отчество",
        "фио",
        "이름",
        "성명",
        "اسم",
        "नाम",
        "όνομα",
        "שם",
    ),
    IP_ADDRESS: ("ip地址", "ipアドレス", "ip-адрес", "ip адрес"),
}
"""Parts of names in scripts that have no spaces, or no case."""

TAILS = table(
    """
    number numbers no nr num nummer numero numer value values text string raw full primary secondary
    work home office private business personal main new old current previous alternate alternative alt
    other e164 normalized normalised formatted original international national local line 1 2 3 4 one
    two address addresses addr id list array field input s contact emergency mobile billing shipping v4
    v6 ext
    """
)
"""Words after a phrase that change nothing about it."""

ROLES = table(
    """
    author assignee reporter owner creator sender recipient attendee patient employee signatory contact
    customer client user manager lead driver passenger guest applicant candidate reviewer approver
    requester requestor assigner participant organizer organiser host speaker instructor teacher student
    member subscriber buyer payer payee beneficiary holder tenant landlord witness doctor physician
    nurse agent salesperson representative supervisor director editor translator composer artist from to
    cc bcc by attn attention attendees authors assignees recipients participants contacts customers
    users employees members people patients persons guests passengers reviewers speakers students
    children parents kunde kunden mitarbeiter bearbeiter absender empfanger ansprechpartner kontakt
    benutzer autor auteur destinataire expediteur client clients salarie usuario cliente clientes
    empleado remitente destinatario contacto utente dipendente mittente usuarios empleados contactos
    funcionario klant medewerker klanten anvandare kund autore consignee shipper signer caller guardian
    dependents spouse assigned created updated modified approved submitted reported lessee kontakte
    teilnehmer personal staff profile individual individuals person responsible
    """
)
"""Words for people: the value of such a field may be a name, and `name` within one is a person's."""

NAMES = table(
    """
    name names naam navn namn nimi nev nombre nome nom imie jmeno ime isim label
    """
)
"""Words for any name: a person's where the fields beside it are a person's."""

ADVERSE = table(
    """
    id ids identifier identifiers uuid guid uid gid oid pid version versions ver release build rev
    revision hash sha sha1 sha256 sha512 md5 checksum digest commit etag order orders invoice ref
    reference ticket case tracking shipment sku article item product part serial batch lot ts timestamp
    timestamps time date datetime created updated modified deleted at on amount amounts price total
    subtotal cost sum balance qty quantity count size bytes length duration lat lon lng latitude
    longitude coord coords coordinate coordinates location geo point bbox altitude width height score
    rating rate ratio percent percentage weight port offset page limit index seq sequence number no nr
    num code key token signature session trace span request correlation transaction txn model firmware
    isbn issn ean upc gtin barcode asin doi nonce salt hex crc cursor etags fingerprint thumbprint
    bestellnummer rechnungsnummer artikelnummer auftragsnummer kundennummer seriennummer sendungsnummer
    nummer numero numer pedido factura commande facture bestellung rechnung ordine fattura ordre faktura
    zamowienie betrag preis summe montant prix importe precio importo prezzo valor expires expiry exp
    ttl epoch millis ms ns iat nbf zip zipcode plz postcode range oidc subnet cidr netmask mask gateway
    tag tags blob tree digest image container pod schema revisionid semver changeset baseline
    buildnumber patch major minor threshold metric value_ms latency elapsed iban_length account accounts
    konto kontonummer
    """
)
"""Words at the end of a name that speak against all kinds that have no check digits."""

STRONGLY_ADVERSE = ADVERSE - table(
    """
    id ids identifier identifiers ref reference number no nr num code key case account accounts numero
    nummer numer value_ms uid
    """
)
"""Words that also speak against US_SSN."""

ABOUT = table(
    """
    type types count verified id ids status length hash brand model format valid at date template
    subject domain provider label country code prefix suffix enabled disabled required optional
    preference preferences opt optin notifications notification sent opened clicked bounced body title
    header headers html server host port version kind category group name url link uri path file image
    icon network bin last4 last exp expiry expires expiration month year cvv cvc funding issuer method
    provider score risk match matches confirmed confirmation is has regex pattern mask masked
    placeholder error errors message messages settings config schema column field fields key keys state
    city region zip postal postcode plz ort stadt place client app campaign list size class role level
    plan limit token ms time
    """
)
"""Words after a phrase that make it a property of the thing, such as `email_count`."""

NOTHING = phrase_table(
    """
    n/a | na | none | null | nil | unknown | undefined | anonymous | - | -- | — | ? | . | x | xx | xxx |
    tbd | todo | test | true | false | yes | no | ja | nein | system | admin | root | bot | deleted user
    | unassigned | not set | not available | not provided | empty | default | redacted | [redacted] |
    *** | hidden | private | other | nobody | everyone | all | me | self | you | user | guest | various
    | unbekannt | keine | inconnu | desconocido | sconosciuto | brak | ghost | automation | scheduler |
    service | cron | webhook | api | support | sales | team | staff | n.a. | nan | home | work | office
    | mobile | primary | billing | shipping | same as above | same
    """
)
"""Values that say nothing about anybody."""

COMPANY = table(
    """
    inc ltd llc llp gmbh ag kg ohg ug se sa sas sarl srl spa bv nv oy ab as aps plc corp corporation
    company co limited holding holdings group gruppe bank banca banco banque insurance versicherung
    university universitat universite college institute institut foundation stiftung association verein
    hospital klinik clinic school schule hotel restaurant cafe store shop services solutions systems
    technologies technology tech software labs laboratories industries partners ventures capital
    consulting consultancy logistics airlines airways motors electronics pharma pharmaceuticals media
    studios studio networks energy foods department office ministry agency authority council committee
    team fund trust pty kk sro doo zrt kft eood pte und sohne server cluster project board sprint
    release plan edition pro premium basic enterprise suite cloud app api service gateway database
    dashboard report invoice order product service channel bot workflow job pipeline queue model device
    printer phone laptop street road avenue park city county state north south east west united states
    kingdom republic new san los el de la
    """
)
"""Words that names of people don't have, and names of companies, products and places do."""
