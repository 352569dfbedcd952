#!/usr/bin/python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Prints python/lastbit/rules.py, from what the library says:

    PYTHONPATH=build/strict/python tools/write_rules.py >rules.py && mv rules.py python/lastbit/
"""
import json
import keyword

from lastbit import _lastbit

HEAD = '''# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""The values that rules have, as enumerations. tools/write_rules.py writes this file; docs/rules.md says which rules have which.

A member goes wherever a value of a rule does: in a Device, a dict, and in backend(rules=…). Its documentation says what it means.
"""
import enum


class RuleValue(str, enum.Enum):
    """A word of a backend file."""

    def __new__(cls, word: str, meaning: str):
        member = str.__new__(cls, word)
        member._value_ = word
        member.__doc__ = meaning
        return member

    def __str__(self) -> str:
        return self.value
'''


def text():
    parts = [HEAD]
    for name, values in _lastbit.rule_enumerations():
        lines = [f"class {name}(RuleValue):"]
        for value, meaning in values:
            lines.append(f"    {value + '_' * keyword.iskeyword(value)} = {json.dumps(value)}, {json.dumps(meaning, ensure_ascii=False)}")
        parts.append("\n".join(lines) + "\n")
    return "\n\n".join(parts)


if __name__ == "__main__":
    print(text(), end="")
