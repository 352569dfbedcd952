# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""The networks for TensorFlow Lite Micro. Each function gives the network and the number of its output."""

from .network import Network


def residual():
    net = Network("residual", 11)
    image = net.input((9, 10, 3))
    stem = net.conv("stem", image, 8, (3, 3), strides=(1, 2), activation="relu")
    first = net.conv("first", stem, 8, (3, 3), activation="relu6")
    second = net.conv("second", first, 8, (3, 3), dilation=2)
    joined = net.arithmetic("ADD", "joined", stem, second, "relu")
    narrow = net.conv("narrow", joined, 12, (1, 1), strides=(2, 2), padding="valid")
    shortcut = net.pool("AVERAGE_POOL_2D", "shortcut", joined, (2, 2), (2, 2), "same")
    shortcut = net.conv("widened", shortcut, 12, (1, 1))
    difference = net.arithmetic("SUB", "difference", narrow, shortcut)
    features = net.mean("features", difference, (1, 2))
    return net, net.function("SOFTMAX", "probabilities", net.fully_connected("scores", features, 7))


def depthwise():
    net = Network("depthwise", 12)
    image = net.input((11, 8, 2))
    depth = net.depthwise("depthwise1", image, (3, 3), strides=(2, 1), multiplier=4, activation="relu6")
    point = net.conv("pointwise1", depth, 12, (1, 1), activation="relu6")
    depth = net.depthwise("depthwise2", point, (5, 3), activation="relu")
    point = net.conv("pointwise2", depth, 10, (1, 1))
    depth = net.depthwise("depthwise3", point, (3, 3), strides=(2, 2), padding="valid")
    pool = net.pool("AVERAGE_POOL_2D", "pool", depth, (2, 3), (1, 1))
    return net, net.fully_connected("scores", net.reshape("flat", pool, (10,)), 6, per_channel=True)


def branches():
    """Three branches of different scales, brought to one and joined; max and average pools."""
    net = Network("branches", 13)
    image = net.input((8, 8, 4))
    left = net.conv("left", image, 4, (1, 1), activation="relu")
    middle = net.conv("middle", net.conv("reduced", image, 3, (1, 1)), 5, (3, 3))
    right = net.conv("right", net.pool("MAX_POOL_2D", "largest", image, (3, 3), (1, 1), "same"), 3, (1, 1))
    parts = [middle, net.quantize("left_scaled", left, like=middle), net.quantize("right_scaled", right, like=middle)]
    joined = net.concat("joined", parts)
    pooled = net.pool("AVERAGE_POOL_2D", "pooled", joined, (3, 3), (2, 2), "same")
    gate = net.function("LOGISTIC", "gate", net.conv("attention", pooled, 12, (1, 1)))
    gated = net.arithmetic("MUL", "gated", pooled, gate)
    peak = net.pool("MAX_POOL_2D", "peak", gated, (2, 2), (2, 2), activation="relu")
    return net, net.mean("average", peak, (1, 2), keep_dims=True)


def activations():
    """Every function, one after or beside the other."""
    net = Network("activations", 14)
    image = net.input((6, 6, 4))
    swish = net.function("HARD_SWISH", "swish", net.conv("conv1", image, 8, (3, 3)))
    leaky = net.leaky_relu("leaky", net.conv("conv2", swish, 8, (1, 1)), 0.2183)
    sloped = net.prelu("sloped", net.conv("conv3", leaky, 6, (3, 3), padding="valid"))
    bent = net.function("TANH", "bent", net.conv("conv4", sloped, 6, (1, 1)))
    risen = net.function("LOGISTIC", "risen", net.conv("conv5", bent, 6, (1, 1)))
    positive = net.function("RELU", "positive", net.arithmetic("SUB", "between", risen, bent))
    scores = net.fully_connected("scores", net.reshape("flat", positive, (96,)), 9)
    return net, net.function("SOFTMAX", "probabilities", scores)


def moving(name="moving", kind="int8"):
    """Pads, slices, split, transposes, a transposed convolution and a product of two activations."""
    net = Network(name, 15, kind, samples=8)
    image = net.input((7, 6, 3))
    padded = net.pad("padded", image, ((1, 2), (0, 1), (0, 0)))
    conv = net.conv("conv", padded, 6, (3, 3), strides=(2, 2), padding="valid", activation="relu")
    larger = net.transpose_conv("larger", conv, 6, (3, 2), (2, 2))
    sliced = net.strided_slice("sliced", larger, (0, 1, 0), (8, 6, 6), (2, 1, 1))
    first, second = net.split("halves", sliced, 2, 3)
    turned = net.transpose("turned", first, (0, 2, 1, 3))
    rows = net.reshape("rows", turned, (5, 12))
    columns = net.reshape("columns", second, (12, 5))
    product = net.matmul("product", rows, columns, transpose_b=False)
    squares = net.matmul("squares", product, product, transpose_b=True)
    return net, net.fully_connected("scores", net.reshape("flat", squares, (25,)), 8)


def moving_16x8():
    return moving("moving_16x8", "int16")


def fully_connected_16x8():
    """16-bit activations; with a 64-bit bias, a 32-bit one, and without one in both ways of the format."""
    net = Network("fully_connected_16x8", 16, "int16", samples=20)
    signal = net.input((40,))
    hidden = net.fully_connected("bias64", signal, 32, activation="relu")
    hidden = net.fully_connected("bias32", hidden, 28, bias_type="int32", per_channel=True)
    hidden = net.function("TANH", "bent", hidden)
    hidden = net.fully_connected("no_bias", hidden, 24, bias=False)
    hidden = net.fully_connected("no_bias_int32", hidden, 20, bias=False, bias_type="int32")
    hidden = net.function("LOGISTIC", "risen", hidden)
    return net, net.function("SOFTMAX", "probabilities", net.fully_connected("scores", hidden, 12))


def conv_16x8():
    net = Network("conv_16x8", 17, "int16")
    image = net.input((8, 7, 3))
    stem = net.conv("bias64", image, 8, (3, 3), activation="relu")
    depth = net.depthwise("depthwise", stem, (3, 3), multiplier=1)
    point = net.conv("bias32", depth, 8, (1, 1), bias_type="int32")
    joined = net.arithmetic("ADD", "joined", stem, point)
    scaled = net.arithmetic("MUL", "scaled", joined, depth)
    narrow = net.conv("no_bias", net.leaky_relu("leaky", scaled, 0.1297), 6, (2, 2), strides=(2, 2), bias=False)
    other = net.conv("no_bias_int32", joined, 6, (2, 2), strides=(2, 2), bias=False, bias_type="int32")
    both = net.concat("both", [narrow, net.quantize("other_scaled", other, like=narrow)])
    largest = net.pool("MAX_POOL_2D", "largest", both, (2, 2), (1, 1))
    average = net.pool("AVERAGE_POOL_2D", "average", largest, (2, 2), (1, 1))
    corner = net.strided_slice("corner", largest, (1, 0, 0), (3, 2, 12), (1, 1, 1))
    means = net.mean("means", net.arithmetic("SUB", "difference", average, corner), (1, 2))
    return net, net.quantize("narrowed", means, kind="int8")


def lstm(name="lstm", kind="int8"):
    """Sequences of nine steps; the state goes on from sample to sample."""
    net = Network(name, 18, kind)
    sound = net.input((9, 6))
    first = net.lstm("first", sound, 10)
    second = net.lstm("second", first, 7, cell_clip=0.9)
    return net, net.fully_connected("scores", net.reshape("flat", second, (63,)), 5)


def lstm_16x8():
    return lstm("lstm_16x8", "int16")


def svdf():
    """Two layers whose states are of 16 bits, one of 8."""
    net = Network("svdf", 19, samples=20)
    sound = net.input((14,))
    first = net.svdf("first", sound, 12, 7, 2)
    hidden = net.fully_connected("hidden", first, 10)
    second = net.svdf("second", hidden, 9, 5, 1, activation=None)
    third = net.svdf("third", net.fully_connected("between", second, 11), 8, 4, 2, state_kind="int8")
    return net, net.function("SOFTMAX", "probabilities", net.fully_connected("scores", third, 6))


def resized():
    """Images of sizes in which float32 finds another nearest place than real numbers do."""
    net = Network("resized", 20)
    image = net.input((14, 26, 1))
    net.resize("corners", image, (23, 15), align_corners=True)
    net.resize("halves", image, (11, 41), half_pixel=True)
    net.resize("plain", image, (19, 11))
    net.resize("nearest_corners", image, (23, 15), align_corners=True, nearest=True)
    net.resize("nearest_halves", image, (23, 40), half_pixel=True, nearest=True)
    net.resize("nearest", image, (28, 22), nearest=True)
    return net, net.conv("scores", net.resize("doubled", image, (28, 52), half_pixel=True), 2, (5, 5), strides=(5, 5), padding="valid")


def picked():
    """Values picked by comparison or by place; sums and magnitudes."""
    net = Network("picked", 21)
    image = net.input((6, 4, 4))
    conv = net.conv("conv", image, 4, (3, 3))
    like = net.quantize("like", image, like=conv)
    larger = net.extreme("MAXIMUM", "larger", conv, like)
    smaller = net.extreme("MINIMUM", "smaller", like, larger)
    net.reduction("REDUCE_MAX", "largest", conv, (1, 3))
    net.reduction("REDUCE_MIN", "least", conv, (2,), keep_dims=True)
    net.reduction("SUM", "sums", conv, (1, 2))
    net.reduction("SUM", "sum_of_channels", like, (3,), keep_dims=True)
    net.arg_max("places", conv, 3)
    net.function("ABS", "magnitudes", conv)
    left, right = net.split_v("parts", larger, (1, 3), 2)
    mirrored = net.mirror_pad("mirrored", right, ((2, 1), (0, 2), (0, 0)), symmetric=False)
    net.mirror_pad("repeated", left, ((3, 0), (1, 1), (1, 2)), symmetric=True)
    net.broadcast("spread", left, (6, 5, 4))
    net.blocks("DEPTH_TO_SPACE", "image", net.blocks("SPACE_TO_DEPTH", "depth", smaller, 2), 4)
    chosen = net.gather("chosen", mirrored, (4, 0, 2), 1)
    rows = net.unpack("rows", chosen, 1)
    return net, net.pack("packed", rows[::-1], 2)


NETWORKS = (residual, depthwise, branches, activations, moving, moving_16x8, fully_connected_16x8, conv_16x8, lstm, lstm_16x8, svdf, resized,
            picked)
