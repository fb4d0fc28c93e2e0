"""Sum up the quarter from three services, and tell the team in a fourth.

satchel run programs/quarter.py
"""
# ruff: noqa: F704  programs may await at the top level

from servers.quickbooks import list_invoices
from servers.salesforce import list_opportunities
from servers.slack import post_message
from servers.stripe import list_charges

won = [deal for deal in (await list_opportunities()).opportunities if deal.stage == "Closed Won"]
charged = [charge.amount for charge in (await list_charges()).charges]
unpaid = [invoice.amount for invoice in (await list_invoices()).invoices if not invoice.paid]
summary = f"{len(won)} deals won, ${sum(charged):,} charged, ${sum(unpaid):,} to come"
posted = await post_message(channel="#sales", text=summary)
print(summary)
result = {"won": len(won), "message": posted.id}
