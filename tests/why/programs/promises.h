/* SPDX-License-Identifier: ISC */
/* A loop for the programs on promises; most of them never need to run it. */
#ifndef PROMISES_H
#define PROMISES_H

#include "timetable.h"
#include <thrum/promise.h>
#include <uv.h>

static inline struct thrum_loop *make_loop(void)
{
	static uv_loop_t uv;
	struct thrum_loop *loop;

	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		abort();
	return loop;
}

static inline void end_loop(struct thrum_loop *loop)
{
	uv_loop_t *uv = thrum_loop_uv(loop);

	thrum_loop_destroy(loop);
	uv_run(uv, UV_RUN_DEFAULT);
	uv_loop_close(uv);
}

#endif
