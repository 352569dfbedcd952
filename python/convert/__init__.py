# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Recorded suites as cases.json files of lastbit: one module per vendor; see convert_vectors.py and docs/vectors.md."""
