"""A session in a child process, whatever other threads of the parent were doing when it was forked."""

from __future__ import annotations

import os
import threading
import time

import pytest

from workbench.session import Session

VOCAB = [b"a", b"b", b"ab", b"</s>"]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_finds_the_locks_of_a_session_open() -> None:
    session = Session('root ::= "a"* "b"', VOCAB)
    session.step("a")
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with session.inspect.held():
            held.set()
            over.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    child = os.fork()
    if child == 0:
        try:
            session.step("b")
            os._exit(0 if session.text == b"ab" else 3)
        finally:
            os._exit(4)
    try:
        for _ in range(6000):
            found, status = os.waitpid(child, os.WNOHANG)
            if found:
                break
            time.sleep(0.01)
        else:
            os.kill(child, 9)
            os.waitpid(child, 0)
            pytest.fail("the child waits for a lock that nobody holds")
    finally:
        over.set()
        thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
