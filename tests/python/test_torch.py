# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""PyTorch modules: what they become computes PyTorch's own output to the last bit."""
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import lastbit

torch = pytest.importorskip("torch", reason="skipped: there is no torch")
import lastbit.torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.ao import quantization  # noqa: E402


@pytest.fixture(autouse=True)
def qnnpack():
    if "qnnpack" not in torch.backends.quantized.supported_engines:
        pytest.skip("skipped: this torch has no engine qnnpack")
    before, threads = torch.backends.quantized.engine, torch.get_num_threads()
    torch.manual_seed(7)
    torch.set_num_threads(1)
    torch.backends.quantized.engine = "qnnpack"
    yield
    torch.backends.quantized.engine = before
    torch.set_num_threads(threads)


class Residual(nn.Module):
    """Every kind of layer that engine qnnpack and its backend have."""

    def __init__(self):
        super().__init__()
        self.enter, self.leave = quantization.QuantStub(), quantization.DeQuantStub()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.wide = nn.Sequential(nn.Conv2d(16, 16, 5, padding=2, groups=16), nn.ReLU())
        self.point = nn.Conv2d(16, 16, 1)
        self.grouped = nn.Conv2d(16, 8, 3, padding=1, groups=2, bias=False)
        self.most, self.average, self.swish, self.leaky = nn.MaxPool2d(2), nn.AvgPool2d(2), nn.Hardswish(), nn.LeakyReLU(0.125)
        self.sum, self.product = nn.quantized.FloatFunctional(), nn.quantized.FloatFunctional()
        self.gate, self.whole, self.last = nn.Sigmoid(), nn.AdaptiveAvgPool2d(1), nn.Linear(8, 10)

    def forward(self, image):
        x = self.stem(self.enter(image))
        x = self.sum.add_relu(x, self.point(self.wide(x)))
        x = nn.functional.relu(self.most(x))
        x = self.leaky(self.grouped(self.swish(x)))
        x = self.product.mul(x, self.gate(x))
        x = torch.flatten(self.whole(self.average(x)), 1)
        return self.leave(self.last(x))


def quantised(module, images):
    module.eval()
    module.qconfig = quantization.get_default_qconfig("qnnpack")
    prepared = quantization.prepare(module)
    prepared(images)
    return quantization.convert(prepared)


@pytest.fixture
def images():
    return torch.randn(12, 3, 24, 20)


@pytest.fixture
def residual(images):
    module = Residual().eval()
    return quantised(quantization.fuse_modules(module, [["stem.0", "stem.1", "stem.2"], ["wide.0", "wide.1"]]), images)


def bits(tensor):
    return (tensor.int_repr() if tensor.is_quantized else tensor).detach().numpy()


def test_an_eager_network_in_an_evaluation_loop(residual, images):
    forward = lastbit.torch.emulate(residual, "pytorch_qnnpack", keep_all=True)
    for first in range(0, 12, 5):  # batches of 5, 5 and 2
        batch = images[first:first + 5]
        np.testing.assert_array_equal(bits(forward(batch)), bits(residual(batch)))
    kinds = {operation.kind for operation in forward.model.operations}
    assert {"conv2d", "depthwise_conv2d", "fully_connected", "add", "mul", "max_pool2d", "average_pool2d", "global_average_pool", "clip"} <= kinds
    assert forward.trace["last"].dtype == np.uint8 and "wide.0 (NHWC)" in forward.trace
    assert not forward(images[:1]).requires_grad and len(list(forward.parameters())) == 0


def test_it_is_a_model_for_every_question(residual, images):
    model = lastbit.torch.model_from(residual, images)
    assert model.inputs[0].shape == (1, 3, 24, 20) and model.tensor("last").scales
    report = lastbit.compare(model, "pytorch_qnnpack", "pytorch_x86", images.numpy())
    assert {layer.name for layer in report.layers} >= {"stem.0 (NHWC)", "wide.0 (NHWC)", "last"}


@pytest.mark.parametrize("engine_is_scripted", [False, True])
def test_fx_graph_mode_and_scripts(images, engine_is_scripted):
    from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

    class Plain(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.last = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3, padding=1), nn.Linear(8, 4)

        def forward(self, image):
            x = nn.functional.relu(self.first(image))
            y = nn.functional.max_pool2d(self.second(x) + x, 2)
            return self.last(y.mean([2, 3])), y

    prepared = prepare_fx(Plain().eval(), quantization.get_default_qconfig_mapping("qnnpack"), (images,))
    prepared(images)
    module = convert_fx(prepared)
    called = torch.jit.trace(module, images[:1]) if engine_is_scripted else module
    scores, image = lastbit.torch.emulate(called, "pytorch_qnnpack")(images)
    np.testing.assert_array_equal(bits(scores), bits(module(images)[0]))
    np.testing.assert_array_equal(bits(image), bits(module(images)[1]))


def test_codes_come_out_where_the_module_returns_codes(images):
    class Codes(nn.Module):
        def __init__(self):
            super().__init__()
            self.enter, self.conv = quantization.QuantStub(), nn.Conv2d(3, 4, 3)

        def forward(self, image):
            return {"codes": self.conv(self.enter(image))}

    module = quantised(Codes(), images)
    mine, theirs = lastbit.torch.emulate(module, "pytorch_qnnpack")(images)["codes"], module(images)["codes"]
    assert mine.is_quantized and (mine.q_scale(), mine.q_zero_point()) == (theirs.q_scale(), theirs.q_zero_point())
    np.testing.assert_array_equal(bits(mine), bits(theirs))


def test_bounds_of_codes(images):
    """Straight behind quantize: engine qnnpack of torch 1.13.1 puts the values of images with channels last elsewhere."""
    class Bounded(nn.Module):
        def __init__(self):
            super().__init__()
            self.enter, self.leave = quantization.QuantStub(), quantization.DeQuantStub()

        def forward(self, image):
            x = self.enter(2 * image)
            return self.leave(nn.functional.relu6(x)), self.leave(nn.functional.hardtanh(x, -1.3, 0.7)), self.leave(nn.functional.relu(x))

    module = quantised(Bounded(), images)
    for mine, theirs in zip(lastbit.torch.emulate(module, lastbit.backend("pytorch_qnnpack", fallback="float"))(images), module(images)):
        np.testing.assert_array_equal(bits(mine), bits(theirs))


def test_movement_keeps_codes(images):
    class Moving(nn.Module):
        def __init__(self):
            super().__init__()
            self.enter, self.leave, self.conv = quantization.QuantStub(), quantization.DeQuantStub(), nn.Conv2d(3, 4, 1)

        def forward(self, image):
            left, right = torch.split(self.conv(self.enter(image)), 2, dim=1)
            x = left[:, :, 2:-2:2].permute(0, 2, 3, 1)[:, 1]
            return self.leave(x.transpose(1, 2).unsqueeze(1).reshape(len(image), -1)), self.leave(right[:, 0])

    module = quantised(Moving(), images)
    for mine, theirs in zip(lastbit.torch.emulate(module, "pytorch_qnnpack")(images), module(images)):
        np.testing.assert_array_equal(bits(mine), bits(theirs))


def test_a_float_network_is_quantised_by_a_devices_rules(images):
    module = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU6(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(960, 5)).eval()
    module[1].running_mean.uniform_(-1, 1)
    module[1].running_var.uniform_(0.5, 2)
    model = lastbit.torch.model_from(module, images)
    np.testing.assert_allclose(lastbit.run(model, "float", images.numpy()).outputs[0][:, 0], module(images).detach().numpy(), rtol=1e-4, atol=1e-4)
    assert lastbit.quantize(model, "vipnano_v8", images.numpy()).model.tensors[0].scales


def test_an_exported_program(images):
    """Of torch.export and PT2E quantisation, which Debian 13's torch has: arithmetic between dequantize and quantize becomes operations on codes."""
    torch_export = pytest.importorskip("torch.export", reason="skipped: this torch has no torch.export")
    export = torch_export.export
    pt2e = pytest.importorskip("torch.ao.quantization.quantize_pt2e")
    xnnpack = pytest.importorskip("torch.ao.quantization.quantizer.xnnpack_quantizer")
    module = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, groups=8), nn.Flatten(), nn.Linear(640, 10)).eval()
    quantizer = xnnpack.XNNPACKQuantizer().set_global(xnnpack.get_symmetric_quantization_config(is_per_channel=True))
    captured = getattr(torch_export, "export_for_training", export)(module, (images[:1],))
    prepared = pt2e.prepare_pt2e(captured.module(), quantizer)
    prepared(images[:1])
    program = export(pt2e.convert_pt2e(prepared), (images[:1],))
    forward = lastbit.torch.emulate(program, "xnnpack", keep_all=True)
    mine, theirs = forward(images[:4]), torch.cat([program.module()(image[None]) for image in images[:4]])
    kinds = [operation.kind for operation in forward.model.operations]
    assert {"conv2d", "depthwise_conv2d", "max_pool2d", "fully_connected"} <= set(kinds) and kinds.count("quantize") == 1
    scale = next(tensor.scales[0] for tensor in reversed(forward.model.tensors) if tensor.scales and not tensor.is_constant)
    assert (mine - theirs).abs().max() <= 2 * scale


def test_mistakes_name_the_layer(images):
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.GELU()).eval()
    with pytest.raises(lastbit.Error) as raised:
        lastbit.torch.model_from(module, images)
    assert (raised.value.code, raised.value.where) == ("unsupported_operation", "1") and "aten::gelu" in raised.value.message
    with pytest.raises(lastbit.Error, match="training mode"):
        lastbit.torch.model_from(module.train(), images)
    with pytest.raises(lastbit.Error, match="an example of each input"):
        lastbit.torch.model_from(module.eval())
    with pytest.raises(lastbit.Error, match="is no module"):
        lastbit.torch.model_from("model.pt", images)


# In a process of its own: engine onednn of torch 1.13.1 computes single layers with another layer's zero point where a process runs many. Without biases, which
# it adds as real numbers.
ONEDNN = """
import torch
from torch import nn
from torch.ao import quantization
import lastbit.torch
torch.manual_seed(3)
torch.backends.quantized.engine = "onednn"
module = nn.Sequential(quantization.QuantStub(), nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.ReLU(), nn.Conv2d(8, 8, 3, groups=8, bias=False),
                       nn.AvgPool2d(2), nn.Flatten(), nn.Linear(8 * 7 * 7, 10, bias=False), quantization.DeQuantStub()).eval()
module.qconfig = quantization.get_default_qconfig("fbgemm")
prepared = quantization.prepare(quantization.fuse_modules(module, [["1", "2"]]))
images = torch.randn(60, 3, 16, 16)
prepared(images)
module = quantization.convert(prepared)
forward = lastbit.torch.emulate(module, "pytorch_x86")
print("differing:", (forward(images) != module(images)).sum().item(), "of", module(images).numel())
"""


def test_engine_onednn():
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    if "onednn" not in torch.backends.quantized.supported_engines or "avx512_vnni" not in flags:
        pytest.skip("skipped: this torch has no engine onednn, or this processor no avx512_vnni")
    done = subprocess.run([sys.executable, "-c", ONEDNN], capture_output=True, text=True, check=True)
    assert done.stdout == "differing: 0 of 600\n"
