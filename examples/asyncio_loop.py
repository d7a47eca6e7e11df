#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""A loop of Python's asyncio that records itself, through the C functions of libthrum (with cffi).

    thrum record --no-preload -o run.thrum -- python3 examples/asyncio_loop.py

Each asyncio.Task is a task of thrum: it runs while the loop runs a step of it, and it waits for the
future that the step awaited. thrum.h defines most calls inline; these here are the exported functions
behind them, which return at once while nothing is recorded.
"""

import asyncio
import ctypes.util
import os

from cffi import FFI

ffi = FFI()
ffi.cdef("""
struct thrum_site { const char *file, *function; uint32_t line, id; };
struct thrum_tag;
uint64_t thrum__create(struct thrum_site *, int kind, const char *label);
uint64_t thrum__enter(uint64_t task);
void thrum__switch(uint64_t task);
void thrum__wait(uint64_t waiter, uint64_t source);
void thrum__resolve(uint64_t task);
void thrum__fail(uint64_t task, const char *reason);
void thrum__cancel(uint64_t task);
""")
C = ffi.dlopen(os.environ.get("LIBTHRUM") or ctypes.util.find_library("thrum") or "libthrum.so.0")
KIND_PROMISE, KIND_FIBER = 15, 21


# The place of all calls, a struct thrum_site. It must live as long as the program.
FILE = ffi.new("char[]", __file__.encode())
FUNCTION = ffi.new("char[]", b"asyncio")
SITE = ffi.new("struct thrum_site *", {"file": FILE, "function": FUNCTION})


def id_of(future):
    """The thrum task of a future; a future that isn't a Task gets one when it is first awaited."""
    if not hasattr(future, "thrum_id"):
        future.thrum_id = C.thrum__create(SITE, KIND_PROMISE, b"future")
        future.add_done_callback(ended)
    return future.thrum_id


def ended(future):
    """Records how a future ended."""
    if future.cancelled():
        C.thrum__cancel(future.thrum_id)
    elif future.exception():
        C.thrum__fail(future.thrum_id, repr(future.exception()).encode())
    else:
        C.thrum__resolve(future.thrum_id)


class Recorded:
    """An awaitable around a coroutine, which records each step of it."""

    def __init__(self, inner, task):
        self.inner, self.task = inner, task

    def __await__(self):
        return self

    __iter__ = __await__

    def send(self, value):
        return self.step(self.inner.send, value)

    def __next__(self):
        return self.send(None)

    def throw(self, *error):
        return self.step(self.inner.throw, *error)

    def close(self):
        self.inner.close()

    def step(self, call, *arguments):
        before = C.thrum__enter(self.task)
        try:
            awaited = call(*arguments)
        finally:
            C.thrum__switch(before)
        if awaited is not None:
            C.thrum__wait(self.task, id_of(awaited))
        return awaited


def make_task(loop, coroutine, **options):
    """A task factory for asyncio."""
    name = options.get("name") or coroutine.__qualname__
    task_id = C.thrum__create(SITE, KIND_FIBER, name.encode())

    async def run():
        return await Recorded(coroutine, task_id)

    task = asyncio.Task(run(), loop=loop, **options)
    task.thrum_id = task_id
    task.add_done_callback(ended)
    return task


async def fetch(path, seconds):
    await asyncio.sleep(seconds)
    return f"{path}: done"


async def main():
    asyncio.get_running_loop().set_task_factory(make_task)
    pages = [asyncio.create_task(fetch(path, 0.01 * i)) for i, path in enumerate(("/a", "/b"))]
    for page in pages:
        print(await page)
    lost = asyncio.get_running_loop().create_future()
    waiter = asyncio.create_task(asyncio.wait_for(lost, 0.02))
    try:
        await waiter
    except asyncio.TimeoutError:
        print("nobody answered")


asyncio.run(main())
