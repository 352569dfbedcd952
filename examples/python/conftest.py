# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
pytest_plugins = ["lastbit.pytest_plugin"]  # not needed where lastbit was installed as a wheel
