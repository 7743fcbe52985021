# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What managed*.py compare: the last lines of the files TRUTH and RESULT, which they are called with, as JSON."""
import json
import sys


def last_line(path):
    with open(path, encoding="utf-8") as f:
        return json.loads(f.readlines()[-1])


def truth_and_result():
    return last_line(sys.argv[1]), last_line(sys.argv[2])
