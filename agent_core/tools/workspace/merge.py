"""Three-way merge of texts by lines. Pure."""

from __future__ import annotations

import re

import msgspec

from agent_core.tools.workspace.diffs import line_changes

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class Clash(msgspec.Struct, frozen=True):
    """Lines `first` to `last` of our text (from 1; `last` is `first` - 1 where nothing of ours stands there)."""

    first: int
    last: int


class Merged(msgspec.Struct, frozen=True):
    """`text` holds our changes and those of theirs that do not touch ours; `clashes` are where the rest would go."""

    text: str
    clashes: tuple[Clash, ...]


def merge(base: str, ours: str, theirs: str) -> Merged:
    """Bring the changes from `base` to `theirs` into `ours`. Where both changed the same lines, or lines next to each
    other, ours stay, unless both became the same."""
    old, mine, their = _LINE.findall(base), _LINE.findall(ours), _LINE.findall(theirs)
    own = line_changes(old, mine)
    pieces: list[str] = []
    clashes: list[Clash] = []
    at = index = shift = 0  # `at` is in `mine`; `shift` is how far `mine` is ahead of `old`
    for b1, b2, t1, t2 in line_changes(old, their):
        while index < len(own) and own[index][1] < b1:
            o1, o2, m1, m2 = own[index]
            shift += (m2 - m1) - (o2 - o1)
            index += 1
        touching = []
        later, after = index, shift
        while later < len(own) and own[later][0] <= b2:
            touching.append(own[later])
            after += (own[later][3] - own[later][2]) - (own[later][1] - own[later][0])
            later += 1
        if not touching:
            pieces += [*mine[at : b1 + shift], *their[t1:t2]]
            at = b2 + shift
            continue
        low, high = min(b1, touching[0][0]), max(b2, touching[-1][1])
        first, last = low + shift, high + after
        if mine[first:last] != [*old[low:b1], *their[t1:t2], *old[b2:high]]:
            clashes.append(Clash(first + 1, last))
    pieces += mine[at:]
    return Merged("".join(pieces), tuple(clashes))
