# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""assert_matches, and golden arrays."""
import numpy as np
import pytest

import lastbit
from lastbit.pytest_plugin import assert_matches


def test_what_matches_and_what_does_not():
    expected = np.zeros(2000, np.int8)
    board = expected.copy()
    assert_matches(board, expected, max_lsb=0, max_share=0)
    board[7:9] = 1
    assert_matches(board, expected)  # 1 LSB in a share of 0.001
    board[9] = -1
    with pytest.raises(AssertionError, match=r"3 of 2000 values differ \(0.150%; 0.100% allowed\), by at most 1 LSB"):
        assert_matches(board, expected)
    board[7:10] = 0, 0, 2
    with pytest.raises(AssertionError, match=r"(?s)at most 2 LSB \(1 allowed\).*\+2: 1.*first at \[9\]: board 2, expected 0"):
        assert_matches(board, expected)


def test_what_cannot_be_compared_does_not_match():
    for board, expected in ((np.zeros(3), np.zeros(4)), (np.zeros(3, np.int8), np.zeros(3, np.float32)), ({"x": [1]}, {"y": [1]}), ({}, {"y": [1]})):
        with pytest.raises(AssertionError):
            assert_matches(board, expected)
    assert_matches(np.array([np.nan, 1]), np.array([np.nan, 1]))
    with pytest.raises(AssertionError, match="floats are compared exactly"):
        assert_matches(np.array([1.0]), np.nextafter([1.0], 2))


def test_a_failure_explains(digits, images):
    board = dict(lastbit.run(digits, "vipnano_v8", images[0], keep_all=True))
    expected = lastbit.run(digits, "tflite_double", images[0], keep_all=True)
    for more in ({}, {"inputs": images[0]}):  # a trace knows what computed it
        with pytest.raises(AssertionError, match="(?s)conv1: 2 of 512 .*computed just so by vipnano_v8"):
            assert_matches(board, expected, **more)
    with pytest.raises(AssertionError, match="(?s)conv1: 2 of 512 .*computed just so by vipnano_v8"):
        assert_matches(board, dict(expected), model=digits, backend="tflite_double")
    assert_matches({"conv1": board["conv1"]}, expected, max_lsb=1, max_share=0.01)


def test_golden_arrays(pytester):
    pytester.makeconftest('pytest_plugins = ["lastbit.pytest_plugin"]')
    test = pytester.makepyfile("import numpy as np\ndef test_it(lastbit_golden): lastbit_golden('conv1', np.arange(4, dtype=np.int8))")
    pytester.runpytest("-p", "no:cacheprovider").stdout.fnmatch_lines(["*--lastbit-update writes it*"])
    assert pytester.runpytest("-p", "no:cacheprovider", "--lastbit-update").ret == 0
    assert pytester.runpytest("-p", "no:cacheprovider").ret == 0
    test.write_text(test.read_text().replace("arange(4", "arange(1, 5"))
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["*4 of 4 values differ*"])
    assert result.ret == 1
