"""The quarterly reports of a made-up company, written by rules: the same quarter always gives the same text.

Tables add up to the key figures, and the findings are drawn from both. Sentences come from shuffled decks,
so that a long report doesn't read as one sentence repeated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

from quarterly_report_phrases import (
    ACCOUNT_ACTIONS,
    ACCOUNT_DRIVERS,
    ACCOUNT_OPENINGS,
    CUSTOMER_NAMES,
    INCIDENT_EFFECTS,
    INCIDENTS,
    MANAGERS,
    MARKET_ACTIONS,
    MARKET_DRIVERS,
    MARKET_OBSERVATIONS,
    PRODUCT_NOTES,
    PRODUCT_PLANS,
    PROJECTS,
    RISKS,
    TRADES,
)

Phrase = TypeVar("Phrase")

COMPANY = "Larkfield Systems"

# Thousands of dollars.
REVENUE = {
    "Q3 2024": 35_100,
    "Q4 2024": 36_640,
    "Q1 2025": 37_900,
    "Q2 2025": 39_350,
    "Q3 2025": 41_120,
    "Q4 2025": 43_480,
    "Q1 2026": 44_360,
    "Q2 2026": 46_270,
    "Q3 2026": 48_720,
}
MONTHS = {
    "Q1": ("January", "February", "March"),
    "Q2": ("April", "May", "June"),
    "Q3": ("July", "August", "September"),
    "Q4": ("October", "November", "December"),
}
REGIONS = {
    "North America": (34, ("United States", "Canada", "Mexico")),
    "British Isles": (14, ("United Kingdom", "Ireland")),
    "Central Europe": (17, ("Germany", "Austria", "Switzerland", "Poland", "Czechia")),
    "Western Europe": (12, ("France", "Belgium", "Netherlands", "Spain", "Portugal")),
    "Nordics and Baltics": (9, ("Sweden", "Norway", "Denmark", "Finland", "Estonia")),
    "Asia Pacific": (9, ("Australia", "New Zealand", "Japan", "Singapore")),
    "Latin America": (5, ("Brazil", "Chile", "Colombia")),
}
COUNTRIES = [country for _, countries in REGIONS.values() for country in countries]
PRODUCTS = {
    "Beacon (asset sensors)": 27,
    "Harbor (scheduling)": 24,
    "Compass (analytics)": 19,
    "Ledger (billing)": 15,
    "Signal (alerting)": 9,
    "Field services": 6,
}
DEPARTMENTS = {
    "Engineering": 34,
    "Operations": 20,
    "Sales": 15,
    "Customer success": 13,
    "Marketing": 6,
    "Finance": 6,
    "People": 4,
    "Legal": 2,
}
CUSTOMERS = [(f"{name} {trade}", trade) for name in CUSTOMER_NAMES for trade in TRADES]


@dataclass(frozen=True, kw_only=True)
class Quarter:
    label: str
    gross_margin: float
    operating_margin: float
    net_retention: float
    churned: int
    customers: int
    headcount: int
    cash: int
    """Thousands of dollars."""
    summary: str
    findings: tuple[str, ...]
    accounts_reviewed: int = 8
    contracts_listed: int = 5
    incidents_reviewed: int = 3


@dataclass(frozen=True, kw_only=True)
class Line:
    """One row of a breakdown: this quarter and the same quarter a year before, in thousands."""

    name: str
    revenue: int
    year_before: int

    @property
    def growth(self) -> float:
        return 100 * (self.revenue / self.year_before - 1)


class Deck(Generic[Phrase]):
    """Deals phrases in a shuffled order, and none twice before all have been dealt."""

    def __init__(self, random: Random, phrases: Sequence[Phrase]) -> None:
        self._random = random
        self._phrases = list(phrases)
        self._left: list[Phrase] = []

    def deal(self) -> Phrase:
        if not self._left:
            self._left = self._random.sample(self._phrases, len(self._phrases))
        return self._left.pop()


def write_report(quarter: Quarter) -> str:
    random = Random(quarter.label)
    regions = breakdown(random, quarter, {name: weight for name, (weight, _) in REGIONS.items()})
    products = breakdown(random, quarter, PRODUCTS)
    sections = (
        opening(quarter),
        key_figures(quarter),
        regional_performance(random, quarter, regions),
        product_performance(random, quarter, products),
        account_reviews(random, quarter),
        contracts(random, quarter),
        service_quality(random, quarter),
        projects(random),
        people(random, quarter),
        risks(random),
        findings(quarter, regions, products),
        outlook(quarter),
        appendix(quarter),
    )
    return "\n".join(line for section in sections for line in section) + "\n"


def opening(quarter: Quarter) -> Iterator[str]:
    yield f"# {COMPANY}: quarterly report {quarter.label}"
    yield ""
    yield "Prepared by Finance and Strategy for the management board. Figures are unaudited, in US dollars."
    yield ""
    yield "## 1. Summary"
    yield ""
    yield quarter.summary
    yield ""


def key_figures(quarter: Quarter) -> Iterator[str]:
    revenue = REVENUE[quarter.label]
    yield "## 2. Key figures"
    yield ""
    yield f"Key figure: Revenue: {money(revenue)}"
    yield f"Key figure: Revenue growth, year over year: {percent(growth_over(quarter.label, 4))}"
    yield f"Key figure: Revenue growth, quarter over quarter: {percent(growth_over(quarter.label, 1))}"
    yield f"Key figure: Gross margin: {quarter.gross_margin:.1f}%"
    yield f"Key figure: Operating income: {money(round(revenue * quarter.operating_margin / 100))}"
    yield f"Key figure: Net revenue retention: {quarter.net_retention:.0f}%"
    yield f"Key figure: Customers: {quarter.customers:,} ({quarter.churned} lost in the quarter)"
    yield f"Key figure: Headcount: {quarter.headcount:,}"
    yield f"Key figure: Cash: {money(quarter.cash)}"
    yield ""


def regional_performance(random: Random, quarter: Quarter, regions: Sequence[Line]) -> Iterator[str]:
    lost = Counter(random.choices(COUNTRIES, k=quarter.churned))
    observations, drivers, actions = (
        Deck(random, phrases) for phrases in (MARKET_OBSERVATIONS, MARKET_DRIVERS, MARKET_ACTIONS)
    )
    managers = Deck(random, MANAGERS)
    yield "## 3. Regions"
    yield ""
    yield from breakdown_table("Region", regions)
    for number, region in enumerate(regions, 1):
        countries = REGIONS[region.name][1]
        yield f"### 3.{number} {region.name}"
        yield ""
        yield (
            f"{region.name} closed the quarter at {money(region.revenue)}, {percent(region.growth)} against"
            f" the same quarter of the year before. {observations.deal()} {drivers.deal()}"
        )
        yield ""
        yield from table(
            ("Country", "Revenue", "New customers", "Lost customers", "Open pipeline", "Win rate"),
            (
                (
                    country,
                    money(revenue),
                    str(random.randint(2, 31)),
                    str(lost[country]),
                    money(round(revenue * random.uniform(1.6, 3.4))),
                    f"{random.randint(17, 41)}%",
                )
                for country, revenue in split(random, region.revenue, falling(countries)).items()
            ),
        )
        yield (
            f"{observations.deal()} {actions.deal()} {managers.deal()} owns the plan for"
            f" {random.choice(countries)} and reports on it in week {random.randint(2, 12)}."
        )
        yield ""


def product_performance(random: Random, quarter: Quarter, products: Sequence[Line]) -> Iterator[str]:
    months = MONTHS[quarter.label[:2]]
    notes, plans = Deck(random, PRODUCT_NOTES), Deck(random, PRODUCT_PLANS)
    yield "## 4. Products"
    yield ""
    yield from breakdown_table("Product", products)
    for number, product in enumerate(products, 1):
        yield f"### 4.{number} {product.name}"
        yield ""
        yield (
            f"{notes.deal()} {notes.deal()} Revenue was {money(product.revenue)},"
            f" {percent(product.growth)} over the year."
        )
        yield ""
        yield from table(
            ("Month", "Revenue", "Active sites", "Tickets per 100 sites", "Availability"),
            (
                (
                    month,
                    money(revenue),
                    f"{round(revenue * random.uniform(0.9, 1.4)):,}",
                    f"{random.uniform(2.1, 7.9):.1f}",
                    f"{random.uniform(99.82, 99.99):.2f}%",
                )
                for month, revenue in split(random, product.revenue, dict.fromkeys(months, 1)).items()
            ),
        )
        yield f"{plans.deal()} {plans.deal()}"
        yield ""


def account_reviews(random: Random, quarter: Quarter) -> Iterator[str]:
    customers = random.sample(CUSTOMERS, quarter.accounts_reviewed)
    openings, drivers, actions = (
        Deck(random, phrases) for phrases in (ACCOUNT_OPENINGS, ACCOUNT_DRIVERS, ACCOUNT_ACTIONS)
    )
    managers = Deck(random, MANAGERS)
    yield "## 5. Account reviews"
    yield ""
    yield f"The {len(customers)} accounts below were reviewed with their managers; health is out of 100."
    yield ""
    for number, (name, trade) in enumerate(sorted(customers), 1):
        recurring = random.randint(42, 910)
        yield (
            f"- 5.{number} **{name}** ({random.choice(TRADES[trade])}; {money(recurring)} a year, renewal"
            f" {random.randint(2027, 2029)}-{random.randint(1, 12):02d}, health {random.randint(38, 97)})."
            f" {openings.deal()} {drivers.deal()} {actions.deal()} Manager: {managers.deal()}."
        )
    yield ""


def contracts(random: Random, quarter: Quarter) -> Iterator[str]:
    first_month = 1 + 3 * (int(quarter.label[1]) - 1)
    days = sorted(
        (first_month + random.randrange(3), random.randint(1, 28)) for _ in range(quarter.contracts_listed)
    )
    yield "## 6. Contracts signed"
    yield ""
    yield from table(
        ("Date", "Customer", "Product", "Country", "Value a year", "Months"),
        (
            (
                f"{quarter.label[3:]}-{month:02d}-{day:02d}",
                random.choice(CUSTOMERS)[0],
                random.choice(list(PRODUCTS)),
                random.choice(COUNTRIES),
                money(random.randint(6, 90)),
                str(random.choice((12, 24, 24, 36, 48))),
            )
            for month, day in days
        ),
    )


def service_quality(random: Random, quarter: Quarter) -> Iterator[str]:
    incidents, effects = Deck(random, INCIDENTS), Deck(random, INCIDENT_EFFECTS)
    products, managers = Deck(random, list(PRODUCTS)), Deck(random, MANAGERS)
    yield "## 7. Service quality"
    yield ""
    yield from table(
        ("Week", "Tickets opened", "Tickets closed", "Median first answer", "Satisfaction"),
        (
            (
                str(week),
                str(random.randint(310, 520)),
                str(random.randint(300, 530)),
                f"{random.randint(11, 58)} min",
                f"{random.uniform(4.1, 4.8):.2f} of 5",
            )
            for week in range(1, 14)
        ),
    )
    for number in range(1, quarter.incidents_reviewed + 1):
        day, month = random.randint(1, 28), random.choice(MONTHS[quarter.label[:2]])
        yield f"### 7.{number} Incident of {day} {month}: {products.deal()}"
        yield ""
        cause, lesson = incidents.deal()
        yield (
            f"{cause} {effects.deal()} It was noticed after {random.randint(2, 41)} minutes and lasted"
            f" {random.randint(45, 240)}; {random.randint(3, 190)} customers opened a ticket. {lesson}"
            f" Follow-up: {managers.deal()}, due in {random.randint(2, 10)} weeks."
        )
        yield ""


def projects(random: Random) -> Iterator[str]:
    managers = Deck(random, MANAGERS)
    yield "## 8. Projects"
    yield ""
    for number, (name, state, text) in enumerate(PROJECTS, 1):
        spent = 100 if state == "done" else random.randint(15, 95)
        yield (
            f"- 8.{number} **{name}** ({state}, {spent}% of {money(random.randint(90, 1_400))} spent). {text}"
            f" Lead: {managers.deal()}."
        )
    yield ""


def people(random: Random, quarter: Quarter) -> Iterator[str]:
    yield "## 9. People"
    yield ""
    yield from table(
        ("Department", "Headcount", "Joined", "Left", "Open positions"),
        (
            (
                department,
                str(count),
                str(random.randint(0, 1 + count // 12)),
                str(random.randint(0, 1 + count // 25)),
                str(random.randint(0, 1 + count // 15)),
            )
            for department, count in split(random, quarter.headcount, DEPARTMENTS).items()
        ),
    )


def risks(random: Random) -> Iterator[str]:
    managers = Deck(random, MANAGERS)
    yield "## 10. Risks"
    yield ""
    for number, (risk, answer) in enumerate(RISKS, 1):
        yield (
            f"- R-{number:02d} (likelihood {random.randint(1, 5)}, impact {random.randint(1, 5)}). {risk}"
            f" {answer} Owner: {managers.deal()}."
        )
    yield ""


def findings(quarter: Quarter, regions: Sequence[Line], products: Sequence[Line]) -> Iterator[str]:
    fastest = max(regions, key=lambda line: line.growth)
    slowest = min(regions, key=lambda line: line.growth)
    largest = max(products, key=lambda line: line.revenue)
    yield "## 11. Findings"
    yield ""
    for text in quarter.findings:
        yield f"Finding: {text}"
    yield (
        f"Finding: {fastest.name} grew fastest ({percent(fastest.growth)}) and {slowest.name} slowest"
        f" ({percent(slowest.growth)})."
    )
    yield (
        f"Finding: {largest.name} remains the largest product at {money(largest.revenue)},"
        f" {100 * largest.revenue / REVENUE[quarter.label]:.0f}% of revenue."
    )
    yield ""


def outlook(quarter: Quarter) -> Iterator[str]:
    revenue = REVENUE[quarter.label]
    yield "## 12. Outlook"
    yield ""
    yield (
        f"For the next quarter the board expects revenue between {money(round(revenue * 1.025))} and"
        f" {money(round(revenue * 1.055))} at a gross margin of {quarter.gross_margin - 0.5:.1f}% to"
        f" {quarter.gross_margin + 0.7:.1f}%. The range assumes no change in exchange rates."
    )
    yield ""


def appendix(quarter: Quarter) -> Iterator[str]:
    labels = list(REVENUE)
    so_far = labels[: labels.index(quarter.label) + 1]
    yield "## Appendix: revenue by quarter"
    yield ""
    yield from table(("Quarter", "Revenue"), ((label, money(REVENUE[label])) for label in so_far))
    yield "Net revenue retention compares the revenue of customers of a year ago with what they pay now."


def breakdown(random: Random, quarter: Quarter, weights: dict[str, int]) -> list[Line]:
    labels = list(REVENUE)
    year_before = REVENUE[labels[labels.index(quarter.label) - 4]]
    now, then = (split(random, total, weights) for total in (REVENUE[quarter.label], year_before))
    return [Line(name=name, revenue=now[name], year_before=then[name]) for name in weights]


def breakdown_table(heading: str, lines: Sequence[Line]) -> Iterator[str]:
    yield from table(
        (heading, "Revenue", "Year before", "Growth"),
        ((line.name, money(line.revenue), money(line.year_before), percent(line.growth)) for line in lines),
    )


def table(heading: Sequence[str], rows: Iterator[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heading)} |"
    yield f"|{'---|' * len(heading)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def split(random: Random, total: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Whole numbers near the weights that add up to the total."""
    shares = {name: weight * random.uniform(0.96, 1.04) for name, weight in weights.items()}
    parts = {name: round(total * share / sum(shares.values())) for name, share in shares.items()}
    parts[next(iter(parts))] += total - sum(parts.values())
    return parts


def falling(names: Sequence[str]) -> dict[str, float]:
    """Weights for names that are listed from the largest to the smallest."""
    return {name: 0.6**place for place, name in enumerate(names)}


def growth_over(label: str, quarters: int) -> float:
    labels = list(REVENUE)
    return 100 * (REVENUE[label] / REVENUE[labels[labels.index(label) - quarters]] - 1)


def money(thousands: int) -> str:
    return f"${thousands / 1000:.2f}M" if thousands >= 1000 else f"${thousands}K"


def percent(value: float) -> str:
    return f"{value:+.1f}%"
