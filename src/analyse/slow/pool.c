/* SPDX-License-Identifier: ISC */
/* Tells when a request of libuv was queued, as works had all threads of its pool. */
#include <string.h>

#include "analyse/slow/parts.h"

#define THREADS_MIN 4  /* of libuv's pool, unless the environment says otherwise */
#define TIMES_MAX 256  /* times at which the pool is looked at for one request */
#define OWN_PART 10    /* of its time: it ends that soon once a thread is free */
#define RUNS_BETWEEN 2 /* between works, of the thread's own task */
#define RUNS_OF_ONE 64 /* of one work, between which it is blocked */

/* The pool just before some time. */
struct pool {
	unsigned threads;
	int64_t full_since,
		full_until; /* all had works between these, if the first is before the second */
	uint32_t first;     /* the work that ended first */
};

/* Whether the thread pool does a request, as its name tells: these have no runs of their own. */
static bool is_queued(const struct thrum__model *model, uint32_t task)
{
	const char *name = thrum__model_task_name(model, task, NULL);

	return THRUM__TASK(model, task, kind) == THRUM_KIND_REQUEST &&
		(strncmp(name, "file ", 5) == 0 || strncmp(name, "getaddrinfo ", 12) == 0);
}

/* A work on a lane of the pool: a request that another lane made. */
struct work {
	uint32_t task; /* NONE: there is none */
	int64_t from, to;
};

/* A lane's last work that began before a time. One that is blocked has several runs; it ends with the last,
 * or at that time. */
static struct work last_work(const struct thrum__slow_walk *walk, uint32_t lane, int64_t before)
{
	const struct thrum__model *model = walk->model;
	const struct thrum__slices *runs = &walk->paths->lane_runs;
	uint32_t i = thrum__slow_rows_before(model, runs, lane, before, thrum__slow_run_start);
	struct work work = {.task = THRUM__NONE};

	for (int looked = 0; i > runs->first[lane] && looked < RUNS_BETWEEN; looked++) {
		uint32_t run = runs->rows[--i], task = THRUM__RUN(model, run, task);

		if (!thrum__model_has_row(&model->tasks, task) ||
			THRUM__TASK(model, task, kind) != THRUM_KIND_REQUEST ||
			THRUM__TASK(model, task, lane) == lane)
			continue;
		work = (struct work){task, THRUM__RUN(model, run, start),
			THRUM__RUN(model, run, end)};
		if (i + 1 < runs->first[lane + 1] &&
			THRUM__RUN(model, runs->rows[i + 1], task) == task)
			work.to = before;
		break;
	}
	for (int looked = 0; i > runs->first[lane] && looked < RUNS_OF_ONE &&
		work.task != THRUM__NONE && THRUM__RUN(model, runs->rows[i - 1], task) == work.task;
		looked++)
		work.from = THRUM__RUN(model, runs->rows[--i], start);
	return work;
}

static struct pool look(const struct thrum__slow_walk *walk, int64_t before)
{
	struct pool pool = {.full_since = INT64_MIN, .full_until = before, .first = THRUM__NONE};

	for (uint32_t lane = 0; lane < walk->model->lane_count; lane++) {
		struct work work = last_work(walk, lane, before);

		if (work.task == THRUM__NONE)
			continue;
		pool.threads++;
		if (work.from > pool.full_since)
			pool.full_since = work.from;
		if (pool.first == THRUM__NONE || work.to < pool.full_until) {
			pool.first = work.task;
			if (work.to < before)
				pool.full_until = work.to;
		}
	}
	return pool;
}

bool thrum__slow_walk_pool(struct thrum__slow_walk *walk, const struct thrum__slow_piece *piece,
	int64_t from, int64_t to)
{
	struct pool pool;

	if (!is_queued(walk->model, piece->task))
		return false;
	pool = look(walk, to);
	if (to - pool.full_until > (to - from) / OWN_PART)
		return false;
	for (int i = 0; i < TIMES_MAX && pool.threads >= THREADS_MIN && pool.full_until > from;
		i++) {
		int64_t since = pool.full_since > from ? pool.full_since : from;

		since = since < pool.full_until ? since : pool.full_until;
		thrum__slow_part_add(walk, piece, pool.full_until, to, THRUM__DOING_WAITS,
			THRUM__NONE);
		thrum__slow_part_add(walk, piece, since, pool.full_until, THRUM__DOING_QUEUED,
			pool.first);
		to = since;
		pool = look(walk, to);
	}
	thrum__slow_part_add(walk, piece, from, to, THRUM__DOING_WAITS, THRUM__NONE);
	return true;
}
