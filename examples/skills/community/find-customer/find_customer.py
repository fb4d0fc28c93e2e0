from servers.salesforce import list_accounts, list_notes, list_opportunities, query_records


async def find_customer(name: str) -> dict:
    """What is known of a customer: the account with its contacts, open deals and latest notes.

    Raises LookupError, with the names that come close, unless exactly one account fits.
    """
    found = (await list_accounts(query=name)).accounts
    exact = [account for account in found if account.name.casefold() == name.casefold()]
    if len(exact or found) != 1:
        names = ", ".join(account.name for account in found) or "none"
        raise LookupError(f"{len(found)} accounts fit {name!r}: {names}")
    account = (exact or found)[0]
    of_account = [{"field": "account_id", "value": account.id}]
    contacts = await query_records(object_type="Contact", conditions=of_account, limit=200)
    deals = await list_opportunities(account_id=account.id, open_only=True)
    notes = [
        note
        for each in (account, *deals.opportunities)
        for note in (await list_notes(record_id=each.id)).notes
    ]
    return {
        "account": dict(account),
        "contacts": [{"id": contact.id, **contact.fields} for contact in contacts.records],
        "open_deals": [
            {
                "id": deal.id,
                "name": deal.name,
                "stage": deal.stage,
                "amount": deal.amount,
                "close_date": deal.close_date,
            }
            for deal in deals.opportunities
        ],
        "notes": [{"on": note.record_id, "title": note.title} for note in notes[:5]],
    }
