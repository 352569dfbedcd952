# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""One tiny ONNX model per operator, in protobuf's text form, encoded by protoc with the schema that libonnx-dev installs."""
import subprocess

SCHEMA_FOLDER, SCHEMA = "/usr/include/onnx", "onnx.proto"
TYPES = {"float": (1, "float_data"), "uint8": (2, "int32_data"), "int8": (3, "int32_data"), "int32": (6, "int32_data"), "int64": (7, "int64_data")}


def constant(name, kind, shape, values):
    code, field = TYPES[kind]
    data = "".join(f" {field}: {value}" for value in values)
    return f'initializer {{ name: "{name}" data_type: {code}{"".join(f" dims: {size}" for size in shape)}{data} }}\n'


def value(role, name, kind, shape):
    sizes = "".join(f"dim {{ dim_value: {size} }} " for size in shape)
    return f'{role} {{ name: "{name}" type {{ tensor_type {{ elem_type: {TYPES[kind][0]} shape {{ {sizes}}} }} }} }}\n'


def attribute(name, content):
    if isinstance(content, str):
        return f'attribute {{ name: "{name}" type: STRING s: "{content}" }} '
    if isinstance(content, float):
        return f'attribute {{ name: "{name}" type: FLOAT f: {content} }} '
    if isinstance(content, int):
        return f'attribute {{ name: "{name}" type: INT i: {content} }} '
    return f'attribute {{ name: "{name}" type: INTS {"".join(f"ints: {number} " for number in content)}}} '


def node(op, inputs, outputs, domain="", **attributes):
    names = "".join(f'input: "{name}" ' for name in inputs) + "".join(f'output: "{name}" ' for name in outputs)
    return f'node {{ op_type: "{op}" domain: "{domain}" {names}{"".join(attribute(*item) for item in attributes.items())}}}\n'


def model(body, opset=13):
    graph = "".join(body)
    return (f'ir_version: 8 opset_import {{ version: {opset} }} opset_import {{ domain: "com.microsoft" version: 1 }}\n'
            f'graph {{ name: "g"\n{graph}}}\n')


def quantization(name, kind="uint8", scale=0.5, zero=3):
    return constant(name + "s", "float", [], [scale]) + constant(name + "z", kind, [], [zero])


IMAGE, WEIGHTS = [1, 2, 4, 4], [i % 5 - 2 for i in range(36)]


def one(op, constants=(), more=(), shape=IMAGE, opset=13, **attributes):
    """x → op → y, with constants (name, type, shape, values) as further inputs."""
    names = ["x", *[c[0] if c else "" for c in constants], *more]
    body = [value("input", "x", "float", shape), *[constant(*c) for c in constants if c], node(op, names, ["y"], **attributes)]
    return model([*body, value("output", "y", "float", [])], opset)


def floats(name, shape, values):
    return (name, "float", shape, values)


def integers(name, *values):
    return (name, "int64", [len(values)], values)


def float_models():
    weights, pair = floats("w", [2, 2, 3, 3], WEIGHTS), floats("b", [2], [1, -1])
    yield "conv", one("Conv", [weights, pair], pads=[1, 1, 1, 1], strides=[2, 1])
    yield "conv_same", one("Conv", [weights], auto_pad="SAME_LOWER", dilations=[1, 2])
    yield "conv_depthwise", one("Conv", [floats("w", [4, 1, 3, 3], WEIGHTS)], group=2)
    yield "conv_1d", one("Conv", [floats("w", [2, 2, 3], WEIGHTS[:12])], shape=[1, 2, 6])
    yield "conv_transpose", one("ConvTranspose", [weights, pair], strides=[2, 2], output_padding=[1, 1], group=1, dilations=[2, 1])
    yield "gemm", one("Gemm", [floats("w", [3, 4], WEIGHTS[:12]), floats("b", [3], [1, 2, 3])], shape=[2, 4], transB=1, alpha=0.5, beta=2.0)
    yield "matmul", one("MatMul", [floats("w", [4, 3], WEIGHTS[:12])], shape=[2, 2, 4])
    yield "max_pool", one("MaxPool", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    yield "average_pool", one("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    for name in ["GlobalAveragePool", "GlobalMaxPool", "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Exp", "HardSwish", "HardSigmoid", "Identity",
                 "Dropout", "Flatten", "Squeeze"]:
        yield name.lower(), one(name, opset=14)
    for name in ["Add", "Sub", "Mul", "Div", "PRelu"]:
        yield name.lower(), one(name, [floats("c", [2, 1, 1], [1, 2])])
    yield "sum", one("Sum", more=["x", "x"])
    yield "softmax", one("Softmax", axis=1)
    yield "softmax_old", one("Softmax", axis=2, opset=11)
    yield "clip", one("Clip", [floats("low", [], [-1]), floats("high", [], [0.5])])
    yield "clip_old", one("Clip", opset=10, min=-1.0, max=6.0)
    yield "batch_normalization", one("BatchNormalization", [floats(n, [2], [1, 2]) for n in "sbmv"], epsilon=0.001)
    yield "concat", one("Concat", more=["x"], axis=1)
    yield "slice", one("Slice", [integers("s", 0, 3), integers("e", 9, -9), integers("a", 1, 2), integers("t", 1, -2)])
    yield "slice_old", one("Slice", opset=9, starts=[1], ends=[3], axes=[3])
    yield "pad", one("Pad", [integers("p", 0, 0, 1, 0, 0, 0, 0, 2), floats("v", [], [1.5])])
    yield "pad_reflect", one("Pad", [integers("p", 0, 0, 1, 0, 0, 0, 0, 2)], mode="reflect")
    yield "pad_edge", one("Pad", opset=10, mode="edge", pads=[0, 0, 2, 0, 0, 0, 0, -1])
    yield "reshape", one("Reshape", [integers("s", 0, -1)])
    yield "unsqueeze", one("Unsqueeze", [integers("a", 0, -1)])
    yield "transpose", one("Transpose", perm=[0, 3, 1, 2])
    yield "reduce_mean", one("ReduceMean", axes=[2, 3], keepdims=0)
    yield "resize", one("Resize", [None, floats("s", [4], [1, 1, 2, 1.5])], mode="linear", coordinate_transformation_mode="align_corners")
    yield "resize_sizes", one("Resize", [None, None, integers("s", 1, 2, 7, 3)], mode="nearest", nearest_mode="ceil")
    yield "upsample", one("Upsample", [floats("s", [4], [1, 1, 2, 3])], mode="nearest", opset=9)
    yield "dynamic_quantize", model([value("input", "x", "float", [2, 3]), node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"]),
                                     value("output", "y", "uint8", [])])
    yield "split", model([value("input", "x", "float", IMAGE), node("Split", ["x"], ["y", "z"], axis=2), value("output", "y", "float", [])])
    yield "conv_batch_normalization", model([
        value("input", "x", "float", IMAGE), constant(*weights), *[constant(n, "float", [2], [1, 2]) for n in "sbmv"],
        node("Conv", ["x", "w"], ["c"]), node("BatchNormalization", ["c", *"sbmv"], ["n"]), node("Relu", ["n"], ["y"]),
        value("output", "y", "float", [])])


def branch(name, op, inputs):
    graph = node(op, inputs, ["inner"]) + 'output { name: "inner" } '
    return f'attribute {{ name: "{name}" type: GRAPH g {{ {graph}}} }} '


def folded_models():
    """What is computed while a file is read."""
    ends = [value("input", "x", "float", [2, 3, 4]), value("output", "y", "float", [])]
    shape = [node("Shape", ["x"], ["shape"]), constant("first", "int64", [], [0]), node("Gather", ["shape", "first"], ["size"])]
    yield "reshape_by_shape", model([*ends, *shape, constant("axes", "int64", [1], [0]), constant("rest", "int64", [1], [-1]),
                                     node("Unsqueeze", ["size", "axes"], ["row"]), node("Concat", ["row", "rest"], ["to"], axis=0),
                                     node("Reshape", ["x", "to"], ["y"])])
    for name in ["Add", "Sub", "Mul", "Div", "Mod", "Pow", "Min", "Max"]:
        yield f"constant_{name.lower()}", model([*ends, *shape, constant("c", "int64", [3], [1, 1, 1]), node(name, ["shape", "c"], ["n"]),
                                                 node("ConstantOfShape", ["n"], ["f"]), node("ReduceSum", ["f"], ["s"]),
                                                 node("Add", ["x", "s"], ["y"])])
    yield "where_range", model([*ends, *shape, constant("three", "int64", [], [3]), constant("one", "int64", [], [1]),
                                node("Range", ["first", "three", "one"], ["r"]), node("Less", ["r", "one"], ["l"]), node("Not", ["l"], ["n"]),
                                node("Where", ["n", "shape", "one"], ["w"]), node("ReduceProd", ["w"], ["p"], keepdims=0), node("Cast", ["p"], ["c"], to=1),
                                node("Expand", ["c", "w"], ["e"]), node("Mul", ["x", "e"], ["y"])])
    height = 'dim { dim_param: "N" } dim { dim_value: 3 } dim { dim_param: "height" } '
    yield "open_shape", model([f'input {{ name: "x" type {{ tensor_type {{ elem_type: 1 shape {{ {height}}} }} }} }}\n', node("Relu", ["x"], ["y"]),
                               value("output", "y", "float", [])])
    choice = 'node { op_type: "If" input: "same" output: "y" ' + branch("then_branch", "Relu", ["x"]) + branch("else_branch", "Tanh", ["x"]) + "}\n"
    yield "if", model([*ends, *shape, constant("two", "int64", [], [2]), node("Equal", ["size", "two"], ["same"]), choice])


def real_models():
    for name in ["Sqrt", "Log", "Erf", "Gelu", "Neg", "Abs", "Reciprocal", "Max"]:
        yield f"real_{name.lower()}", one(name, opset=20)
    for name in ["Div", "Pow", "Max", "Min"]:
        yield f"two_{name.lower()}", model([value("input", "x", "float", [2, 3]), value("input", "z", "float", [3]), node(name, ["x", "z"], ["y"]),
                                            value("output", "y", "float", [])])
    ends = [value("input", "x", "float", [2, 3]), value("output", "y", "float", []), constant("o", "float", [1], [1])]
    compared = [node("GreaterOrEqual", ["x", "o"], ["p"]), node("Equal", ["x", "o"], ["q"]), node("Not", ["q"], ["n"])]
    for name in ["And", "Or", "Xor"]:
        yield f"logic_{name.lower()}", model([*ends, *compared, node(name, ["p", "n"], ["c"]), node("Where", ["c", "x", "o"], ["w"]),
                                              node("Cast", ["c"], ["f"], to=1), node("Mul", ["w", "f"], ["y"])], opset=16)
    choice = 'node { op_type: "If" input: "same" output: "y" ' + branch("then_branch", "Relu", ["x"]) + branch("else_branch", "Tanh", ["x"]) + "}\n"
    yield "if_computed", model([*ends, node("ReduceMax", ["x"], ["m"]), node("Less", ["m", "o"], ["less"]), node("Cast", ["less"], ["same"], to=9), choice])
    for name in ["ReduceSum", "ReduceMax", "ReduceMin"]:
        yield name.lower(), one(name, opset=12, axes=[1, 3], keepdims=0)
    yield "argmax", one("ArgMax", axis=1)
    yield "gather", one("Gather", [integers("i", 3, 1)], axis=2)
    yield "expand", one("Expand", [integers("s", 2, 1, 2, 1, 1)])
    yield "layer_normalization", one("LayerNormalization", [floats("s", [4], [1, 2, 3, 4]), floats("b", [4], [1, 2, 3, 4])], opset=17)
    yield "instance_normalization", one("InstanceNormalization", [floats("s", [2], [1, 2]), floats("b", [2], [1, 2])])
    yield "lstm", one("LSTM", [floats("w", [2, 8, 3], WEIGHTS + WEIGHTS[:12]), floats("r", [2, 8, 2], WEIGHTS[:32]), floats("b", [2, 16], WEIGHTS[:32])],
                      shape=[4, 1, 3], opset=14, direction="bidirectional", hidden_size=2)


def quantized_models():
    ends = [value("input", "x", "uint8", IMAGE), value("output", "y", "uint8", [])]
    scales = [quantization("x"), quantization("y", scale=0.25), quantization("w", "int8", 0.125, 0), constant("w", "int8", [2, 2, 3, 3], WEIGHTS)]
    q, d = "QuantizeLinear", "DequantizeLinear"
    yield "qdq_conv", model([
        *ends, *scales, constant("b", "int32", [2], [5, -7]), constant("bs", "float", [], [0.0625]),
        node(d, ["x", "xs", "xz"], ["xf"]), node(d, ["w", "ws", "wz"], ["wf"]), node(d, ["b", "bs"], ["bf"]),
        node("Conv", ["xf", "wf", "bf"], ["cf"]), node("Relu", ["cf"], ["rf"]), node(q, ["rf", "ys", "yz"], ["y"])])
    yield "qdq_move", model([
        *ends, quantization("x"), node(d, ["x", "xs", "xz"], ["xf"]), node("Transpose", ["xf"], ["tf"], perm=[0, 2, 3, 1]),
        node("Add", ["tf", "tf"], ["af"]), node(q, ["af", "xs", "xz"], ["y"])])
    yield "quantize_axis", model([value("input", "x", "float", IMAGE), constant("s", "float", [2], [1, 2]), constant("z", "int8", [2], [1, 2]),
                                  node(q, ["x", "s", "z"], ["y"], axis=1), value("output", "y", "int8", [])])
    yield "qlinear_conv", model([*ends, *scales, node("QLinearConv", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"], pads=[1, 1, 1, 1])])
    yield "conv_integer", model([*ends, *scales, node("ConvInteger", ["x", "w", "xz", "wz"], ["y"])])
    matrices = [value("input", "x", "uint8", [2, 4]), constant("w", "int8", [4, 3], WEIGHTS[:12]), quantization("x"), quantization("y"),
                quantization("w", "int8"), value("output", "y", "uint8", [])]
    yield "qlinear_matmul", model([*matrices, node("QLinearMatMul", ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"], ["y"])])
    yield "matmul_integer", model([*matrices, node("MatMulInteger", ["x", "w", "xz", "wz"], ["y"])])
    both, own = ["x", "xs", "xz", "x", "xs", "xz", "ys", "yz"], {"domain": "com.microsoft"}
    for name in ["QLinearAdd", "QLinearMul"]:
        yield name.lower(), model([*ends, *scales, node(name, both, ["y"], **own)])
    for name in ["QLinearSigmoid", "QLinearLeakyRelu", "QLinearGlobalAveragePool", "QLinearSoftmax"]:
        yield name.lower(), model([*ends, *scales, node(name, ["x", "xs", "xz", "ys", "yz"], ["y"], **own)])
    yield "qlinear_average_pool", model([*ends, *scales, node("QLinearAveragePool", ["x", "xs", "xz", "ys", "yz"], ["y"], kernel_shape=[2, 2], **own)])
    yield "qlinear_concat", model([*ends, *scales, node("QLinearConcat", ["ys", "yz", "x", "xs", "xz", "x", "xs", "xz"], ["y"], axis=1, **own)])


def write_onnx_seeds(folder):
    for name, text in [*float_models(), *folded_models(), *real_models(), *quantized_models()]:
        encoded = subprocess.run(["protoc", f"--proto_path={SCHEMA_FOLDER}", "--encode=onnx.ModelProto", SCHEMA], input=text.encode(),
                                 stdout=subprocess.PIPE, check=True)
        (folder / f"{name}.onnx").write_bytes(encoded.stdout)
