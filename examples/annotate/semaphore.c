/* SPDX-License-Identifier: ISC */
/* A semaphore. With the bug, two tasks that need two places each take one first. */
#include "annotate.h"

#include <semaphore.h>

struct places {
	sem_t semaphore;
	thrum_task task; /* thrum_task_create(THRUM_KIND_SEMAPHORE, "connections") */
};

static void places_take(struct places *places)
{
	thrum_task self = thrum_task_current();

	if (sem_trywait(&places->semaphore)) {
		thrum_task_wait(self, places->task);
		thrum_suspend(THRUM_BLOCKED);
		while (sem_wait(&places->semaphore))
			continue;
		thrum_resume();
	}
	thrum_lock_acquired(places->task);
}

static void places_give_back(struct places *places)
{
	thrum_lock_released(places->task);
	sem_post(&places->semaphore);
}

static struct places connections;

static void *copy(void *data)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "copy %s", (const char *)data);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		places_take(&connections);
		pause_ms(!broken ? 0 : *(const char *)data == 'l' ? 100 : 300);
		places_take(&connections);
		places_give_back(&connections);
		places_give_back(&connections);
		thrum_task_resolve(task);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	begin(argc);
	sem_init(&connections.semaphore, 0, 2);
	connections.task = thrum_task_create(THRUM_KIND_SEMAPHORE, "connections");
	threads[0] = start(copy, "left");
	pause_ms(broken ? 20 : 50);
	threads[1] = start(copy, "right");
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
