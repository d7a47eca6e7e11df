/* SPDX-License-Identifier: ISC */
/* A pthread condition. With the bug, the signal comes before the wait, and nothing remembers it. */
#include "annotate.h"

struct event {
	pthread_mutex_t mutex;
	pthread_cond_t happened;
	unsigned waiters;
	thrum_task task; /* thrum_task_create(THRUM_KIND_CONDITION, "reply") */
};

/* The caller holds the mutex. */
static void event_wait(struct event *event)
{
	thrum_task self = thrum_task_current();

	event->waiters++;
	thrum_task_wait(self, event->task);
	thrum_suspend(THRUM_BLOCKED);
	pthread_cond_wait(&event->happened, &event->mutex);
	thrum_resume();
	thrum_task_read(self, event->task);
}

/* The caller holds the mutex. */
static void event_signal(struct event *event)
{
	thrum_task_signal(event->task, event->waiters);
	if (event->waiters > 0)
		event->waiters--;
	pthread_cond_signal(&event->happened);
}

static struct event reply = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.happened = PTHREAD_COND_INITIALIZER};

static void *network(void *data)
{
	thrum_lane_name("network");
	pause_ms(broken ? 0 : 500);
	pthread_mutex_lock(&reply.mutex);
	event_signal(&reply);
	pthread_mutex_unlock(&reply.mutex);
	return NULL;
}

static void *ask(void *data)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "ask");

	thrum_task_should_resolve(task);
	pause_ms(150);
	THRUM_RUN (task) {
		pthread_mutex_lock(&reply.mutex);
		event_wait(&reply);
		pthread_mutex_unlock(&reply.mutex);
		thrum_task_resolve(task);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	begin(argc);
	reply.task = thrum_task_create(THRUM_KIND_CONDITION, "reply");
	threads[0] = start(network, NULL);
	threads[1] = start(ask, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
