#!/usr/bin/python3 -B
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""managed_v8.py TRUTH RESULT [optimised]: do the stacks of a JSON snapshot have the functions that V8 itself saw?

TRUTH is what tests/targets/leak_v8.js prints. All functions have to be there, in order, with name, file and the line of the call, and no others
between them.
"""
import sys

from managed_files import truth_and_result


def own(file):
    return bool(file) and not file.startswith("node:")


# It is inlined in one run.
OPTIMISED_IN = "Inlined"
# It is compiled by Maglev in that run, with Node 24 and later.
MAGLEV_IN = "middling"


def wanted_of(stack):
    """What has no name and no file in V8's view is V8's own: Array.forEach has a name."""
    wanted = []
    for site in stack:
        name, file, line = site["function"], site["file"], site["line"]
        # A line of nothing is not shown.
        wanted.append((name or "(anonymous)", file, line if file else None))
    return wanted


def shown_of(frames):
    return [
        (f.get("function"), f.get("file"), -f["line"] if "line_of" in f else f.get("line"))
        for f in frames
        if f.get("kind") == "javascript"
    ]


def is_same(shown, wanted):
    if shown == wanted:
        return True
    if own(wanted[1]):
        # A function without a name may be shown as what it was assigned to.
        return wanted[0] == "(anonymous)" and shown[1:] == wanted[1:]
    # What is called by a symbol has no name as text; what is evaluated is called so by V8 where it has no name of its own.
    known = ("(anonymous)", shown[0], "eval" if shown[0] == "(anonymous)" else shown[0])
    if wanted[0].startswith("[") and shown[0] == "(anonymous)":
        return shown[1:] == wanted[1:]
    return shown[1:] == wanted[1:] and (wanted[0] in known or shown[0].endswith("." + wanted[0]))


def inlined_by_maglev(wanted):
    """What is V8's own has no frame there."""
    callers = list(wanted[1:]) + [(None,)]
    return [w for w, caller in zip(wanted, callers) if (w[0], caller[0]) != ("forEach", MAGLEV_IN)]


def has(stack, wanted):
    shown = shown_of(stack["frames"])
    # Between the program and malloc.
    while shown and not own(shown[0][1]):
        shown.pop(0)
    if len(shown) < len(wanted):
        wanted = inlined_by_maglev(wanted)
    return len(shown) == len(wanted) and all(is_same(s, w) for s, w in zip(shown, wanted)) and stack["end"] == "complete"


# What calls them on V8's side is another thing once it has been compiled: then they are several stacks.
def is_right(wanted, size, count, stacks):
    found = [s for s in stacks if s["live"]["bytes"] == size and s["live"]["count"] == count]
    if len(found) == 1:
        if has(found[0], wanted):
            return True
        print(f"{size} bytes, end {found[0]['end']}:\n  shown  {shown_of(found[0]['frames'])}\n  wanted {wanted}")
        return False
    found = [s["live"] for s in stacks if has(s, wanted)]
    if sum(s["bytes"] for s in found) == size and sum(s["count"] for s in found) == count:
        return True
    print(f"{count} blocks of {size} bytes: {found}, wanted {wanted}")
    return False


def main():
    truth, result = truth_and_result()
    assert len(truth) > 60
    # What is called the same is one stack.
    places = {}
    optimised = len(sys.argv) > 3
    for place in truth:
        # Threads begin elsewhere.
        places.setdefault((place["bytes"] > 22000, tuple(wanted_of(place["stack"]))), []).append(place["bytes"])
    wrong = [w for (_, w), sizes in places.items() if not is_right(w, sum(sizes), len(sizes), result["stacks"])]
    frames = [f for s in result["stacks"] for f in s["frames"] if f.get("function") == OPTIMISED_IN]
    assert not optimised or any(f.get("inlined") for f in frames), "nothing is inlined"
    print(f"{len(places)} stacks, {len(wrong)} wrong")
    sys.exit(bool(wrong))


main()
