from servers.salesforce import query_records
from skills.validate_records import validate_records

rules = {
    "name": {"required": True},
    "email": {"required": True, "unique": True, "pattern": r"[^@\s]+@[^@\s]+\.\w+"},
}
found = (await query_records(object_type="Contact", limit=200)).records
contacts = [{"id": contact.id, **contact.fields} for contact in found]
print(len(contacts), "contacts,", len(validate_records(contacts, rules)), "problems")
wrong = [{"id": 1, "name": "", "email": "a@example.com"}, {"id": 2, "name": "B", "email": "a@example.com"}]
assert [problem["field"] for problem in validate_records(wrong, rules)] == ["name", "email"]
