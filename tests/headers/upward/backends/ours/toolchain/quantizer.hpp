// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "limits.hpp"
