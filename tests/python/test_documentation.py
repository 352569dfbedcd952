# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Everything that a user can name has words of its own: functions, classes, methods and properties."""
import inspect

import lastbit
from lastbit import pytest_plugin


def of_a_class(owner):
    for name, member in vars(owner).items():
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
            yield f"{owner.__name__}.{name}", member


def public():
    for module in (lastbit, lastbit.layer, pytest_plugin):
        for name, member in vars(module).items():
            if name.startswith(("_", "pytest_")) or not getattr(member, "__module__", "").startswith("lastbit"):
                continue
            if inspect.isfunction(member):
                yield name, member
            elif inspect.isclass(member) and not issubclass(member, lastbit.rules.RuleValue):
                yield name, member
                yield from of_a_class(member)


def test_every_public_name_is_documented():
    names = dict(public())
    assert {"run", "Report.within", "Error.code", "InferenceSession.get_inputs"} <= set(names)
    assert [name for name, member in names.items() if not inspect.getdoc(member)] == []


def test_every_value_of_a_rule_says_what_it_means():
    enumerations = [each for each in vars(lastbit.rules).values() if inspect.isclass(each) and issubclass(each, lastbit.rules.RuleValue)]
    assert all(member.__doc__ for enumeration in enumerations for member in enumeration)
