// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/identify.hpp"

#include <algorithm>

#include "analysis/identify/conv_search.hpp"
#include "analysis/identify/other_search.hpp"
#include "analysis/identify/rule_tally.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "sheet/rule_table.hpp"
