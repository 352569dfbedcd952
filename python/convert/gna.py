# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Suites of Intel's GNA library: its generic kernels called directly, or whole layers through its interface. Values are integers without
scales; what a generation decides (tiles, the order of a fused layer) is in the backends, so the recorded tile sizes are verified."""

import numpy as np

from .layer import Operand
from .recorded import Recorded, Refusal

GENERATIONS = {"gna0.9": "gna1", "gna1.0": "gna1", "gna1.0e": "gna1_embedded", "gna2.0": "gna2", "gna3.0": "gna3_0", "gna3.1": "gna3_1",
               "gna3.1e": "gna3_1"}
LEGACY = {"sse4": "gna2_software_sse4", "avx2": "gna2_software_avx2"}
CURRENT = {"sse4": "gna_software_sse4", "avx2": "gna_software_avx2"}
SIMD = {"gna1": LEGACY, "gna1_embedded": LEGACY, "gna2": LEGACY, "gna3_0": CURRENT, "gna3_1": CURRENT}
KERNELS = {"sse4", "avx1", "avx2"}
KINDS = {"in16w8": ("int16", "int8"), "in16w16": ("int16", "int16"), "in8w8": ("int8", "int8"), "in8w16": ("int8", "int16")}
BIASES = {1: "int8", 2: "int16", 4: "int32"}
OUTPUTS = {1: "int8", 2: "int16", 4: "int32"}
TILES_OF_2 = (12288, 12288, 12096, 12288, 12000, 12096, 12096, 12288)
TILES_OF_3 = (16384, 16384, 16320, 16384, 16320, 16128, 16128, 16384)
TILES_16BIT = {"gna1": TILES_OF_2, "gna1_embedded": (6144, 6144, 6048, 6144, 5760, 6048, 6048, 6144), "gna2": TILES_OF_2,
               "gna3_0": TILES_OF_3, "gna3_1": TILES_OF_3}


class Step:
    """One operation: operands are Operand, the name of an earlier output, or None."""

    def __init__(self, op, operands, output, attributes=None):
        self.op, self.operands, self.output, self.attributes = op, operands, output, attributes or {}


def tile_elements(backend, kind, vectors):
    return TILES_16BIT[backend][vectors - 1] * (2 if kind == "in8w8" else 1)


def image(array):
    """[H, W, C] as NHWC."""
    return array[np.newaxis]


def line(array):
    """A flat array as one row of pixels with one channel."""
    return array.reshape(1, 1, -1, 1)


def check_shape(name, array, *shape):
    if array.shape != shape:
        raise Refusal(f"tensors.{name} is {list(array.shape)}, not {list(shape)}")
    return array


def table(recorded):
    records = recorded.tensor("pwl", "int32")
    if records.ndim != 2 or records.shape[1] != 3:
        raise Refusal(f"tensors.pwl has shape {list(records.shape)}")
    return Operand("pwl", records, constant=True)


def optional(name, array):
    return None if array is None else Operand(name, array, constant=True)


def count_or_flag(recorded):
    if "expected_saturation_count" in recorded.params:
        return recorded.integer("expected_saturation_count")
    flag = recorded.params.get("saturation_reported")
    recorded.unread.discard("params.saturation_reported")
    if not isinstance(flag, bool):
        raise Refusal("neither expected_saturation_count nor saturation_reported")
    return flag


def vendor_kernels(recorded, backend, settings, undefined=()):
    """The outcome on the emulations, of which the library says which disagree; `undefined`: read beyond their data, so they are refused."""
    if "vendor_simd_kernels_that_disagree" not in recorded.params:
        return []
    disagree = recorded.param("vendor_simd_kernels_that_disagree", list)
    if not set(disagree) <= KERNELS:
        raise Refusal(f"params.vendor_simd_kernels_that_disagree is {disagree!r}")
    also = []
    for kernel, name in SIMD[backend].items():
        outcome = "equal" if kernel not in disagree else "refused" if kernel in undefined else "differs"
        also.append({"backend": name, **({"settings": settings} if settings else {}), "outcome": outcome})
    return also


# The data of a fully connected layer: vectors are columns in the recordings, rows here.

def affine_operands(recorded, kind, inputs, outputs):
    """Of the kernels [K, N] data and [M, K] weights."""
    data, weights = KINDS[kind]
    source = recorded.tensor("input", data)
    matrix = check_shape("weights", recorded.tensor("weights", weights), outputs, inputs)
    multiplier = recorded.tensor("multiplier", "uint8") if kind == "in16w8" else None
    return source, matrix, multiplier


def affine(recorded):
    backend = GENERATIONS[recorded.text("generation", GENERATIONS)]
    kind = recorded.text("kind", KINDS)
    inputs, outputs, vectors = (recorded.integer(key) for key in "KMN")
    tile = tile_elements(backend, kind, vectors)
    recorded.verify("tile_elements", tile)
    recorded.verify("tile_elements_per_vector", tile // vectors)
    source, weights, multiplier = affine_operands(recorded, kind, inputs, outputs)
    check_shape("input", source, inputs, vectors)
    attributes, expected = {}, recorded.tensor("expected", "int32")
    column = recorded.params.get("multibias_index")
    recorded.unread.discard("params.multibias_index")
    bias_type = BIASES[recorded.integer("bias_bytes")]
    if recorded.op == "affine_multibias":
        bias = recorded.tensor("multibias", bias_type)
        attributes["bias_column"] = recorded.integer("multibias_index")
    else:
        if column is not None:
            raise Refusal(f"params.multibias_index is {column!r}")
        bias = recorded.tensor("bias", bias_type)
    if recorded.op == "affine_activelist":
        attributes["active_rows"] = recorded.tensor("rows", "uint32").tolist()
    operands = [Operand("input", source.T.copy()), Operand("weights", weights, constant=True), Operand("bias", bias, constant=True),
                optional("multiplier", multiplier)]
    step = Step("fully_connected", operands[:3] if multiplier is None else operands, "output", attributes)
    # The emulation of GNA 1.0 embedded is that of 2.0 with other tiles.
    member = "i16_weights8" if kind == "in16w8" else "i16_bias32"
    settings = {f"fully_connected.{member}.accumulator.tile.{vectors}": tile // vectors} if backend == "gna1_embedded" else {}
    return backend, [step], {"output": expected.T.copy()}, vendor_kernels(recorded, backend, settings)


def diagonal(recorded):
    """Element by element: a depthwise convolution of one tap."""
    kind = recorded.text("kind", KINDS)
    inputs, vectors = recorded.integer("K"), recorded.integer("N")
    source = check_shape("input", recorded.tensor("input", KINDS[kind][0]), inputs, vectors)
    weights = check_shape("weights", recorded.tensor("weights", KINDS[kind][1]), inputs)
    bias = recorded.tensor("bias", BIASES[recorded.integer("bias_bytes")])
    operands = [Operand("input", source.T.reshape(1, 1, vectors, inputs).copy()),
                Operand("weights", weights.reshape(1, 1, 1, inputs), constant=True), Operand("bias", bias, constant=True)]
    if kind == "in16w8":
        operands.append(Operand("multiplier", recorded.tensor("multiplier", "uint8"), constant=True))
    expected = recorded.tensor("expected", "int32").T.reshape(1, 1, vectors, inputs).copy()
    return "gna3_0", [Step("depthwise_conv2d", operands, "output")], {"output": expected}, vendor_kernels(recorded, "gna3_0", {})


def affine_pwl(recorded):
    kind = recorded.text("kind", KINDS)
    inputs, outputs, vectors = (recorded.integer(key) for key in "KMN")
    recorded.verify("tile_elements", tile_elements("gna3_0", kind, vectors))
    source, weights, multiplier = affine_operands(recorded, kind, inputs, outputs)
    check_shape("input", source, inputs, vectors)
    operands = [Operand("input", source.T.copy()), Operand("weights", weights, constant=True),
                Operand("bias", recorded.tensor("bias", "int8", "int16", "int32"), constant=True)]
    if multiplier is not None:
        operands.append(Operand("multiplier", multiplier, constant=True))
    expected = recorded.tensor("expected", OUTPUTS[recorded.integer("out_bytes")])
    sums = Step("fully_connected", operands, ("sums", "int32", [vectors, outputs]))
    return "gna3_0", [sums, Step("pwl", ["sums", table(recorded)], "output")], {"output": expected.T.copy()}, []


def pwl(recorded):
    records = table(recorded)
    if recorded.integer("segments") != len(records.array):
        raise Refusal("params.segments is not the length of the table")
    recorded.free_text("vendor_algorithm")
    expected = recorded.tensor("expected", OUTPUTS[recorded.integer("out_bytes")])
    step = Step("pwl", [Operand("input", recorded.tensor("input", "int32")), records], "output")
    return "gna3_0", [step], {"output": expected}, vendor_kernels(recorded, "gna3_0", {})


# Convolutions along a flat line: positions of a filter over pixels of one channel.

def line_operands(recorded):
    source, weights = recorded.tensor("input", "int16"), recorded.tensor("weights", "int16")
    filters, coefficients = recorded.integer("filters"), recorded.integer("coefficients")
    check_shape("weights", weights, filters, coefficients)
    stride = recorded.integer("stride")
    recorded.verify("positions", (source.size - coefficients) // stride + 1)
    return [Operand("input", line(source)), Operand("weights", weights.reshape(filters, 1, coefficients, 1), constant=True),
            Operand("bias", recorded.tensor("bias", "int32"), constant=True)], [1, stride]


def conv1d(recorded):
    operands, stride = line_operands(recorded)
    expected = recorded.tensor("expected", "int32")
    coefficients = operands[1].array.shape[2]
    also = vendor_kernels(recorded, "gna2", {}, undefined=("avx2",) if coefficients % 8 else ())
    return "gna2", [Step("conv2d", operands, "output", {"stride": stride})], {"output": expected.reshape(1, 1, *expected.shape)}, also


def conv1d_pool_pwl(recorded):
    operands, stride = line_operands(recorded)
    expected = recorded.tensor("expected", OUTPUTS[recorded.integer("out_bytes")])
    recorded.verify("pooled", len(expected))
    pool = {"kind": recorded.text("pool_mode", ("max", "sum")), "filter": [1, recorded.integer("pool_size")],
            "stride": [1, recorded.integer("pool_step")], "partial_windows": "every_start"}
    step = Step("fused_conv2d", operands + [table(recorded)], "output", {"stride": stride, "pool": pool})
    return "gna2", [step], {"output": expected.reshape(1, 1, *expected.shape)}, vendor_kernels(recorded, "gna2", {})


# Convolutions over images [H, W, C].

def image_operands(recorded, bias_mode):
    source, weights = recorded.tensor("input", "int8", "int16"), recorded.tensor("weights", "int8", "int16")
    operands = [Operand("input", image(source)), Operand("weights", weights, constant=True)]
    bytes_per_bias = recorded.integer("bias_bytes")
    if bias_mode != "disabled":
        operands.append(Operand("bias", recorded.tensor("bias", BIASES[bytes_per_bias]), constant=True))
    height, width = recorded.integers("pad", 2)
    return operands, {"stride": recorded.integers("stride", 2), "padding": [height, height, width, width]}


def conv2d(recorded):
    operands, attributes = image_operands(recorded, recorded.text("bias_mode", ("per_filter", "per_stride", "disabled")))
    expected = image(recorded.tensor("expected", "int32"))
    return "gna3_0", [Step("conv2d", operands, "output", attributes)], {"output": expected}, vendor_kernels(recorded, "gna3_0", {})


def conv2d_pwl_pool(recorded):
    operands, attributes = image_operands(recorded, "per_filter")
    mode = recorded.text("pool_mode", ("none", "max", "sum"))
    window, stride = recorded.integers("pool_window", 2), recorded.integers("pool_stride", 2)
    if mode != "none":
        attributes["pool"] = {"kind": mode, "filter": window, "stride": stride, "partial_windows": "last_truncated"}
    if recorded.has_tensor("pwl"):
        operands.append(table(recorded))
    expected = recorded.tensor("expected", OUTPUTS[recorded.integer("out_bytes")])
    return "gna3_0", [Step("fused_conv2d", operands, "output", attributes)], {"output": image(expected)}, []


def pool2d(recorded):
    mode = recorded.text("mode", ("max", "sum"))
    attributes = {"filter": recorded.integers("window", 2), "stride": recorded.integers("stride", 2), "partial_windows": "last_truncated"}
    source = recorded.tensor("input", "int8", "int16", "int32")
    step = Step(f"{mode}_pool2d", [Operand("input", image(source))], "output", attributes)
    return "gna3_0", [step], {"output": image(recorded.tensor("expected", source.dtype.name))}, vendor_kernels(recorded, "gna3_0", {})


def recurrent(recorded):
    backend = GENERATIONS[recorded.text("generation", GENERATIONS)]
    kind = recorded.text("kind", KINDS)
    vectors, inputs, outputs, delay = (recorded.integer(key) for key in ("N", "K", "M", "delay"))
    recorded.verify("tile_elements", tile_elements(backend, kind, 1))
    source, weights, multiplier = affine_operands(recorded, kind, inputs + outputs, outputs)
    check_shape("input", source, vectors, inputs)
    output_type = OUTPUTS[recorded.integer("out_bytes")]
    feedback = check_shape("feedback", recorded.tensor("feedback", output_type), delay, outputs)
    operands = [Operand("input", source), Operand("weights", weights, constant=True), Operand("feedback", feedback), table(recorded),
                Operand("bias", recorded.tensor("bias", "int8", "int16", "int32"), constant=True)]
    if multiplier is not None:
        operands.append(Operand("multiplier", multiplier, constant=True))
    expected = {"output": recorded.tensor("expected", output_type), "sums": recorded.tensor("expected_pre", "int32")}
    return backend, [Step("recurrent", operands, ["output", "sums"])], expected, []


def concat_conv1d(recorded):
    """The integers of a concatenation and a convolution: right or wrong, the memory order is in the recorded input."""
    for key in ("input_scale", "weight_scale", "output_scale", "cosine_to_float", "mean_abs_error"):
        recorded.number(key)
    for key in ("concat", "memory_order"):
        recorded.free_text(key)
    for key in ("kernel", "conv_stride"):
        recorded.integer(key)
    for key in ("input_float", "weights_float", "bias_float"):
        recorded.tensor(key, "float32")
    recorded.tensor("golden_float64", "float64")
    source, filters = recorded.tensor("gna_input", "int16"), recorded.tensor("gna_filters", "int16")
    count, coefficients = filters.shape
    recorded.verify("coefficients_padded", coefficients)
    operands = [Operand("input", line(source)), Operand("weights", filters.reshape(count, 1, coefficients, 1), constant=True),
                Operand("bias", recorded.tensor("gna_bias", "int32"), constant=True)]
    expected = recorded.tensor("expected", "int32")
    step = Step("conv2d", operands, "output", {"stride": [1, recorded.integer("gna_stride")]})
    return "gna2", [step], {"output": expected.reshape(1, 1, *expected.shape)}, []


OPERATIONS = {"affine": affine, "affine_multibias": affine, "affine_activelist": affine, "affine_diagonal": diagonal,
              "affine_pwl": affine_pwl, "pwl": pwl, "conv1d": conv1d, "conv1d_pool_pwl": conv1d_pool_pwl, "conv2d": conv2d,
              "conv2d_pwl_pool": conv2d_pwl_pool, "pool2d": pool2d, "recurrent": recurrent, "concat_conv1d": concat_conv1d}


INLINE_VALUES = 128  # arrays of a case of at most this size stand in the case itself


def place(suite, stem, name, array):
    """An array in the case, or its file."""
    if array.size > INLINE_VALUES:
        return suite.put(stem, name, array)
    return {"type": array.dtype.name, "shape": list(array.shape), "data": array.reshape(-1).tolist()}


def model_of(suite, recorded, steps, expected):
    """The model of the steps, and the files of its inputs."""
    tensors, inputs, operations = [], {}, []
    for step in steps:
        names = []
        for operand in step.operands:
            if isinstance(operand, Operand):
                tensors.append(suite.describe(recorded.stem, operand))
                if not operand.constant:
                    inputs[operand.name] = place(suite, recorded.stem, operand.name, operand.array)
            names.append(operand.name if isinstance(operand, Operand) else operand)
        outputs = [step.output] if not isinstance(step.output, list) else step.output
        for output in outputs:
            name, dtype, shape = output if isinstance(output, tuple) else (output, expected[output].dtype.name, expected[output].shape)
            tensors.append({"name": name, "type": dtype, "shape": list(shape)})
        operations.append({"op": step.op, "inputs": names, "outputs": [o[0] if isinstance(o, tuple) else o for o in outputs],
                           **({"attributes": step.attributes} if step.attributes else {})})
    return {"format": "lastbit.model.v1", "name": recorded.name, "tensors": tensors, "operations": operations, "inputs": list(inputs),
            "outputs": list(expected)}, inputs


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case)
    if recorded.op not in OPERATIONS:
        raise Refusal(f"unknown op '{recorded.op}'")
    saturations = count_or_flag(recorded)
    backend, steps, expected, also = OPERATIONS[recorded.op](recorded)
    recorded.finish()
    model, inputs = model_of(suite, recorded, steps, expected)
    results = {name: place(suite, stem, f"expected_{name}", array) for name, array in expected.items()}
    body = {"backend": backend, "model": model, "inputs": inputs, "expected": results, "saturations": saturations}
    if also:
        body["also"] = also
    suite.add(recorded.name, body)
