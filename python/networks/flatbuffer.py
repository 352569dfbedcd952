# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""FlatBuffers, as much as a .tflite file needs: tables, vectors and strings, each written once, in front of what it refers to.

A table is a dictionary from field id to a value made by scalar(), or by vector(), tables(), string() or Table, which lie elsewhere in the
file and are referred to by offset. https://flatbuffers.dev/internals
"""

import struct


class Scalar:
    def __init__(self, code, value):
        self.size, self.bytes = struct.calcsize("<" + code), struct.pack("<" + code, value)


class Vector:
    """Elements of one size, or references; `alignment` is that of the first element."""

    def __init__(self, data=b"", count=0, alignment=4, references=(), terminated=False):
        self.data, self.count, self.alignment, self.references, self.terminated = data, count, alignment, references, terminated


class Table:
    def __init__(self, fields):
        self.fields = {key: value for key, value in fields.items() if value is not None}


def scalar(code, value):
    return Scalar(code, value)


def vector(code, values):
    size = struct.calcsize("<" + code)
    return Vector(struct.pack(f"<{len(values)}{code}", *values), len(values), max(4, size))


def raw(data):
    return Vector(data, len(data), 16)


def string(text):
    return Vector(text.encode(), len(text.encode()), terminated=True)


def tables(items):
    return Vector(count=len(items), references=tuple(items))


class Writer:
    def __init__(self):
        self.out = bytearray()

    def pad(self, alignment, before=0):
        """Zeros, so that what lies `before` bytes further is aligned."""
        self.out += bytes(-(len(self.out) + before) % alignment)

    def refer(self, place, target):
        struct.pack_into("<I", self.out, place, target - place)

    def write(self, item):
        """Where it lies."""
        return self.table(item) if isinstance(item, Table) else self.vector(item)

    def vector(self, item):
        self.pad(item.alignment, before=4)
        place = len(self.out)
        self.out += struct.pack("<I", item.count) + item.data + bytes(4 * len(item.references)) + bytes(item.terminated)
        for i, reference in enumerate(item.references):
            self.refer(place + 4 + 4 * i, self.write(reference))
        return place

    def table(self, item):
        """The vtable, then the table: largest fields first, so that none needs padding but the first."""
        fields = sorted(item.fields.items(), key=lambda field: -getattr(field[1], "size", 4))
        slots = max(item.fields, default=-1) + 1
        vtable_size = 4 + 2 * slots
        alignment = max((getattr(value, "size", 4) for value in item.fields.values()), default=4)
        self.pad(2)
        vtable = len(self.out)
        self.out += bytes(vtable_size)
        self.pad(max(4, alignment), before=4)
        place = len(self.out)
        self.out += struct.pack("<i", place - vtable)
        offsets, references = [0] * slots, []
        for key, value in fields:
            offsets[key] = len(self.out) - place
            if isinstance(value, Scalar):
                self.out += value.bytes
            else:
                references.append((len(self.out), value))
                self.out += bytes(4)
        struct.pack_into(f"<{2 + slots}H", self.out, vtable, vtable_size, len(self.out) - place, *offsets)
        for where, value in references:
            self.refer(where, self.write(value))
        return place


def file(root, identifier):
    writer = Writer()
    writer.out += bytes(4) + identifier
    writer.refer(0, writer.write(root))
    return bytes(writer.out)
