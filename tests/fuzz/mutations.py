"""Valid bytes with faults in them, and values that break careless readers."""

from __future__ import annotations

from hypothesis import strategies as st

# Sizes and signs at which counters overflow.
EDGES = [b"\x00", b"\xff", b"\x7f", b"\x80", b"\xff" * 4, b"\xff\xff\xff\x7f", b"\xff" * 8]
EDGES += [b"\xff" * 7 + b"\x7f", b"\x00" * 8, b"\x00\x00\x00\x40", b"\n", b"'", b"\x1b[31m"]
NAMES = ["..", "../outside", "/etc/passwd", "~", "~nobody/x", "a\nb", "\x1b[31mred", "\u202etxt"]
NAMES += ["", " ", "\x00", "a" * 300, "\udcff", "é", "CON", "-x", "%2e%2e", "{0}", "$HOME", "<b>"]
Edit = tuple[str, float, float, bytes]


def edits() -> st.SearchStrategy[list[Edit]]:
    """What to do, where (as a part of the length), how far, and with what."""
    places = st.floats(0, 1, exclude_max=True)
    kinds = st.sampled_from(["set", "set", "set", "insert", "delete", "repeat", "cut"])
    content = st.one_of(st.sampled_from(EDGES), st.binary(min_size=1, max_size=9))
    return st.lists(st.tuples(kinds, places, places, content), min_size=1, max_size=6)


def edited(content: bytes, changes: list[Edit]) -> bytes:
    """The bytes after all edits; faults cluster at both ends, where formats have their headers."""
    for kind, where, far, new in changes:
        size = len(content)
        place = int(where * size) if far < 0.5 else int(where**4 * min(size, 4096))
        if far > 0.85:
            place = max(0, size - 1 - place)
        end = min(size, place + 1 + int(far * 64))
        if kind == "set":
            content = content[:place] + new + content[place + len(new) :]
        elif kind == "insert":
            content = content[:place] + new + content[place:]
        elif kind == "delete":
            content = content[:place] + content[end:]
        elif kind == "repeat":
            content = content[:end] + content[place:]
        else:
            content = content[:place]
    return content


def names() -> st.SearchStrategy[str]:
    return st.one_of(st.sampled_from(NAMES), st.text(max_size=12))
