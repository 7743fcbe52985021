#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Is a file of -f otlp a request that a collector takes, and does it say what the profile of -f pprof says?

    otlp.py REQUEST PROFILE.pb.gz

Reads both by tables of field numbers of its own (opentelemetry-proto 1.11, profiles/v1development; profile.proto), and
prints a line for each sample type: its sum, and how many stacks have it. Status 1, with the faults, where
* a field has an unknown number or another wire type, or a number that proto3 leaves out is 0;
* a table of the dictionary has no zero value as its first row, a row twice, or one that nothing names;
* an index is beyond its table;
* sums, units or stacks differ from the profile's.
"""
import collections
import gzip
import sys

# {number: (name, kind)}; kinds: uint, fixed, text, bytes, a list of numbers (packed), or a message. "*": repeated
ANY = {1: ("string", "text?"), 3: ("int", "uint?")}
KEY_VALUE = {1: ("key", "text"), 2: ("value", ANY)}
TYPE = {1: ("type", "uint"), 2: ("unit", "uint")}
OTLP = {
    1: ("resource_profiles*", {
        1: ("resource", {1: ("attributes*", KEY_VALUE)}),
        2: ("scope_profiles*", {
            1: ("scope", {1: ("name", "text"), 2: ("version", "text"), 3: ("attributes*", KEY_VALUE)}),
            2: ("profiles*", {
                1: ("sample_type", TYPE),
                2: ("samples*", {1: ("stack", "uint"), 2: ("attributes", "list"), 4: ("values", "list")}),
                3: ("time", "fixed"), 4: ("duration", "uint"), 5: ("period_type", TYPE), 6: ("period", "uint"),
                7: ("id", "bytes"),
            }),
        }),
    }),
    2: ("dictionary", {
        1: ("mapping*", {1: ("start", "uint"), 2: ("limit", "uint"), 3: ("offset", "uint"), 4: ("filename", "uint"),
                         5: ("attributes", "list")}),
        2: ("location*", {1: ("mapping", "uint"), 2: ("address", "uint"),
                          3: ("lines*", {1: ("function", "uint"), 2: ("line", "uint")}), 4: ("attributes", "list")}),
        3: ("function*", {1: ("name", "uint"), 3: ("filename", "uint")}),
        4: ("link*", {1: ("trace", "bytes"), 2: ("span", "bytes")}),
        5: ("string*", "text"),
        6: ("attribute*", {1: ("key", "uint"), 2: ("value", ANY)}),
        7: ("stack*", {1: ("locations", "list")}),
    }),
}
PPROF = {
    1: ("sample_type*", TYPE),
    2: ("sample*", {1: ("locations", "list"), 2: ("values", "list"), 3: ("label*", {n: (str(n), "uint?") for n in (1, 2, 3)})}),
    3: ("mapping*", {n: (str(n), "uint?") for n in range(1, 11)}),
    4: ("location*", {1: ("id", "uint"), 2: ("mapping", "uint"), 3: ("address", "uint?"),
                      4: ("lines*", {1: ("function", "uint"), 2: ("line", "uint")})}),
    5: ("function*", {1: ("id", "uint"), 2: ("name", "uint"), 4: ("filename", "uint")}),
    6: ("string*", "text"), 7: ("drop", "uint?"), 8: ("keep", "uint?"), 9: ("time", "uint?"), 10: ("duration", "uint?"),
    11: ("period_type", TYPE), 12: ("period", "uint?"), 13: ("comment*", "uint?"), 14: ("default", "uint?"),
}
WIRE_TYPES = {"uint": 0, "fixed": 1}
faults = collections.Counter()


def expect(true, what):
    if not true:
        faults[what] += 1


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def numbers(data):
    at, out = 0, []
    while at < len(data):
        value, at = varint(data, at)
        out.append(value)
    return out


def leaf(kind, data, name):
    if kind == "list":
        return numbers(data)
    return data.decode() if kind.startswith("text") else data


def read(data, fields, where="request"):
    out = {name.rstrip("*"): [] for name, _ in fields.values() if name.endswith("*")}
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag >> 3 not in fields:
            sys.exit(f"{where} has an unknown field {tag >> 3}")
        name, kind = fields[tag >> 3]
        plain = kind.rstrip("?") if isinstance(kind, str) else ""
        if tag & 7 != WIRE_TYPES.get(plain, 2):
            sys.exit(f"{where}.{name} has the wire type {tag & 7}")
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        else:
            length, at = varint(data, at)
            body, at = data[at:at + length], at + length
            value = leaf(kind, body, name) if isinstance(kind, str) else read(body, kind, name)
        if name.endswith("*"):
            out[name[:-1]].append(value)
        else:
            expect(name not in out, f"{where}.{name} is there twice")
            expect(value or isinstance(kind, dict) or kind.endswith("?"), f"{where}.{name} is there, and 0")
            out[name] = value
    return out


def check_tables(dictionary):
    for table, rows in dictionary.items():
        texts = [repr(row) for row in rows]
        expect(len(set(texts)) == len(texts), f"a row of {table} is there twice")
        zero = "" if table == "string" else {"trace": bytes(16), "span": bytes(8)} if table == "link" else None
        expect(rows and (rows[0] == zero if zero is not None else not any(rows[0].values())),
               f"the first row of {table} is not the zero value")


class Uses:
    """Which rows are named."""

    def __init__(self, dictionary):
        self.dictionary = dictionary
        self.used = {table: {0} for table in dictionary}

    def row(self, table, index):
        if index >= len(self.dictionary[table]):
            sys.exit(f"{table} has no row {index}")
        self.used[table].add(index)
        return self.dictionary[table][index]

    def attributes(self, message):
        indices = message.get("attributes", [])
        keys = [self.row("attribute", i)["key"] for i in indices]
        expect(len(set(keys)) == len(keys), "a key is there twice")

    def all_rows(self):
        d = self.dictionary
        for row in d["mapping"] + d["function"]:
            for key in ("filename", "name"):
                self.row("string", row.get(key, 0))
            self.attributes(row)
        for row in d["location"]:
            self.row("mapping", row.get("mapping", 0))
            for line in row["lines"]:
                self.row("function", line.get("function", 0))
            self.attributes(row)
        for row in d["attribute"]:
            self.row("string", row.get("key", 0))
        for row in d["stack"]:
            for index in row.get("locations", []):
                self.row("location", index)
        for table, used in self.used.items():
            expect(len(used) == len(d[table]), f"nothing names a row of {table}")


def otlp_sums(request):
    uses = Uses(request["dictionary"])
    d, sums, ids = request["dictionary"], {}, set()
    for profile in (p for r in request["resource_profiles"] for s in r["scope_profiles"] for p in s["profiles"]):
        name, unit = (uses.row("string", profile["sample_type"][k]) for k in ("type", "unit"))
        for key in ("type", "unit"):
            uses.row("string", profile["period_type"][key])
        expect(profile.get("period", 0) > 0, "a period is 0")
        expect(len(profile["id"]) == 16 and profile["id"] not in ids, "a profile's id")
        ids.add(profile["id"])
        stacks = sums.setdefault((name, unit), collections.Counter())
        for sample in profile["samples"]:
            expect(len(sample["values"]) == 1, "a sample has not one value")
            uses.attributes(sample)
            places = uses.row("stack", sample.get("stack", 0)).get("locations", [])
            stacks[tuple(tuple((d["string"][d["function"][l.get("function", 0)].get("name", 0)], l.get("line", 0))
                               for l in d["location"][i]["lines"]) for i in places)] += sample["values"][0]
    uses.all_rows()
    return sums


def pprof_sums(profile):
    functions = {f["id"]: profile["string"][f["name"]] for f in profile["function"]}
    places = {l["id"]: tuple((functions[x["function"]], x.get("line", 0)) for x in l["lines"]) for l in profile["location"]}
    sums = {}
    for i, kind in enumerate(profile["sample_type"]):
        stacks = sums.setdefault(tuple(profile["string"][kind[k]] for k in ("type", "unit")), collections.Counter())
        for sample in profile["sample"]:
            if sample["values"][i]:
                stacks[tuple(places[l] for l in sample["locations"])] += sample["values"][i]
    return sums


def main():
    with open(sys.argv[1], "rb") as file:
        request = read(file.read(), OTLP)
    with gzip.open(sys.argv[2]) as file:
        profile = read(file.read(), PPROF, "profile")
    check_tables(request["dictionary"])
    mine, theirs = otlp_sums(request), pprof_sums(profile)
    expect(set(mine) == set(theirs), f"sample types {sorted(mine)}, not {sorted(theirs)}")
    for kind, stacks in sorted(mine.items()):
        expect(stacks == theirs.get(kind), f"{kind[0]}: other stacks, or other sums")
        print(f"{kind[0]}: {sum(stacks.values())} {kind[1]} in {len(stacks)} stacks")
    for fault, count in faults.items():
        print(f"{fault} ({count} times)", file=sys.stderr)
    return 1 if faults else 0


sys.exit(main())
