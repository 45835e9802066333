"""What must match exactly: error codes and product names. Near is not enough, and a cause with another code is none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set

from memlab.curation.guards import identifiers, reading
from memlab.curation.keys import words

__all__ = ["codes", "fits", "product_names"]

_LEAD = frozenset(
    "error errors code codes errorcode fehler fehlercode erreur event status hresult stop stopcode bugcheck".split()
)
_NOT = frozenset("no not without never kein keine nicht ohne pas sans".split())
_CODE = re.compile(r"0x[0-9a-f]{2,}(?:-[0-9a-f]+)*|\d{6,}|[a-z]{2,}\d{3,}")


def codes(text: str, known: Set[str] = frozenset()) -> frozenset[str]:
    """Error codes that a text names: hexadecimal, six digits or more, any number behind a word such as "error".

    So is what is `known` to be a code. One that is ruled out ("no error 809") is not among them.

    >>> sorted(codes("error 809, code 0x80180014, not 80090016, in room 12"))
    ['0x80180014', '809']
    """
    found, said = words(text), identifiers(text)
    out = set()
    for n, word in enumerate(found):
        before = found[max(0, n - 2) : n]
        behind = not _LEAD.isdisjoint(before) and any(c.isdigit() for c in word)
        named = behind or word in known or bool(_CODE.fullmatch(word))
        if word in said and named and _NOT.isdisjoint(before):
            out.add(word)
    return frozenset(out)


def product_names(vocabulary: Iterable[str]) -> dict[str, frozenset[str]]:
    """The words of a vocabulary that name a product, with the product: "drucker" names a printer."""
    found = {word: reading(word).products for word in vocabulary if word.isalpha()}
    return {word: products for word, products in found.items() if products}


def fits(asked: Set[str], products: Set[str], *, spoken: Set[str], own_codes: Set[str], own_products: Set[str]) -> bool:
    """Whether a cause may answer a query that names these codes and products.

    Parameters
    ----------
    asked, products : set of str
        Codes and products of the query; where there are none, everything fits.
    spoken : set of str
        All words of the conversations behind the cause.
    own_codes : set of str
        Codes in its own wordings: a cause without any may answer a question about one, a cause with others may not.
    own_products : set of str
        Products that its conversations name.
    """
    if asked and own_codes and asked.isdisjoint(spoken):
        return False
    return not products or not own_products or not products.isdisjoint(own_products)
