"""Tables of words, as texts that people can read and change."""


def table(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def phrase_table(text: str) -> frozenset[str]:
    """The phrases of a text, with bars between them."""
    return frozenset(" ".join(phrase.split()) for phrase in text.split("|"))
