/* SPDX-License-Identifier: ISC */
/* Waits for a condition, but not for ever. With the bug, one wait is too long, by a factor of 1000. */
#include "annotate.h"

#include <time.h>

struct event {
	pthread_mutex_t mutex;
	pthread_cond_t happened;
	thrum_task task; /* thrum_task_create(THRUM_KIND_CONDITION, "reply") */
};

static struct timespec in(int64_t ns)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	ns += time.tv_nsec;
	time.tv_sec += ns / 1000000000;
	time.tv_nsec = ns % 1000000000;
	return time;
}

/* The caller holds the mutex. */
static bool event_wait_for(struct event *event, int64_t ns)
{
	thrum_task self = thrum_task_current();
	thrum_task timer = thrum_task_create(THRUM_KIND_TIMER, "patience");
	thrum_task either = thrum_task_create(THRUM_KIND_CHOOSE, "reply in time");
	struct timespec until = in(ns);
	bool came;

	thrum_task_due(timer, ns);
	thrum_task_wait(either, event->task);
	thrum_task_wait(either, timer);
	thrum_task_wait(self, either);
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	came = !pthread_cond_timedwait(&event->happened, &event->mutex, &until);
	thrum_resume();
	thrum_task_read(either, came ? event->task : timer);
	if (came)
		thrum_task_cancel(timer);
	else
		thrum_task_resolve(timer);
	thrum_task_resolve(either);
	thrum_task_read(self, either);
	return came;
}

int main(int argc, char **argv)
{
	static struct event event = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
	thrum_task ask;

	begin(argc);
	event.task = thrum_task_create(THRUM_KIND_CONDITION, "reply");
	ask = thrum_task_create(THRUM_KIND_TASK, "ask");
	thrum_task_should_resolve(ask);
	THRUM_RUN (ask) {
		pthread_mutex_lock(&event.mutex);
		for (int i = 1; i <= 5; i++)
			event_wait_for(&event, INT64_C(10000000) * (broken && i == 5 ? 1000 : 1));
		pthread_mutex_unlock(&event.mutex);
		thrum_task_resolve(ask);
	}
	return 0;
}
