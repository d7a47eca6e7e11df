/* SPDX-License-Identifier: ISC */
/* A module that needs libuv. */
#define _GNU_SOURCE
#include <stdio.h>
#include <uv.h>

void run_module(void);

static void reload_tick(uv_timer_t *timer)
{
	puts("tick");
	uv_close((uv_handle_t *)timer, NULL);
}

void run_module(void)
{
	uv_loop_t loop;
	uv_timer_t timer;

	uv_loop_init(&loop);
	uv_timer_init(&loop, &timer);
	uv_timer_start(&timer, reload_tick, 1, 0);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
}
