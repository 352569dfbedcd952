# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""What NPUs compute, to the last bit.

    import lastbit
    trace = lastbit.run("model.tflite", "vipnano_v8", image, keep_all=True)
    print(lastbit.compare("model.tflite", "tflite_double", "vipnano_v8", image))
"""
from . import layer, rules
from ._lastbit import version as __version__
from .arrays import Board
from .backend import Backend, BackendInfo, Device, Rule, RuleDifference, backend, backends, describe, diff
from .errors import Diagnostic, Error, InputWarning, MemoryRefused
from .model import Model, OperationInfo, TensorInfo, load_model, model_from
from .questions import (Identification, Quantization, advise, certify, check_certificate, compare, compare_traces, equal_scales, explain, host_path,
                        identify, info, matrix, prove, quantize, set_memory_budget, sweep)
from .report import Record, Report
from .rules import Overflow, Rounding
from .running import Assumption, Emulator, Events, RealInput, Trace, run
from .session import InferenceSession

__all__ = [
    "Assumption", "Backend", "BackendInfo", "Board", "Device", "Diagnostic", "Emulator", "Error", "Events", "Identification", "InferenceSession", "InputWarning",
    "MemoryRefused", "Model", "OperationInfo", "Overflow", "Quantization", "RealInput", "Record", "Report", "Rounding", "Rule", "RuleDifference", "TensorInfo", "Trace", "__version__",
    "advise", "backend", "backends", "certify", "check_certificate", "compare", "compare_traces", "describe", "diff", "equal_scales", "explain",
    "host_path", "identify", "info", "layer", "load_model", "matrix", "model_from", "prove", "quantize", "rules", "run", "set_memory_budget", "sweep",
]
