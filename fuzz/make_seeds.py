#!/usr/bin/env python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the fuzz targets into corpus/: one tiny file per feature of a format. Needs numpy, flatc and protoc."""
import io
import json
import pathlib
import struct
import subprocess
import tempfile
import zlib

import numpy as np

from onnx_seeds import write_onnx_seeds

HERE = pathlib.Path(__file__).resolve().parent
SCHEMA = HERE.parent / "lib" / "formats" / "tflite_subset.fbs"


def folder(target):
    path = HERE / "corpus" / target
    path.mkdir(parents=True, exist_ok=True)
    return path


def write_npy_seeds():
    here = folder("npy_fuzz")
    for name in ["int8", "uint8", "int16", "uint16", "int32", "int64", "float32", "float64", "bool"]:
        np.save(here / f"{name}.npy", (np.arange(6) % 2).reshape(2, 3).astype(name))
    np.save(here / "scalar.npy", np.int32(7))
    np.save(here / "fortran.npy", np.asfortranarray(np.arange(24, dtype=np.int16).reshape(2, 3, 4)))
    for version in [(2, 0), (3, 0)]:
        with open(here / f"version{version[0]}.npy", "wb") as file:
            np.lib.format.write_array(file, np.arange(3, dtype=np.int8), version=version)


def write_npz_seeds():
    here = folder("npz_fuzz")
    arrays = {"x": np.arange(6, dtype=np.int8), "net/y:0": np.zeros((3, 2), np.float32)}
    np.savez(here / "stored.npz", **arrays)
    np.savez_compressed(here / "deflated.npz", **arrays)
    np.savez(here / "unnamed.npz", np.int16(3))


def png(bits, color, rows, palette=b""):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 2, 2, bits, color, 0, 0, 0)
    colors = chunk(b"PLTE", palette) if palette else b""
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + colors + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def gray_jpeg():
    """8 by 8, all of one value: of both tables one code, "no difference" and "end of block"."""
    def segment(marker, data):
        return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data

    codes = bytes([1] + 15 * [0] + [0])
    return (b"\xff\xd8" + segment(0xDB, bytes([0] + 64 * [1])) + segment(0xC0, bytes([8, 0, 8, 0, 8, 1, 1, 0x11, 0])) +
            segment(0xC4, bytes([0x00]) + codes) + segment(0xC4, bytes([0x10]) + codes) + segment(0xDA, bytes([1, 1, 0, 0, 63, 0])) +
            b"\x3f\xff\xd9")


def write_image_seeds():
    here = folder("image_fuzz")
    (here / "gray.png").write_bytes(png(8, 0, b"\0\1\2\0\3\4"))
    (here / "bits.png").write_bytes(png(1, 0, b"\0\x80\0\x40"))
    (here / "color.png").write_bytes(png(8, 2, b"\0\1\2\3\4\5\6\1\1\1\1\1\1\1"))
    (here / "alpha.png").write_bytes(png(8, 6, b"\0" + bytes(range(8)) + b"\2" + bytes(range(8))))
    (here / "palette.png").write_bytes(png(2, 3, b"\0\x10\0\x40", bytes(range(6))))
    (here / "gray.jpg").write_bytes(gray_jpeg())
    (here / "gray.pgm").write_bytes(b"P5 2 2 255\n\0\1\2\3")
    (here / "color.ppm").write_bytes(b"P6 1 2 255\n\0\1\2\3\4\5")
    (here / "plain.pgm").write_bytes(b"P2 # comment\n2 1 255\n17 255\n")
    (here / "plain.ppm").write_bytes(b"P3\n1 1\n255\n1 2 3")


def write_dump_seeds():
    """The first byte is the number of a name in dump_fuzz.cpp."""
    here = folder("dump_fuzz")

    def npy(values):
        file = io.BytesIO()
        np.save(file, values)
        return file.getvalue()

    def npz(**values):
        file = io.BytesIO()
        np.savez_compressed(file, **values)
        return file.getvalue()

    codes = np.arange(24, dtype=np.int8).reshape(1, 2, 3, 4)
    contents = {"npy": npy(codes), "raw": codes.tobytes(), "text": b"1 2 3\n" * 8, "npz": npz(x=codes, **{"net/y": codes}),
                "blocks": npy(np.zeros((1, 1, 2, 3, 16), np.float16)), "rknn": npy(codes.transpose(0, 3, 1, 2).astype(np.float32)),
                "ovxlib": b"0.5 " * 24, "tidl": codes.tobytes(), "layer_info": b"1 4 net/y\n", "map_name": b"net/y 004_y.npy\n",
                "mapping": b"123.npy,Relu.net_y.1.2.3.output.0.npy\n"}
    for number, (name, content) in enumerate(contents.items()):
        (here / name).write_bytes(bytes([number]) + content)


# A layer is (name, .tflite operator, tensors, attributes, options type, options, order): a name is an operation, perhaps with a variant
# after it; tensors are (type, shape, data or None), the inputs first, then the outputs; `order` turns our inputs into the operator's.
def layers():
    image, small = ("int8", [1, 4, 4, 2], None), ("int8", [1, 2, 2, 2], None)
    flat = ("int8", [1, 4], None)

    def values(count):
        return [i % 5 - 2 for i in range(count)]

    def constant(shape, type_name="int8"):
        return (type_name, shape, values(int(np.prod(shape))))

    def indices(*numbers):
        return ("int32", [len(numbers)], list(numbers))

    conv = {"stride": [2, 2], "padding": "same", "activation": "relu6"}
    conv_file = {"padding": "SAME", "stride_w": 2, "stride_h": 2, "fused_activation_function": "RELU6"}
    pool = {"filter": [2, 2], "stride": [2, 2]}
    pool_file = {"padding": "VALID", "stride_w": 2, "stride_h": 2, "filter_width": 2, "filter_height": 2}
    bias = constant([2], "int32")
    yield ("conv2d", "CONV_2D", [image, constant([2, 3, 3, 2]), bias, small], conv, "Conv2DOptions", conv_file, None)
    yield ("conv2d_no_bias", "CONV_2D", [image, constant([2, 3, 3, 2]), None, small], conv, "Conv2DOptions", conv_file, None)
    yield ("depthwise_conv2d", "DEPTHWISE_CONV_2D", [image, constant([1, 3, 3, 2]), bias, small], conv,
           "DepthwiseConv2DOptions", conv_file, None)
    up = {"padding": "SAME", "stride_w": 2, "stride_h": 2}
    yield ("transposed_conv2d", "TRANSPOSE_CONV", [small, constant([2, 2, 2, 2]), bias, image], {"stride": [2, 2], "padding": "same"},
           "TransposeConvOptions", up, lambda t: [indices(1, 4, 4, 2), t[1], t[0], t[2]])
    yield ("fully_connected", "FULLY_CONNECTED", [flat, constant([3, 4]), constant([3], "int32"), ("int8", [1, 3], None)],
           {"activation": "relu"}, "FullyConnectedOptions", {"fused_activation_function": "RELU"}, None)
    yield ("fully_connected_hybrid", "FULLY_CONNECTED",
           [("float32", [1, 4], None), constant([3, 4]), constant([3], "float32"), ("float32", [1, 3], None)],
           {"asymmetric_inputs": True}, "FullyConnectedOptions", {"asymmetric_quantize_inputs": True}, None)
    yield ("matmul", "BATCH_MATMUL", [("int8", [2, 3, 4], None), constant([5, 4]), ("int8", [2, 3, 5], None)], {"transpose_b": True},
           "BatchMatMulOptions", {"adj_y": True}, None)
    yield ("max_pool2d", "MAX_POOL_2D", [image, small], pool, "Pool2DOptions", pool_file, None)
    yield ("average_pool2d", "AVERAGE_POOL_2D", [image, small], pool, "Pool2DOptions", pool_file, None)
    yield ("global_average_pool", None, [image, ("int8", [1, 1, 1, 2], None)], {}, None, None, None)
    yield ("mean", "MEAN", [image, ("int8", [1, 2], None)], {"axes": [1, 2]}, "ReducerOptions", {},
           lambda t: [t[0], indices(1, -2)])
    for name in ["add", "sub", "mul"]:
        yield (name, name.upper(), [image, ("int8", [2], values(2)), image], {"activation": "relu"}, name.capitalize() + "Options",
               {"fused_activation_function": "RELU"}, None)
    yield ("concat", "CONCATENATION", [small, constant([1, 2, 2, 1]), ("int8", [1, 2, 2, 3], None)], {"axis": 3}, "ConcatenationOptions",
           {"axis": -1}, None)
    paddings = ("int32", [4, 2], [0, 0, 1, 1, 1, 1, 0, 0])
    yield ("pad", "PAD", [small, image], {"paddings": [[0, 0], [1, 1], [1, 1], [0, 0]], "value": 1}, None, None, lambda t: [t[0], paddings])
    yield ("pad_value", "PADV2", [small, image], {"paddings": [[0, 0], [1, 1], [1, 1], [0, 0]]}, None, None,
           lambda t: [t[0], paddings, ("int8", [], [3])])
    yield ("reshape", "RESHAPE", [image, ("int8", [2, 16], None)], {}, None, None, lambda t: [t[0], indices(2, 16)])
    yield ("squeeze", "SQUEEZE", [image, ("int8", [4, 4, 2], None)], {}, None, None, None)
    yield ("expand_dims", "EXPAND_DIMS", [flat, ("int8", [1, 1, 4], None)], None, None, None, lambda t: [t[0], indices(0)])
    yield ("transpose", "TRANSPOSE", [image, ("int8", [1, 2, 4, 4], None)], {"permutation": [0, 3, 1, 2]}, None, None,
           lambda t: [t[0], indices(0, 3, 1, 2)])
    yield ("slice", "SLICE", [image, small], {"begin": [0, 1, 2, 0]}, None, None,
           lambda t: [t[0], indices(0, 1, 2, 0), indices(1, 2, -1, 2)])
    yield ("strided_slice", "STRIDED_SLICE", [image, small], {"begin": [0, 3, 0, 0], "strides": [1, -2, 2, 1]}, "StridedSliceOptions",
           {"begin_mask": 3, "end_mask": 15}, lambda t: [t[0], indices(0, 3, 0, 0), indices(0, 0, 0, 0), indices(1, -2, 2, 1)])
    yield ("shrinking_slice", "STRIDED_SLICE", [image, ("int8", [4, 2], None)], None, "StridedSliceOptions", {"shrink_axis_mask": 3,
           "begin_mask": 12, "end_mask": 12}, lambda t: [t[0], indices(0, 2, 0, 0), indices(1, 3, 0, 0), indices(1, 1, 1, 1)])
    yield ("split", "SPLIT", [image, ("int8", [1, 4, 4, 1], None), ("int8", [1, 4, 4, 1], None)], {"axis": 3}, "SplitOptions",
           {"num_splits": 2}, lambda t: [indices(3), t[0]])
    yield ("quantize", "QUANTIZE", [("float32", [1, 4], None), flat], {}, None, None, None)
    yield ("dequantize", "DEQUANTIZE", [flat, ("float32", [1, 4], None)], {}, None, None, None)
    yield ("requantize", "QUANTIZE", [flat, ("int16", [1, 4], None)], {}, None, None, None)
    for name in ["relu", "relu6", "relu_n1_to_1", "hard_swish", "logistic", "tanh"]:
        yield (name, name.upper(), [flat, flat], {}, None, None, None)
    yield ("leaky_relu", "LEAKY_RELU", [flat, flat], {"alpha": 0.1}, "LeakyReluOptions", {"alpha": 0.1}, None)
    yield ("prelu", "PRELU", [image, constant([1, 1, 2]), image], {}, None, None, None)
    yield ("softmax", "SOFTMAX", [flat, flat], {"beta": 1}, "SoftmaxOptions", {"beta": 1.0}, None)
    yield ("resize", "RESIZE_BILINEAR", [small, image], {"mode": "bilinear", "coordinates": "half_pixel", "nearest_rounding": "half_up"},
           "ResizeBilinearOptions", {"half_pixel_centers": True}, lambda t: [t[0], indices(4, 4)])
    yield ("resize_nearest", "RESIZE_NEAREST_NEIGHBOR", [small, image], None, "ResizeNearestNeighborOptions", {"align_corners": True},
           lambda t: [t[0], indices(4, 4)])
    yield ("argmax", "ARG_MAX", [image, ("int32", [1, 4, 4], None)], {"axis": 3}, "ArgMaxOptions", {"output_type": "INT32"},
           lambda t: [t[0], indices(-1)])
    yield ("gather", "GATHER", [image, indices(3, 0), ("int8", [1, 2, 4, 2], None)], {"axis": 1}, "GatherOptions", {"axis": 1}, None)
    yield ("pack", "PACK", [flat, constant([1, 4]), ("int8", [1, 2, 4], None)], None, "PackOptions", {"values_count": 2, "axis": -2}, None)
    yield ("unpack", "UNPACK", [("int8", [1, 2, 2], None), ("int8", [1, 2], None), ("int8", [1, 2], None)], None, "UnpackOptions",
           {"num": 2, "axis": 1}, None)
    yield ("split_v", "SPLIT_V", [image, ("int8", [1, 1, 4, 2], None), ("int8", [1, 3, 4, 2], None)], None, None, None,
           lambda t: [t[0], indices(1, 3), indices(1)])
    depth = ("int8", [1, 2, 2, 8], None)
    yield ("space_to_depth", "SPACE_TO_DEPTH", [image, depth], None, "SpaceToDepthOptions", {"block_size": 2}, None)
    yield ("depth_to_space", "DEPTH_TO_SPACE", [depth, image], None, "DepthToSpaceOptions", {"block_size": 2}, None)
    yield ("mirror_pad", "MIRROR_PAD", [small, image], None, "MirrorPadOptions", {"mode": "SYMMETRIC"}, lambda t: [t[0], paddings])
    yield ("tile", "TILE", [small, image], None, None, None, lambda t: [t[0], indices(1, 2, 2, 1)])
    yield ("broadcast_to", "BROADCAST_TO", [("int8", [4, 1], None), image], None, None, None, lambda t: [t[0], indices(1, 4, 4, 2)])
    yield ("reverse", "REVERSE_V2", [image, image], None, None, None, lambda t: [t[0], indices(1, -1)])
    for name in ["maximum", "minimum"]:
        yield (name, name.upper(), [image, ("int8", [2], values(2)), image], {}, None, None, None)
    yield ("div", "DIV", [image, ("int8", [2], values(2)), image], {"activation": "relu"}, "DivOptions",
           {"fused_activation_function": "RELU"}, None)
    for name in ["sum", "reduce_max", "reduce_min"]:
        yield ("reduce_" + name if name == "sum" else name, name.upper(), [image, ("int8", [1, 2], None)], {"axes": [1, 2]},
               "ReducerOptions", {}, lambda t: [t[0], indices(1, -2)])
    for name in ["abs", "neg", "exp", "log", "sqrt", "rsqrt"]:
        yield (name, name.upper(), [flat, flat], {}, None, None, None)


def output_count(name):
    return 2 if name in ("split", "split_v", "unpack") else 1


def json_model(name, tensors, attributes):
    described, used = [], []
    for i, tensor in enumerate(tensors):
        used.append(f"t{i}" if tensor else None)
        if tensor is None:
            continue
        entry = {"name": f"t{i}", "type": tensor[0], "shape": tensor[1]}
        if tensor[0] in ("int8", "int16"):
            per_channel = name.startswith("conv2d") and i == 1
            entry["quantization"] = {"scale": [0.5, 0.25], "axis": 0} if per_channel else {"scale": [0.5], "zero_point": [0]}
        if tensor[2] is not None:
            entry["data"] = tensor[2]
        described.append(entry)
    outputs = used[len(used) - output_count(name):]
    inputs = used[:len(used) - output_count(name)]
    kind = name.replace("_no_bias", "").replace("_hybrid", "").replace("pad_value", "pad")
    operation = {"op": kind, "inputs": inputs, "outputs": outputs, "attributes": attributes}
    return {"format": "lastbit.model.v1", "name": name, "tensors": described, "operations": [operation], "inputs": ["t0"],
            "outputs": outputs}


def tflite_model(name, operator, tensors, options_type, options, order):
    outputs = tensors[len(tensors) - output_count(name):]
    inputs = tensors[:len(tensors) - output_count(name)]
    listed, buffers, numbers = [], [{}], []
    for tensor in (order(inputs) if order else inputs) + outputs:
        if tensor is None:
            numbers.append(-1)
            continue
        numbers.append(len(listed))
        entry = {"shape": tensor[1], "type": tensor[0].upper(), "name": f"t{len(listed)}", "buffer": 0}
        if tensor[0] in ("int8", "int16"):
            entry["quantization"] = {"scale": [0.5], "zero_point": [0]}
        if tensor[2] is not None:
            entry["buffer"] = len(buffers)
            buffers.append({"data": list(np.array(tensor[2], tensor[0]).tobytes())})
        listed.append(entry)
    given = [i for i, tensor in zip(numbers, (order(inputs) if order else inputs)) if tensor is not None and tensor[2] is None]
    count = len(outputs)
    operation = {"opcode_index": 0, "inputs": numbers[:-count], "outputs": numbers[-count:]}
    if options_type:
        operation.update({"builtin_options_type": options_type, "builtin_options": options})
    return {"version": 3, "operator_codes": [{"deprecated_builtin_code": 0, "builtin_code": operator}], "buffers": buffers,
            "subgraphs": [{"name": "main", "tensors": listed, "inputs": given, "outputs": numbers[-count:], "operators": [operation]}]}


def write_model_seeds():
    texts, binary = [folder("json_model_fuzz"), folder("run_fuzz")], folder("tflite_fuzz")
    with tempfile.TemporaryDirectory() as scratch:
        for name, operator, tensors, attributes, options_type, options, order in layers():
            for text in texts if attributes is not None else []:
                (text / f"{name}.json").write_text(json.dumps(json_model(name, tensors, attributes), separators=(",", ":")))
            if operator is None:
                continue
            source = pathlib.Path(scratch) / f"{name}.json"
            source.write_text(json.dumps(tflite_model(name, operator, tensors, options_type, options, order)))
            subprocess.run(["flatc", "--binary", "-o", str(binary), str(SCHEMA), str(source)], check=True)


if __name__ == "__main__":
    write_npy_seeds()
    write_npz_seeds()
    write_image_seeds()
    write_dump_seeds()
    write_model_seeds()
    write_onnx_seeds(folder("onnx_fuzz"))
