"""The sentences and names that quarterly reports are put together from. People and companies are made up."""

from __future__ import annotations

MANAGERS = (
    "Amara Osei",
    "Benedikt Lind",
    "Carla Fontes",
    "Dmitri Aalto",
    "Elif Kaya",
    "Farid Haddad",
    "Greta Solheim",
    "Hiro Tanabe",
    "Imogen Pryce",
    "Jonas Weidner",
    "Katya Bellow",
    "Luis Arrieta",
    "Maeve Dunne",
    "Nils Ekberg",
)

CUSTOMER_NAMES = (
    "Alderbrook",
    "Brightwater",
    "Corvane",
    "Dunmore",
    "Eastlight",
    "Fallowfield",
    "Glasswing",
    "Hollin",
    "Ironbridge",
    "Juniper Bay",
    "Kestrel",
    "Lowmoor",
    "Marrow Hill",
    "Northgate",
    "Oakhurst",
    "Pellworth",
    "Quillon",
    "Redfern",
    "Saltmarsh",
    "Thornbury",
    "Umberland",
    "Vantage Point",
    "Westering",
    "Yarrow",
)

# The last word of a customer's name, and what such a customer does.
TRADES = {
    "Logistics": ("freight forwarding", "parcel delivery", "port operations"),
    "Health": ("hospital group", "pharmaceutical wholesale", "laboratories"),
    "Energy": ("district heating", "wind parks", "grid operation"),
    "Retail Group": ("grocery retail", "furniture retail", "fuel stations"),
    "Foods": ("food processing", "dairy", "bakeries"),
    "Rail": ("regional rail", "rail freight", "rolling-stock leasing"),
    "Water": ("water utility", "sewage treatment", "bottling"),
    "Packaging": ("cartons", "glass", "returnable crates"),
    "Facilities": ("facility management", "airport services", "waste management"),
    "Cold Storage": ("refrigerated storage", "frozen fish", "vaccine storage"),
}

MARKET_OBSERVATIONS = (
    "Demand was steady through the first eight weeks and rose in the last five, as budgets were released.",
    "Buyers asked for shorter terms than a year ago; the median contract fell from 30 to 24 months.",
    "Two large tenders slipped into the next quarter, but neither was lost.",
    "Public-sector orders made up a larger share than in any quarter since the region was opened.",
    "Competition came mainly from in-house tools rather than from other vendors.",
    "List prices held; the average discount narrowed by a little over one percentage point.",
    "The partner channel brought in nearly a third of new customers, up from a fifth.",
    "Smaller customers grew faster than large ones, for the third quarter in a row.",
    "Expansion within existing sites outpaced new sites, which reverses the pattern of last year.",
    "The sales cycle lengthened by nine days, almost all of it in legal review.",
    "Renewals were signed earlier than usual, on average 41 days before expiry.",
    "A weaker currency cost the region about one and a half points of reported growth.",
    "Interest in on-premises deployment faded, and no new customer asked for it.",
    "References from hospitals and ports opened doors that cold outreach had not.",
)

MARKET_DRIVERS = (
    "The strongest driver was the move of sensor customers to the combined plan with analytics.",
    "Growth came from customers adding depots and warehouses, not from higher prices.",
    "A new data-residency option removed the objection most often raised in tenders.",
    "Regulation on cold-chain records, in force since spring, turned interest into orders.",
    "The local-language interface, released in the quarter before, shortened pilots by two weeks.",
    "A change of distributor cost some momentum early on and paid off in the final month.",
    "Field-service capacity was the limit: eleven installations moved because no crew was free.",
    "Three customers consolidated several vendors into one contract with the company.",
    "The price change on small plans reduced sign-ups by four percent and losses by twice that.",
    "Trade-fair leads converted at twice the usual rate, helped by the mobile demonstration unit.",
)

MARKET_ACTIONS = (
    "A second solutions engineer starts next month to shorten the queue for pilots.",
    "The team will move one account manager from new business to renewals.",
    "Quotes above a quarter of a million dollars now go through a weekly deal review.",
    "The partner agreement will be renegotiated with a lower margin and a shared pipeline.",
    "Local hosting will be offered to every tender instead of on request.",
    "Installation crews will be booked centrally, four weeks ahead.",
    "The region tests a starter plan without hardware on two hundred small sites.",
    "Marketing spend shifts from events to customer stories and comparison pages.",
    "Payment terms return to 30 days for all customers without a framework contract.",
)

PRODUCT_NOTES = (
    "Adoption of the new rules editor reached 62% of sites within ten weeks of its release.",
    "Battery life of the second-generation device proved 14% better in the field than in the laboratory.",
    "The import from spreadsheets is still the most visited page, which says that integrations are missing.",
    "Customers with more than fifty sites use it daily; those with fewer than five look in once a week.",
    "Usage at night grew as warehouses moved picking to the late shift.",
    "Half of all support requests concerned permissions, an area that is being redesigned.",
    "The mobile app overtook the web interface in active users for the first time.",
    "The public API served 1.9 billion requests, a third of them from two customers.",
    "Accuracy of arrival forecasts improved from 81% to 87% within a fifteen-minute window.",
    "Trial users who invited a colleague in the first week converted three times as often.",
    "Hardware returns fell to 1.2% after the seal of the housing was changed.",
    "Invoices disputed by customers halved since line items show the meter readings.",
    "Alert volume per site fell by a quarter without a rise in missed events.",
    "Reports are exported far more often than they are read on screen.",
)

PRODUCT_PLANS = (
    "The permissions redesign enters a closed test with twelve customers.",
    "A connector for two widely used warehouse systems is planned before the end of the year.",
    "Support for the old gateway ends in nine months; 340 sites have to be moved.",
    "Forecasts will show their uncertainty instead of a single time.",
    "The team will publish response-time targets and measure itself against them.",
    "Offline mode, asked for by rail customers, is designed but not yet staffed.",
    "Pricing by site will be tried next to pricing by device.",
    "A second supplier for the radio module has been approved and delivers from next quarter.",
    "Exports will be scheduled and sent to storage that the customer owns.",
    "Translation into six more languages is under way with an outside agency.",
    "Old dashboards are removed once their last user has been moved, at the earliest in spring.",
    "A test bench for radio noise has been built and runs every night.",
)

ACCOUNT_OPENINGS = (
    "Rolled out to nine further sites and finished two weeks ahead of the plan.",
    "Usage dipped in the first month during a change of operations manager, then recovered.",
    "Asked for a joint roadmap session and sent four people to it.",
    "Paid late twice; the cause was a purchase-order number missing from the invoice.",
    "Extended the contract by two years without asking for a discount.",
    "Runs a pilot of a competing product in one depot, in the open and with our knowledge.",
    "Moved from weekly exports to the API and no longer needs manual reconciliation.",
    "Reported the best quarter for on-time loading since it became a customer.",
    "Reduced the number of licences after closing a warehouse.",
    "Has not yet used the analytics module that was part of the renewal.",
    "Became a reference and spoke at the customer day.",
    "Raised a complaint about installation dates, which was settled with a credit.",
    "Was acquired; the new parent already uses a rival scheduling tool.",
    "Doubled the number of active users after switching on single sign-on.",
    "Cancelled one module and bought another, leaving the total nearly unchanged.",
    "Trained its own administrators and opened half as many tickets as before.",
    "Requested an audit of data retention, passed without remarks.",
)

ACCOUNT_DRIVERS = (
    "The saving that counts for them is overtime, down by an eighth.",
    "Their main interest is proof of temperature for inspectors.",
    "The buyer wants one bill for all countries, which Ledger can't produce yet.",
    "Dispatchers praise the map and dislike the number of clicks to change a shift.",
    "Their own customers now ask for arrival times, which makes forecasts the key feature.",
    "The finance lead measures us by disputed invoices, which went from 37 to 12.",
    "Security reviews take up most of the contact time.",
    "They value that a named engineer answers within the hour.",
    "Network coverage in the basement levels is the open technical question.",
    "Seasonal staff need an account for six weeks only, and the licence model gets in the way.",
    "A works council has to agree to every new report about people.",
    "Their integrator left, and nobody owns the interface at the moment.",
    "The fleet moves to electric vehicles, and charging times must enter the plan.",
    "They compare us with a tool they built themselves eight years ago.",
    "Alerts go to a control room that also watches three other systems.",
    "Half of the sites run on the old gateway and lose data in thunderstorms.",
    "The group sets targets for carbon reporting that Compass covers in part.",
    "Growth depends on a permit for a new terminal, expected in spring.",
    "They would pay for a guaranteed delivery date of spare sensors.",
)

ACCOUNT_ACTIONS = (
    "A proposal for the remaining sites goes out next month.",
    "The success team visits two depots before the renewal talk.",
    "We offered a workshop on alert rules at no charge.",
    "The price list for seasonal users is being checked by Legal.",
    "Gateway replacement is booked for the second week of the quarter.",
    "An executive sponsor has been named on both sides.",
    "The open invoice question is with Finance and due by the end of the month.",
    "A reference call with a customer of the same trade has been set up.",
    "Product management takes part in the next review.",
    "The account moves to the enterprise plan once the security annex is signed.",
    "We wait for their budget round and keep the pilot running until then.",
    "A trial of forecasts on three routes starts after the holidays.",
    "Training for twenty dispatchers is planned, half of it remote.",
    "The downgrade is accepted; effort goes to keeping the sensors.",
    "A data export for the new parent company was delivered and explained.",
    "The next step is a written plan for moving the interface to the API.",
)

# What happened, and what was changed because of it.
INCIDENTS = (
    (
        "A certificate on the message broker expired, although its renewal had been scheduled.",
        "The expiry of every certificate is now a metric with an alert of its own.",
    ),
    (
        "A schema change locked the largest table for longer than the rehearsal had shown.",
        "Changes to large tables go through the online migration tool without exception.",
    ),
    (
        "A network provider withdrew a route, and traffic took a path with a third of the capacity.",
        "Capacity is now bought from two providers that share no route.",
    ),
    (
        "A retry without back-off multiplied a short outage of the mail service.",
        "Retries have a budget for the whole service instead of one for each client.",
    ),
    (
        "A feature flag was switched on for all customers instead of the test group.",
        "Flags that reach more than a tenth of customers need a second person.",
    ),
    (
        "Clock drift on two hosts made tokens look expired.",
        "Time synchronisation is watched, and a host with a wrong clock takes no traffic.",
    ),
    (
        "A batch of devices reported after a firmware update all at once.",
        "Firmware is rolled out in steps, and devices spread their first report over an hour.",
    ),
    (
        "A disk filled up with traces that had been enabled for an earlier investigation.",
        "Diagnostic settings end by themselves after two hours.",
    ),
    (
        "A dependency changed the default of a time-out in a patch release.",
        "Dependencies are pinned and updated weekly with the load test as a gate.",
    ),
    (
        "An import of 2.4 million rows from one customer starved the queue of all others.",
        "Each tenant has a queue of its own for imports above ten thousand rows.",
    ),
    (
        "A fail-over test ended in the standby region without the newest configuration.",
        "The standby region takes a tenth of live traffic, so that its configuration can't fall behind.",
    ),
    (
        "A cache key left out the tenant; the check in front of the response stopped it from leaking.",
        "Cache keys are built in one place that requires a tenant.",
    ),
    (
        "A switch in the second data hall failed partly and dropped one packet in forty.",
        "Links are taken out by error rate, no longer only when they are down.",
    ),
    (
        "An operator followed a run-book that named the wrong cluster.",
        "The run-book was wrong in two places and has been rehearsed since.",
    ),
    (
        "A customer's firewall update blocked the range from which webhooks are sent.",
        "The ranges are published, and changes are announced four weeks ahead.",
    ),
)

INCIDENT_EFFECTS = (
    "Dashboards showed data that was up to half an hour old; no readings were lost.",
    "Alerts were delayed, and the on-call teams of customers were told by phone.",
    "Logging in failed for about one user in six.",
    "Schedules could be read but not changed.",
    "Invoices of one day were sent twice and had to be called back.",
    "Exports stopped and were repeated by hand the same evening.",
    "The mobile app fell back to offline mode as designed; the web interface had no such mode.",
    "Response times rose to four times their usual value.",
    "New devices couldn't be registered, which held up two installation crews.",
    "Forecasts were missing for routes that started before six in the morning.",
    "Webhooks arrived out of order, which two integrations didn't expect.",
)

# Name, state, description.
PROJECTS = (
    (
        "Single invoice",
        "at risk",
        "One bill across countries and currencies; tax rules for seven countries are done.",
    ),
    (
        "Gateway retirement",
        "on track",
        "Replaces the first gateway at 340 sites; crews do about thirty a week.",
    ),
    (
        "Permissions redesign",
        "on track",
        "Roles that customers can define, with a preview of what a person will see.",
    ),
    (
        "Data residency",
        "on track",
        "Hosting in four regions; the third opened in the quarter and took six tenants.",
    ),
    (
        "Forecast 3",
        "late",
        "A model per route family instead of one for all, trained on two years of trips.",
    ),
    (
        "Warehouse connectors",
        "on track",
        "Connectors for two systems, built with a customer of each.",
    ),
    (
        "Partner portal",
        "done",
        "Partners see pipeline, training and payouts in one place.",
    ),
    (
        "Device supply",
        "done",
        "A second source for radios and a stock of eight weeks instead of three.",
    ),
    (
        "Carbon report",
        "at risk",
        "Emissions by trip and site, checked by an outside auditor.",
    ),
    (
        "Support tooling",
        "on track",
        "Answers drafted from the manual and sent by people; first teams use it.",
    ),
    (
        "Payroll migration",
        "on track",
        "Six national systems become two; the first cut-over went without errors.",
    ),
    (
        "Office consolidation",
        "done",
        "Two floors are given up; the laboratory moves next to the warehouse.",
    ),
    (
        "Offline mode",
        "on hold",
        "Designed with rail customers, waiting for a team.",
    ),
    (
        "Price test",
        "on track",
        "Pricing by site is tried with 120 new customers until the end of the year.",
    ),
)

# What may happen, and what is done about it.
RISKS = (
    (
        "A single supplier makes the housing of all outdoor sensors.",
        "A second source is being qualified.",
    ),
    (
        "Nine customers stand for 21% of revenue, and three of them renew in the same month.",
        "Renewals are spread by offering terms of different length.",
    ),
    (
        "Exchange rates move reported revenue by up to two percent either way.",
        "Half of the exposure is hedged for six months.",
    ),
    (
        "Field crews are short in four countries, which delays revenue rather than losing it.",
        "Two training courses for crews start each month.",
    ),
    (
        "A rule on workplace data may restrict reports about individual drivers.",
        "Counsel takes part in the consultation, and a setting for it has been drafted.",
    ),
    (
        "The first gateway uses a radio standard that operators plan to switch off.",
        "Replacement is under way and funded.",
    ),
    (
        "Competitors bundle scheduling at no charge with warehouse software.",
        "The answer is depth in forecasting, which bundles lack.",
    ),
    (
        "Key knowledge of the billing engine rests with four engineers.",
        "Pairs rotate through the code, and the run-books are being written.",
    ),
    (
        "A failure of the northern data hall would be covered, but has not been rehearsed in full.",
        "A full rehearsal is set for the next quarter.",
    ),
    (
        "Public-sector customers may freeze budgets after elections.",
        "The plan counts only signed orders from this group.",
    ),
    (
        "Component prices for batteries have risen for three quarters.",
        "Prices are fixed by contract until the middle of next year.",
    ),
    (
        "A patent claim by a former partner is being reviewed by outside counsel.",
        "A provision of $250K has been made.",
    ),
    (
        "Wage growth in engineering exceeds the plan by two points.",
        "Hiring moves to two cities with lower wages.",
    ),
    (
        "Phishing attempts against finance staff doubled over the year.",
        "Payments above a limit need a call back to a known number.",
    ),
    (
        "The largest reseller was sold, and its new owner has its own product.",
        "Two smaller resellers have been signed in its territory.",
    ),
    (
        "Late certification of the new sensor would move its launch past the season.",
        "The laboratory is booked, with a second slot held in reserve.",
    ),
)
