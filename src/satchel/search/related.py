"""Words that stand for each other where people ask what tools do: of everyday language, and of no catalog."""

from collections.abc import Mapping

from satchel.search.words import stem

_GROUPS = """
create add new make insert register
get fetch retrieve read obtain load view
delete remove erase drop clear
list show enumerate browse
search find query lookup locate discover
update edit modify change set patch
send post publish share deliver
run execute invoke launch start perform
stop cancel kill terminate end abort
write save store put
upload import ingest
download export
convert transform translate
analyze analyse inspect examine evaluate
compare diff difference
calculate compute
generate create produce
move rename relocate
copy duplicate clone
merge combine join
schedule book plan
reserve book
summarize summary overview
extract parse
test check verify validate
approve accept confirm
reject decline deny
image picture photo
directory folder
document doc file
message mail email
website site page web url link
user member person people account
repository repo
database db
price cost quote
information info detail data
latest recent current today now newest
route direction navigation
chart plot graph diagram visualize
video clip movie
audio sound music song
event meeting appointment calendar
task todo issue ticket
comment note annotation
customer client
employee staff
order purchase buy
invoice bill
payment pay charge
company business firm
stock share equity
currency money
map location place
coordinate geocode latitude longitude
spreadsheet excel workbook sheet
presentation slide powerpoint deck
paper article publication
news headline story
container docker
deploy deployment release
log logging trace
metric statistic measure
alert alarm notification
permission access role
password secret credential
screenshot capture
code source script program
bug error defect
function method
minus subtract deduct difference
plus add sum total
times multiply product
per divide ratio split
total sum aggregate count
average mean
percent percentage share
fake synthetic dummy mock random
round ceiling floor
sort order arrange rank
encrypt encode cipher
shrink compress resize reduce
enlarge expand grow increase
invite add join
remind reminder alarm notification
weather forecast temperature
car vehicle automobile
flight plane airline
hotel accommodation lodging stay
"""


def _table() -> dict[str, tuple[str, ...]]:
    table: dict[str, dict[str, None]] = {}
    for group in _GROUPS.strip().splitlines():
        terms = dict.fromkeys(stem(word) for word in group.split())
        for term in terms:
            table.setdefault(term, {}).update(dict.fromkeys(other for other in terms if other != term))
    return {term: tuple(others) for term, others in table.items()}


RELATED: Mapping[str, tuple[str, ...]] = _table()
"""By term, the terms that may stand for it."""
