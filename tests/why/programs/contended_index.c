/* SPDX-License-Identifier: ISC */
/*
 * A compaction holds the index for 200 ms at a time and takes it again as soon as one search has
 * had it, so that the searches queue. In the twin it holds the index for 2 ms at a time.
 */
#include "timetable.h"

#define SEARCHES 5

static thrum_task lock, compaction, searches[SEARCHES];
static bool waits[SEARCHES];

static void take(thrum_task task)
{
	THRUM_RUN (task)
		thrum_lock_acquired(lock);
}

static void give_back(thrum_task task)
{
	THRUM_RUN (task)
		thrum_lock_released(lock);
}

static void begin_searches(void)
{
	for (int i = 0; i < SEARCHES; i++) {
		if (waits[i])
			continue;
		searches[i] = TASK(FIBER, "search");
		THRUM_RUN (searches[i])
			thrum_task_wait(searches[i], lock);
		waits[i] = true;
	}
}

static void finish_search(int i, unsigned ms)
{
	take(searches[i]);
	at(ms);
	give_back(searches[i]);
	THRUM_RUN (searches[i])
		thrum_task_resolve(searches[i]);
	waits[i] = false;
}

static void story(void)
{
	unsigned ms = 10;

	lock = TASK(LOCK, "index");
	compaction = TASK(FIBER, "compaction");
	for (int round = 0; round < 12; round++) {
		at(ms);
		take(compaction);
		at(ms + 1);
		begin_searches();
		at(ms + (broken ? 200 : 2));
		give_back(compaction);
		for (int i = 0; i < SEARCHES; i++)
			if (!broken || i == (round == 9 ? SEARCHES - 1 : round % (SEARCHES - 1)))
				finish_search(i, ms + (broken ? 201 : 3 + (unsigned)i));
		ms += 203;
	}
	for (int i = 0; i < SEARCHES; i++)
		if (waits[i])
			finish_search(i, ms + (unsigned)i);
	thrum_task_resolve(compaction);
	thrum_task_resolve(lock);
	beat_until(3000);
}
