#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Is what the tool writes as docs/schema says? Needs python3-jsonschema.

    schema.py NAME [FILE...]   every line of the files (or of standard input) is a document of docs/schema/NAME.json;
                               NAME,NAME: each line is one of the first that its keys fit: snapshots and inspections come in turns
    schema.py --schemas        the schemas are valid themselves, and strict: no object may have keys that they do not name
    schema.py --whole NAME FILE...   each file is one document, on as many lines as it likes
"""
import json
import pathlib
import sys
import warnings

import jsonschema

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "docs/schema"
# The one object that has texts as keys.
FREE = {("html.json", "lost")}


def load():
    return {path.name: json.loads(path.read_text()) for path in sorted(SCHEMAS.glob("*.json"))}


def validator(schemas, name):
    """Files refer to each other by their names, which are their $id."""
    schema = schemas[name + ".json"]
    # What comes in its place is not in jsonschema 4.10.
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    resolver = jsonschema.RefResolver(base_uri=schema["$id"], referrer=schema, store=schemas)
    return jsonschema.Draft202012Validator(schema, resolver=resolver)


def loose(where, key, node):
    """Places of schemas of objects that let unknown keys pass."""
    if isinstance(node, list):
        for member in node:
            yield from loose(where, key, member)
    if not isinstance(node, dict):
        return
    if node.get("type") == "object" and node.get("additionalProperties") is not False and (where, key) not in FREE:
        yield f"{where}: {key}"
    for name, member in node.items():
        yield from loose(where, name, member)


def check_schemas(schemas):
    failed = 0
    for name, schema in schemas.items():
        jsonschema.Draft202012Validator.check_schema(schema)
        for place in loose(name, "the document", schema):
            print(f"docs/schema/{place}: objects need \"additionalProperties\": false")
            failed = 1
    return failed


def check_document(validators, where, text):
    """0, or 1 with the first few faults told: by the schema that has fewest."""
    document = json.loads(text)
    faults = min((list(v.iter_errors(document)) for v in validators), key=len)
    for fault in faults[:5]:
        path = "/".join(str(step) for step in fault.absolute_path)
        print(f"{where}: /{path}: {fault.message[:300]}")
    return 1 if faults else 0


def main(words):
    schemas = load()
    if words[:1] == ["--schemas"]:
        return check_schemas(schemas)
    whole = words[:1] == ["--whole"]
    names, *files = words[1:] if whole else words
    validators = [validator(schemas, name) for name in names.split(",")]
    failed, seen = 0, 0
    for name in files or ["-"]:
        with (sys.stdin if name == "-" else open(name, encoding="utf-8")) as stream:
            documents = [stream.read()] if whole else [line for line in stream if line.strip()]
        seen += len(documents)
        for number, text in enumerate(documents, 1):
            failed |= check_document(validators, f"{name}:{number}", text)
    if not seen:
        print("no document to check")
        return 1
    if failed:
        print("a new key is named in docs/schema as well: docs/contributing.md, Recipes")
    return failed


sys.exit(main(sys.argv[1:]))
