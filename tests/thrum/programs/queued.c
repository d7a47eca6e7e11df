/* SPDX-License-Identifier: ISC */
/*
 * queued FILE: records a server by a clock that stands still but for what it is told, so that each
 * recording is the same. Requests come every 4 ms and queue for a database. One lookup holds it for
 * 60 ms, so those that come meanwhile wait; one fails, and one never ends.
 */
#include <stdio.h>
#include <thrum.h>

enum {
	REQUESTS = 120,
	FORGOTTEN = 30,
	SLOW = 50,
	FAILS = 80,
	US = 1000,
	MS = 1000 * US,
};

/* In sixteenths of a tick of 1 ns. */
static uint64_t now;

static uint64_t read_clock(void *context)
{
	(void)context;
	return now;
}

/* Sleeps until a time. */
static void go_to(int64_t ns)
{
	if (now >= (uint64_t)ns * 16)
		return;
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	now = (uint64_t)ns * 16;
	thrum_resume();
}

static void later(int64_t ns)
{
	now += (uint64_t)ns * 16;
}

static thrum_task loop, database, requests[REQUESTS], lookups[REQUESTS];
static int64_t frees; /* the database, at this time */

static void begin_lookup(int i)
{
	thrum_task_switch(lookups[i]);
	thrum_lock_acquired(database);
	later(200 * US);
	thrum_task_switch(loop);
	frees = (int64_t)(now / 16) + (i == SLOW ? 60 * MS : (1 + i % 3) * MS);
}

static void arrive(int i, bool is_free)
{
	char name[32];

	go_to((i + 1) * 4LL * MS);
	snprintf(name, sizeof name, i % 4 ? "GET /user/%d" : "PUT /cart/%d", i);
	requests[i] = thrum_task_create(THRUM_KIND_PROMISE, name);
	thrum_task_should_resolve(requests[i]);
	later(10 * US);
	thrum_task_switch(requests[i]);
	later((i % 7) * 30 * US);
	snprintf(name, sizeof name, "lookup %d", i);
	lookups[i] = thrum_task_create(THRUM_KIND_PROMISE, name);
	thrum_task_wait(requests[i], lookups[i]);
	if (!is_free)
		thrum_task_wait(lookups[i], database);
	later(20 * US);
	thrum_task_switch(loop);
	if (is_free)
		begin_lookup(i);
}

static void answer(int i)
{
	go_to(frees);
	thrum_task_switch(lookups[i]);
	thrum_lock_released(database);
	if (i != FORGOTTEN) {
		thrum_task_resolve(lookups[i]);
		thrum_task_switch(requests[i]);
		thrum_task_read(requests[i], lookups[i]);
		later((1 + i % 5) * 100 * US);
		if (i == FAILS)
			thrum_task_fail(requests[i], "connection reset");
		else
			thrum_task_resolve(requests[i]);
	}
	thrum_task_switch(loop);
}

int main(int argc, char **argv)
{
	const struct thrum_clock clock = {read_clock, NULL, 1000000000};
	const struct thrum_config config = {.file = argv[1], .size = 1 << 20, .clock = &clock};
	int error = argc > 1 ? thrum_start(&config) : -THRUM_E_ARGUMENT;

	if (error < 0) {
		fprintf(stderr, "queued: error %d\n", -error);
		return 1;
	}
	loop = thrum_task_create(THRUM_KIND_THREAD, "loop");
	database = thrum_task_create(THRUM_KIND_LOCK, "database");
	thrum_task_switch(loop);
	later(100 * US);
	for (int came = 0, served = 0; served < REQUESTS;) {
		if (came < REQUESTS && (came == served || (came + 1) * 4LL * MS <= frees)) {
			arrive(came, came == served);
			came++;
		} else {
			answer(served);
			if (++served < came)
				begin_lookup(served);
		}
	}
	go_to((REQUESTS + 10) * 4LL * MS);
	thrum_log("end");
	thrum_stop();
	return 0;
}
