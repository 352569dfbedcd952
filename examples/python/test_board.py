# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""What a board computed, held against a backend in a test; run it with pytest."""
import pathlib

import numpy as np
import pytest

import lastbit
from lastbit.pytest_plugin import assert_matches

DIGITS = pathlib.Path(__file__).resolve().parents[1] / "digits"


@pytest.fixture
def image():
    return np.load(DIGITS / "test_images.npy")[0]


@pytest.fixture
def board(image):
    """In place of what the board computed: a dict of arrays, a folder of its files does as well in lastbit.compare."""
    return dict(lastbit.run(DIGITS / "model.json", "imx8mp", image, keep_all=True))


def test_the_board_is_a_vipnano(board, image):
    assert_matches(board, lastbit.run(DIGITS / "model.json", "vipnano_v8", image, keep_all=True), max_lsb=0, max_share=0)


def test_it_is_no_cpu_and_the_failure_says_why(board, image):
    with pytest.raises(AssertionError, match="(?s)conv1: 2 of 512 .*computed just so by vipnano_v8"):
        assert_matches(board, lastbit.run(DIGITS / "model.json", "tflite_double", image, keep_all=True), max_lsb=1, max_share=1e-3)
