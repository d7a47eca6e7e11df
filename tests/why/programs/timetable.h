/* SPDX-License-Identifier: ISC */
/*
 * A clock and a schedule for the programs of this folder. Each program is two: the broken one and,
 * with the argument `healthy`, its twin. The variable `broken` tells which one runs.
 *
 *   PROGRAM FILE [healthy] [rename] [shift=MS] [ids=SEED] [flood=N] [jitter=SEED]
 *
 * A program goes from time to time: at(20) is the time 20 ms after the beginning. Each event takes
 * another microsecond, so that no two have the same time. If there are several lanes, the one with
 * the earliest next time goes on, so that they always do the same in the same order.
 *
 * The further arguments must not change the findings: rename spells all labels backwards, shift
 * begins later, ids skips some numbers before each task, and flood overwrites everything recorded
 * before the Nth time (after a flood, fewer findings are right too). jitter makes each time later, by
 * less than 1 ms.
 */
#ifndef TIMETABLE_H
#define TIMETABLE_H

#define _GNU_SOURCE /* for uv.h */

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define LANES 5
#define NEVER UINT64_MAX
#define US 1000u
#define MS (1000 * US)

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t moved;
	uint64_t now, step;  /* ns */
	uint64_t due[LANES]; /* the time at which each lane goes on */
	pthread_t thread[LANES];
	enum {
		HERE,
		LEAVING,
		LEFT
	} state[LANES];
	unsigned lanes;
	uint64_t shift, ids, jitter; /* the arguments */
	unsigned flood, moments;
	bool rename, healthy;
} timetable = {.mutex = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER, .lanes = 1};

static _Thread_local unsigned this_lane;

#define broken (!timetable.healthy)

/* The program itself. When it returns, its other lanes are waited for and recording stops. */
static void story(void);

/* ---- Names and numbers ----------------------------------------------------------------------- */

/* Level 0 gives ids and records no events. This changes the mask itself, so that the recording doesn't
 * say that something may be missing: nothing is. */
static inline void skip_ids(void)
{
	if (!timetable.ids)
		return;
	timetable.ids = timetable.ids * 6364136223846793005u + 1442695040888963407u;
	uint32_t mask = __atomic_fetch_and(&thrum__control.mask[0], ~14u, __ATOMIC_SEQ_CST);

	for (unsigned n = timetable.ids >> 58; n > 0; n--)
		thrum_task_resolve(thrum_task_create(THRUM_KIND_TASK, NULL));
	__atomic_fetch_or(&thrum__control.mask[0], mask & 14u, __ATOMIC_SEQ_CST);
}

/* A label as it is to be recorded; valid until the next one. */
static inline const char *name(const char *label)
{
	static _Thread_local char reversed[64];
	size_t length = strlen(label);

	skip_ids();
	if (!timetable.rename || length >= sizeof(reversed))
		return label;
	for (size_t i = 0; i < length; i++)
		reversed[i] = label[length - 1 - i];
	reversed[length] = '\0';
	return reversed;
}

/* thrum_task_create with the arguments above. TASK(LOCK, "log") */
#define TASK(kind, label) thrum_task_create(THRUM_KIND_##kind, name(label))
#define TASK_WAITING(kind, label, source) \
	thrum_task_create_waiting(THRUM_KIND_##kind, name(label), source)

/* ---- Time ------------------------------------------------------------------------------------ */

static inline uint64_t timetable_read(void *unused)
{
	(void)unused;
	return __atomic_fetch_add(&timetable.now, timetable.step, __ATOMIC_RELAXED);
}

/* Since the beginning, in ms. */
static inline unsigned now_ms(void)
{
	return (unsigned)((__atomic_load_n(&timetable.now, __ATOMIC_RELAXED) - timetable.shift) /
		MS);
}

static inline bool is_next(unsigned lane)
{
	for (unsigned i = 0; i < timetable.lanes; i++)
		if (timetable.due[i] < timetable.due[lane] ||
			(timetable.due[i] == timetable.due[lane] && i < lane))
			return false;
	return true;
}

/* Waits for the lanes that are leaving: they must be gone before the time goes on, as they record
 * their end. Returns whether all lanes but the first are gone. Call it with the mutex locked. */
static inline bool join_leaving(void)
{
	bool all = true;

	for (unsigned i = 1; i < timetable.lanes; i++) {
		if (timetable.state[i] == LEAVING) {
			pthread_join(timetable.thread[i], NULL);
			timetable.state[i] = LEFT;
		}
		all = all && timetable.state[i] == LEFT;
	}
	return all;
}

static inline void wait_for_turn(uint64_t time)
{
	pthread_mutex_lock(&timetable.mutex);
	timetable.due[this_lane] = time;
	pthread_cond_broadcast(&timetable.moved);
	while (!is_next(this_lane) || time == NEVER)
		pthread_cond_wait(&timetable.moved, &timetable.mutex);
	join_leaving();
	if (__atomic_load_n(&timetable.now, __ATOMIC_RELAXED) < time)
		__atomic_store_n(&timetable.now, time, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&timetable.mutex);
}

/* Records more events than the smallest recording holds, all at one time. */
static inline void overwrite_all(void)
{
	struct thrum_counter *noise = thrum_counter_create("noise", THRUM_COUNTER_GAUGE);

	timetable.step = 0;
	for (unsigned i = 0; i < 1u << 17; i++)
		thrum_counter_set(noise, i);
	timetable.step = 1 * US;
}

/* Goes on at a time in ms after the beginning, or now if that time is over. */
static inline void at(unsigned ms)
{
	uint64_t late = 0;

	if (timetable.jitter) {
		timetable.jitter = timetable.jitter * 6364136223846793005u + 1442695040888963407u;
		late = (timetable.jitter >> 33) % (900 * US);
	}
	wait_for_turn(timetable.shift + (uint64_t)ms * MS + late);
	if (timetable.flood && ++timetable.moments == timetable.flood)
		overwrite_all();
}

/* Runs nothing on this lane until then. */
static inline void idle_until(unsigned ms)
{
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	at(ms);
	thrum_resume();
}

/* Only a heartbeat shows until then that the program lives. */
static inline void beat_until(unsigned ms)
{
	for (unsigned beat = now_ms() + 250; beat < ms; beat += 250) {
		thrum_task timer = TASK(TIMER, "heartbeat");

		thrum_task_due(timer, 250 * MS);
		idle_until(beat);
		thrum_task_resolve(timer);
	}
	idle_until(ms);
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

/* Keeps this lane to the end, but does nothing on it. */
static inline void stay(void)
{
	wait_for_turn(NEVER);
}

struct timetable_lane {
	unsigned number;
	const char *name;
	void (*run)(void);
};

static inline void *run_lane(void *data)
{
	struct timetable_lane lane = *(struct timetable_lane *)data;

	free(data);
	this_lane = lane.number;
	wait_for_turn(timetable.due[lane.number]);
	thrum_lane_name(name(lane.name));
	lane.run();
	pthread_mutex_lock(&timetable.mutex);
	timetable.due[this_lane] = NEVER;
	timetable.state[this_lane] = LEAVING;
	pthread_cond_broadcast(&timetable.moved);
	pthread_mutex_unlock(&timetable.mutex);
	return NULL;
}

/* Starts another lane, from the next time on. Only the first lane may call it. */
static inline void start_lane(const char *lane_name, void (*run)(void))
{
	struct timetable_lane *lane = malloc(sizeof(*lane));

	if (!lane || timetable.lanes == LANES)
		abort();
	*lane = (struct timetable_lane){timetable.lanes, lane_name, run};
	pthread_mutex_lock(&timetable.mutex);
	timetable.due[timetable.lanes] = timetable.due[0];
	if (pthread_create(&timetable.thread[timetable.lanes], NULL, run_lane, lane))
		abort();
	timetable.lanes++;
	pthread_mutex_unlock(&timetable.mutex);
}

static inline void join_lanes(void)
{
	pthread_mutex_lock(&timetable.mutex);
	timetable.due[0] = NEVER;
	pthread_cond_broadcast(&timetable.moved);
	while (!join_leaving())
		pthread_cond_wait(&timetable.moved, &timetable.mutex);
	pthread_mutex_unlock(&timetable.mutex);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

/* Ends the program as if it were killed because it hangs. */
static inline void killed(void)
{
	raise(SIGKILL);
}

static inline int take_argument(const char *argument)
{
	unsigned long value;

	if (strcmp(argument, "healthy") == 0)
		timetable.healthy = true;
	else if (strcmp(argument, "rename") == 0)
		timetable.rename = true;
	else if (sscanf(argument, "shift=%lu", &value) == 1)
		timetable.shift = (uint64_t)value * MS;
	else if (sscanf(argument, "ids=%lu", &value) == 1)
		timetable.ids = value;
	else if (sscanf(argument, "jitter=%lu", &value) == 1)
		timetable.jitter = (uint64_t)value;
	else if (sscanf(argument, "flood=%lu", &value) == 1)
		timetable.flood = (unsigned)value;
	else
		return -1;
	return 0;
}

int main(int argc, char **argv)
{
	/* A tick has 16 ns, so that its sixteenths are ns. */
	struct thrum_clock clock = {timetable_read, NULL, 62500000};
	struct thrum_config config = {.file = argv[1], .size = 256 << 10, .clock = &clock};

	for (int i = 2; i < argc; i++)
		if (take_argument(argv[i]))
			return 64;
	timetable.due[0] = timetable.now = timetable.shift;
	if (argc < 2 || thrum_start(&config))
		return 2;
	timetable.step = 1 * US;
	thrum_lane_name(name("main"));
	story();
	join_lanes();
	thrum_stop();
	return 0;
}

#endif
