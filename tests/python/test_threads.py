# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Several threads, and Ctrl-C."""
import concurrent.futures
import os
import signal
import threading
import time

import numpy as np
import pytest

import lastbit


def test_one_emulator_in_many_threads(digits, images):
    emulator = lastbit.Emulator(digits, "vipnano_v8")
    expected = emulator.run(images, keep_all=True)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        traces = list(pool.map(lambda i: emulator.run(images[10 * i:10 * i + 10], keep_all=True, threads=2), range(36)))
    for i, trace in enumerate(traces):
        for name, array in trace.items():
            np.testing.assert_array_equal(array, expected[name][10 * i:10 * i + 10])


def test_different_questions_at_once(digits, images):
    def ask(i):
        devices = ["vipnano_v8", "tflite_single", "xnnpack"]
        report = lastbit.compare(digits, "tflite_double", lastbit.backend(devices[i % 3], keep={"logits": "tflite_double"}), images[:20])
        with pytest.raises(lastbit.Error):
            lastbit.backend(f"no such {i}")
        return report

    expected = [ask(i) for i in range(3)]
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert [report == expected[i % 3] for i, report in enumerate(pool.map(ask, range(12)))] == [True] * 12


def test_other_threads_run_meanwhile(digits):
    done, ready, counted = threading.Event(), threading.Event(), []

    def count():
        ready.set()
        while not done.wait(0.001):
            counted.append(1)

    thread = threading.Thread(target=count)
    thread.start()
    ready.wait()
    before = len(counted)
    lastbit.certify(digits, "tflite_double", "vipnano_v8")
    during = len(counted) - before
    done.set()
    thread.join()
    assert during > 1


def test_ctrl_c_ends_what_has_progress(digits):
    calls = []

    def interrupt(done, all):
        calls.append(done)
        if len(calls) == 1:
            signal.raise_signal(signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            lastbit.certify(digits, "tflite_double", "vipnano_v8", progress=interrupt)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert len(calls) == 1


@pytest.mark.parametrize("threads", [1, 3])
def test_ctrl_c_ends_what_has_none(digits, images, threads):
    begin = time.monotonic()
    lastbit.run(digits, "vipnano_v8", images, threads=threads)
    alone = time.monotonic() - begin
    many = np.broadcast_to(images, (400, *images.shape)).reshape(-1, *images.shape[1:])
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            lastbit.run(digits, "vipnano_v8", many, threads=threads)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, handler)
    assert time.monotonic() - begin < 200 * alone  # the whole of it takes 400 times as long


def test_an_exception_of_a_callback_arrives(digits):
    def fail(done, all):
        raise ZeroDivisionError(f"at {done} of {all}")

    for threads in (1, 4):
        with pytest.raises(ZeroDivisionError, match="at"):
            lastbit.certify(digits, "tflite_double", "vipnano_v8", threads=threads, progress=fail)
