import re


def validate_records(records: list, rules: dict) -> list:
    """The problems of records, each with its record, field and reason; an empty list if all are well.

    `rules` has for each field any of: required, unique, pattern (a regular expression that the whole text has
    to match), type ("text", "number", "boolean"), least, most, one_of.
    """
    problems, seen = [], {}
    for position, record in enumerate(records, 1):
        name = record.get("id", position)
        for field, rule in rules.items():
            value = record.get(field)
            reasons = [_missing(rule)] if value in (None, "") else _reasons(value, rule)
            if rule.get("unique") and value not in (None, ""):
                first = seen.setdefault((field, value), name)
                reasons.append(f"is the same as in {first}" if first != name else "")
            problems += [{"record": name, "field": field, "reason": reason} for reason in reasons if reason]
    return problems


def _missing(rule: dict) -> str:
    return "is missing" if rule.get("required") else ""


def _reasons(value: object, rule: dict) -> list:
    kinds = {"text": str, "number": (int, float), "boolean": bool}
    kind = rule.get("type")
    if kind and (not isinstance(value, kinds[kind]) or (kind == "number" and isinstance(value, bool))):
        return [f"is not a {kind}: {value!r}"]
    reasons = []
    if "pattern" in rule and not re.fullmatch(rule["pattern"], str(value)):
        reasons.append(f"does not look right: {value!r}")
    if "one_of" in rule and value not in rule["one_of"]:
        reasons.append(f"is {value!r}, not one of {', '.join(map(str, rule['one_of']))}")
    if "least" in rule and value < rule["least"]:
        reasons.append(f"is {value}, less than {rule['least']}")
    if "most" in rule and value > rule["most"]:
        reasons.append(f"is {value}, more than {rule['most']}")
    return reasons
