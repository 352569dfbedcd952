# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""What a PyTorch module calls while it computes an example: torch's operators in their order, whatever the module is made of."""
from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Call(NamedTuple):
    """An operator ("aten::relu"), its arguments by the names of its schema, what it returned, and its number."""

    operator: str
    arguments: dict[str, Any]
    result: Any
    number: int

    @property
    def first(self):
        """Of several results the first."""
        return self.result[0] if isinstance(self.result, (list, tuple)) else self.result


class Calls(TorchDispatchMode):
    """A list of Call. All tensors are kept, so that their identities are theirs alone."""

    def __init__(self):
        super().__init__()
        self.list: list[Call] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        schema = func._schema
        arguments = {each.name: each.default_value for each in schema.arguments if each.has_default_value()}
        arguments.update(zip((each.name for each in schema.arguments), args))
        arguments.update(kwargs or {})
        self.list.append(Call(schema.name, arguments, result, len(self.list)))
        return result


def calls_of(module, inputs) -> tuple[list[Call], Any, dict[int, str]]:
    """The calls, what the module returned, and by the identity of a tensor the name of the innermost module that returned it."""
    paths = {id(each): name for name, each in module.named_modules()} if isinstance(module, torch.nn.Module) else {}
    names: dict[int, str] = {}

    def note(each, _inputs, output):
        if isinstance(output, torch.Tensor) and paths.get(id(each)):
            names.setdefault(id(output), paths[id(each)])

    calls = Calls()
    hook = torch.nn.modules.module.register_module_forward_hook(note)
    with contextlib.ExitStack() as stack:
        stack.callback(hook.remove)
        stack.enter_context(torch.no_grad())
        stack.enter_context(calls)
        output = module(*inputs)
    return calls.list, output, names
