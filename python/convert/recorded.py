# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""One recorded case, read so that nothing in it is passed over: what no converter asked for is refused."""

import numpy as np

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "int64")
REQUIRED = object()


class Refusal(Exception):
    """What is not understood, in one line; callers prepend where."""


def load_array(path):
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise Refusal(f"{path.name}: no readable .npy file ({error})") from error
    return np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="))).reshape(array.shape)


class Recorded:
    """`allowed` names the keys beside name, op, params and tensors that a case of this vendor may have."""

    def __init__(self, folder, stem, case, allowed=()):
        self.folder, self.stem, self.case = folder, stem, case
        unknown = set(case) - {"name", "op", "params", "tensors", "note"} - set(allowed)
        if unknown:
            raise Refusal(f"unknown key '{min(unknown)}'")
        for key, kind in (("name", str), ("op", str), ("params", dict), ("tensors", dict)):
            if not isinstance(case.get(key), kind):
                raise Refusal(f"key '{key}' is missing or no {kind.__name__}")
        self.name, self.op, self.params, self.tensors = (case[key] for key in ("name", "op", "params", "tensors"))
        self.unread = {f"params.{key}" for key in self.params} | {f"tensors.{key}" for key in self.tensors}

    def finish(self):
        if self.unread:
            raise Refusal(f"{min(self.unread)} is not understood for op '{self.op}'")

    # Parameters

    def param(self, key, kinds, default=REQUIRED):
        if key not in self.params and default is not REQUIRED:
            return default
        self.unread.discard(f"params.{key}")
        value = self.params.get(key)
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise Refusal(f"params.{key} is {value!r}")
        return value

    def text(self, key, allowed, default=REQUIRED):
        value = self.param(key, str, default)
        if value is not default and value not in allowed:
            raise Refusal(f"params.{key} '{value}' is unknown")
        return value

    def free_text(self, key):
        return str(self.param(key, (str, int, float), ""))

    def flag(self, key):
        self.unread.discard(f"params.{key}")
        value = self.params.get(key)
        if not isinstance(value, bool):
            raise Refusal(f"params.{key} is {value!r}")
        return value

    def integer(self, key, default=REQUIRED):
        return self.param(key, int, default)

    def integers(self, key, count=None):
        values = self.param(key, list)
        if any(not isinstance(v, int) or isinstance(v, bool) for v in values) or (count is not None and len(values) != count):
            raise Refusal(f"params.{key} is {values!r}")
        return values

    def number(self, key):
        return float(self.param(key, (int, float)))

    def numbers(self, key):
        values = self.param(key, list)
        if any(not isinstance(v, (int, float)) or isinstance(v, bool) for v in values):
            raise Refusal(f"params.{key} is {values!r}")
        return [float(v) for v in values]

    def verify(self, key, derived):
        """A recorded value that follows from others: equal, or the recording is not what the converter takes it for."""
        self.unread.discard(f"params.{key}")
        if key not in self.params or self.params[key] != derived:
            raise Refusal(f"params.{key} is {self.params.get(key)!r}, but {derived!r} follows from the other parameters")

    # Tensors

    def has_tensor(self, key):
        return key in self.tensors

    def tensor(self, key, *dtypes):
        self.unread.discard(f"tensors.{key}")
        file = self.tensors.get(key)
        if not isinstance(file, str):
            raise Refusal(f"tensors.{key} is missing")
        path = self.folder / file
        if self.folder.resolve() not in path.resolve().parents:
            raise Refusal(f"tensors.{key}: '{file}' is outside the suite")
        array = load_array(path)
        if array.dtype.name not in dtypes:
            raise Refusal(f"tensors.{key} is {array.dtype}, not {' or '.join(dtypes)}")
        if array.size == 0:
            raise Refusal(f"tensors.{key} is empty")
        return array

    def optional_tensor(self, key, *dtypes):
        return self.tensor(key, *dtypes) if self.has_tensor(key) else None

    def scalar(self, key, *dtypes):
        array = self.tensor(key, *dtypes)
        if array.size != 1:
            raise Refusal(f"tensors.{key} has {array.size} values, not one")
        return array.reshape(()).item()
