from servers.salesforce import list_opportunities

STAGES = ("Prospecting", "Qualification", "Proposal", "Negotiation")


async def pipeline_report(today: str) -> str:
    """The open deals by stage, as a report in Markdown. Those that should have closed by today are marked."""
    deals = (await list_opportunities(open_only=True, limit=200)).opportunities
    lines = ["# Open deals", "", "| Stage | Deals | Amount | Weighted |", "|---|---|---|---|"]
    for stage in STAGES:
        here = [deal for deal in deals if deal.stage == stage]
        amount = sum(deal.amount or 0 for deal in here)
        weighted = sum((deal.amount or 0) * (deal.probability or 0) / 100 for deal in here)
        lines.append(f"| {stage} | {len(here)} | ${amount:,.0f} | ${weighted:,.0f} |")
    late = [deal for deal in deals if deal.close_date and deal.close_date < today]
    lines += ["", f"{len(late)} of {len(deals)} should have closed before {today}."]
    lines += [
        f"- {deal.name} ({deal.account_name}): {deal.close_date}, {deal.next_step or 'no next step'}"
        for deal in late
    ]
    return "\n".join(lines)
