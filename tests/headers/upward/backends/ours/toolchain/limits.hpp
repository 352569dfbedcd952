// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "high/high.hpp"
