from skills.to_csv import to_csv

rows = [{"id": 1, "owner": {"name": "Ana", "teams": ["a", "b"]}}, {"id": 2, "note": 'says "no"'}]
text = to_csv(rows)
print(text)
assert text.splitlines()[0] == "id,owner.name,owner.teams,note"
assert to_csv(rows, ["owner.name", "id"]) == "owner.name,id\nAna,1\n,2\n"
