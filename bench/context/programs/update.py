# type: ignore
# ruff: noqa: F704
from servers.salesforce import list_opportunities, update_opportunity

deals = await list_opportunities(open_only=True, limit=10)
for deal in deals.opportunities:
    await update_opportunity(
        opportunity_id=deal.id, next_step="Confirm the date with the customer before 30 November"
    )
print(*(deal.id for deal in deals.opportunities))
