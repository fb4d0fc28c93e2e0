"""From a query to the documents that fit it, best first."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from heapq import nlargest
from typing import NamedTuple

from satchel.search.documents import Hit
from satchel.search.index import SCALE, Index
from satchel.search.related import RELATED
from satchel.search.word_senses import likeness, senses
from satchel.search.words import as_written, joined, telling_words, terms_of

_FEW_TERMS = 8
_MOST_TERMS = 64  # of a query; what follows is not a question any more
_MOST_TEXT = 4000  # characters of a query
_INSTEAD = 0.4  # what a word counts that stands for the one that was asked for
_MISSPELT = 0.7
_EVERYWHERE = 0.05  # of the documents
_MOST_REMEMBERED = 512  # words
_TOGETHER = 0.3  # how much it counts that many words of the query are there, and not one of them often
_NAMED = 0.5  # how much it counts that the query has the words of the name
_CLAUSE = 0.6  # what the best for a part of the query counts, to the best for all of it
_AGAIN = 0.96  # what a document counts for each one of its group before it, from the third on
_MOST_SENSE = 0.4  # how much the sense of words counts beside the words, at most
_MEANING = 0.55  # how much the meaning of whole texts does, where that is known
_EVIDENT = 3
_UNKNOWN_SENSE = 0.5  # of a query in words without one
_SUREST = 0.99  # that a document fits which was not named
_CANDIDATES = 60
_FOR_CLAUSE = 10
_MOST_TIES = 16  # times as many as are wanted, where they are all alike
_CLAUSES = re.compile(
    r"[.;!?\n]+\s|\s-\s|,|\b(?:and then|and|then|after that|afterwards|finally)\b", re.IGNORECASE
)
_MOST_CLAUSES = 8


class _Wanted(NamedTuple):
    """One word of a query: where it is, or what stands for it, and what it counts there."""

    weight: float  # its rarity
    found: Mapping[int, float]


def search(
    index: Index,
    query: str,
    *,
    limit: int,
    group: str | None = None,
    meaning: Mapping[tuple[str, str], float] | None = None,
) -> list[Hit]:
    """The best documents. `group` is the only one to look in; `meaning` is how near each is to the query."""
    query = query[:_MOST_TEXT]
    among = range(index.size) if group is None else index.of_group(group)
    # Among many words one that is nowhere is rather a name than a mistake, and the others do.
    written = as_written(query) if len(terms_of(query)) <= _FEW_TERMS else {}
    scores, shares = _score(index, query, among, _CANDIDATES, written)
    _add_clauses(index, query, among, written, scores, shares)
    scores, near = _mix(index, query, among, scores, meaning)
    named = [number for number in index.named(joined(query)[:200]) if number in among]
    said = index.named(joined(" ".join(telling_words(query[:200]))))  # "read a file" for read_file
    scores |= {number: 1 + scores.get(number, 0.0) / 2 for number in said if number in among}
    scores |= dict.fromkeys(named, 2.0)
    order = sorted(scores, key=lambda number: (-scores[number], number))
    if group is None:
        order = _spread(index, order, scores)
    fits = _fits(index, query, written, len(among), order[:limit], near) | dict.fromkeys(named, 1.0)
    return [Hit(*index.place(number), scores[number], fits[number]) for number in order[:limit]]


def _score(
    index: Index, query: str, among: range, most: int, written: Mapping[str, str]
) -> tuple[dict[int, float], dict[int, float]]:
    """(what the candidates count, which share of the query each has)."""
    asked = dict.fromkeys(terms_of(query)[:_MOST_TERMS])
    wanted = sorted(_want_all(index, asked, written), key=lambda word: len(word.found))
    weights = [(word.weight, word.found) for word in wanted]
    total = sum(weight for weight, _ in weights)
    sums = _sum([word.found for word in wanted], among, is_whole=len(among) == index.size)
    scores: dict[int, float] = {}
    fits: dict[int, float] = {}
    for number in _largest(sums, most):
        fit = sum([weight for weight, found in weights if number in found]) / total
        scores[number] = sums[number] * fit**_TOGETHER * (1 + _NAMED * index.share_of_name(number, asked))
        fits[number] = fit
    return scores, fits


def _sum(all_found: Sequence[Mapping[int, float]], among: range, *, is_whole: bool) -> dict[int, float]:
    """What documents count. The rarest words come first: those that only have common ones matter no more
    when there are enough with rare ones."""
    sums: dict[int, float] = {}
    get = sums.get
    for found in all_found:
        if len(sums) > 2 * _CANDIDATES and len(found) > len(sums):
            for number in sums:
                if number in found:
                    sums[number] += found[number]
        elif is_whole:
            for number, count in found.items():
                sums[number] = get(number, 0.0) + count
        else:
            for number, count in found.items():
                if number in among:
                    sums[number] = get(number, 0.0) + count
    return sums


def _largest(sums: Mapping[int, float], most: int) -> list[int]:
    """The candidates, in no order."""
    if len(sums) <= most:
        return list(sums)
    least = sorted(sums.values())[-most]
    return [number for number, count in sums.items() if count >= least][: _MOST_TIES * most]


def _add_clauses(
    index: Index,
    query: str,
    among: range,
    written: Mapping[str, str],
    scores: dict[int, float],
    fits: dict[int, float],
) -> None:
    """A query for several things at once gets the best tool for each."""
    clauses = [clause for clause in _CLAUSES.split(query)[:_MOST_CLAUSES] if clause and terms_of(clause)]
    if len(clauses) < 2 or not scores:
        return
    best = max(scores.values())
    for clause in clauses:
        part, part_fits = _score(index, clause, among, _FOR_CLAUSE, written)
        most = max(part.values(), default=0.0) or 1.0
        for number, score in part.items():
            score = _CLAUSE * best * part_fits[number] * score / most
            if score > scores.get(number, 0.0):
                scores[number] = score
                fits[number] = max(fits.get(number, 0.0), part_fits[number])


def _want_all(index: Index, terms: Iterable[str], written: Mapping[str, str]) -> list[_Wanted]:
    return [_want(index, term, written.get(term, "")) for term in terms]


def _want(index: Index, term: str, written: str) -> _Wanted:
    key = (term, bool(written))
    remembered = index.remembered.get(key)
    if remembered is None:
        remembered = _look_up(index, term, written)
        if len(index.remembered) >= _MOST_REMEMBERED:
            index.remembered.clear()
        index.remembered[key] = remembered
    return remembered


def _look_up(index: Index, term: str, written: str) -> _Wanted:
    documents, counts, rarity = index.postings(term)
    weight = rarity or index.rarity_of_nothing()
    each = rarity / SCALE
    found = dict(zip(documents, [count * each for count in counts], strict=True))
    instead = [(other, _INSTEAD) for other in RELATED.get(term, ())]
    if not documents and written:
        alike = dict.fromkeys([*_spelled_alike(index, term), *_spelled_alike(index, written)])
        instead += [(other, _MISSPELT) for other in alike]
    for other, share in instead:
        documents, counts, other_rarity = index.postings(other)
        if len(documents) > _EVERYWHERE * index.size + 100:
            continue  # a word that is everywhere tells nothing of those that have it instead
        each = share * min(other_rarity, weight) / SCALE  # never more than the word itself
        for number, count in zip(documents, counts, strict=True):
            score = count * each
            if score > found.get(number, 0.0):
                found[number] = score
    return _Wanted(weight, found)


def _spelled_alike(index: Index, word: str) -> list[str]:
    """The terms that a word may be which is nowhere. Its ending is left alone, which a term does not have."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return []
    most = 1 if len(word) < 8 else 2
    return [
        other
        for other in index.alike(word, most)
        if distance(word, other, most) <= most
        or (len(other) > 4 and any(distance(word[: len(other) + more], other, 1) <= 1 for more in (-1, 0, 1)))
    ]


def distance(one: str, other: str, most: int) -> int:
    """How many letters are wrong, missing, too many or exchanged; `most` + 1 where that are more."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        now = [row]
        for column, wanted in enumerate(other, 1):
            cost = min(last[column] + 1, now[-1] + 1, last[column - 1] + (letter != wanted))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == wanted:
                cost = min(cost, before[column - 2] + 1)
            now.append(cost)
        if min(now) > most:
            return most + 1
        before, last = last, now
    return last[-1]


def _mix(
    index: Index,
    query: str,
    among: range,
    scores: Mapping[int, float],
    meaning: Mapping[tuple[str, str], float] | None,
) -> tuple[dict[int, float], dict[int, float]]:
    """(words, their senses, and the meaning of the whole where it is known: each measured against its best;
    how near each is by its sense or meaning)."""
    numbers = _largest(scores, _CANDIDATES)
    sense = _share_of_sense(index.size)
    shares = (1 - sense, sense, 0.0)
    if meaning:  # which tells more, and the same
        shares = (1 - _MEANING, 0.0, _MEANING)
        numbers += [
            number
            for place in nlargest(_CANDIDATES, meaning, key=meaning.__getitem__)
            if (number := index.number_of(*place)) is not None and number in among and number not in scores
        ]
    asked = dict.fromkeys(terms_of(query)[:_MOST_TERMS], 1.0)
    columns = [
        [scores.get(number, 0.0) for number in numbers],
        likeness(senses().of(asked) if shares[1] else b"", map(index.sense, numbers)),
        [max(0.0, meaning.get(index.place(number), 0.0)) if meaning else 0.0 for number in numbers],
    ]
    mixed = dict.fromkeys(numbers, 0.0)
    for share, values in zip(shares, columns, strict=True):
        best = max(values, default=0.0)
        if best > 0:
            for number, value in zip(numbers, values, strict=True):
                mixed[number] += share * value / best
    return mixed, dict(zip(numbers, columns[2 if meaning else 1], strict=True))


def _share_of_sense(size: int) -> float:
    """Among more documents more are near a query by chance, while its words tell as much as before."""
    return min(_MOST_SENSE, 1 / math.log10(max(size, 10)))


def _spread(index: Index, order: Sequence[int], scores: dict[int, float]) -> list[int]:
    """A group with much to offer leaves room for the others."""
    seen: dict[str, int] = {}
    for number in order:
        group, _ = index.place(number)
        count = seen[group] = seen.get(group, 0) + 1
        if count > 2:
            scores[number] *= _AGAIN ** (count - 2)
    return sorted(order, key=lambda number: -scores[number])


def _fits(
    index: Index,
    query: str,
    written: Mapping[str, str],
    size: int,
    numbers: Sequence[int],
    near: Mapping[int, float],
) -> dict[int, float]:
    """How sure it is that a document is what was asked for.

    What its words count, of all that the query's could and of one that is in no other document, the less the
    more documents there are to have them by chance; and that it is about the same.
    """
    wanted = _want_all(index, dict.fromkeys(terms_of(query)[:_MOST_TERMS]), written)
    most = sum(word.weight for word in wanted) or 1.0
    rarest = index.rarity_of_nothing()
    chance = math.log10(max(size, 10)) / _EVIDENT
    known = any(near.values())
    fits: dict[int, float] = {}
    for number in numbers:
        counts = [word.found[number] for word in wanted if number in word.found]
        words = sum(counts)
        # One word of several is not a fit, however rare it is.
        evidence = words / most + (words / rarest if len(counts) > 1 else 0.0)
        sense = near.get(number, 0.0) if known else _UNKNOWN_SENSE
        fits[number] = min(_SUREST, evidence / (chance + evidence) * (0.5 + sense))
    return fits
