# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""The small networks of tests/vectors/networks: what they are, and the writers of their files."""
