// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The constants of every device. docs/which-backend.md names the chips; backends/<vendor>/ states the evidence.
#pragma once

#include "lastbit/backends/ascend.hpp"
#include "lastbit/backends/bernoulli2.hpp"
#include "lastbit/backends/espressif.hpp"
#include "lastbit/backends/ethos_u.hpp"
#include "lastbit/backends/fbgemm.hpp"
#include "lastbit/backends/gap8.hpp"
#include "lastbit/backends/gemmini.hpp"
#include "lastbit/backends/ggml.hpp"
#include "lastbit/backends/gna.hpp"
#include "lastbit/backends/golden.hpp"
#include "lastbit/backends/k210.hpp"
#include "lastbit/backends/max78000.hpp"
#include "lastbit/backends/n2d2.hpp"
#include "lastbit/backends/n2d2_scaling.hpp"
#include "lastbit/backends/nvdla.hpp"
#include "lastbit/backends/onnxruntime.hpp"
#include "lastbit/backends/pytorch.hpp"
#include "lastbit/backends/rockchip.hpp"
#include "lastbit/backends/sophgo.hpp"
#include "lastbit/backends/tflite.hpp"
#include "lastbit/backends/tosa.hpp"
#include "lastbit/backends/vipnano.hpp"
#include "lastbit/backends/xnnpack.hpp"
