/* SPDX-License-Identifier: ISC */
/* Three slices of a simulation wait for each other after each step. With the bug, one of them gives up. */
#include "annotate.h"

#define SLICES 3
#define STEPS 4

struct barrier {
	pthread_mutex_t mutex;
	pthread_cond_t full;
	unsigned arrived, round;
	thrum_task task; /* thrum_task_create(THRUM_KIND_CONDITION, "barrier step") */
};

static struct barrier steps = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.full = PTHREAD_COND_INITIALIZER};

static void barrier_wait(struct barrier *barrier)
{
	thrum_task self = thrum_task_current();
	unsigned round;

	pthread_mutex_lock(&barrier->mutex);
	round = barrier->round;
	if (barrier->arrived == SLICES - 1) {
		thrum_task_signal(barrier->task, barrier->arrived);
		barrier->arrived = 0;
		barrier->round++;
		pthread_cond_broadcast(&barrier->full);
	} else {
		barrier->arrived++;
		thrum_task_wait(self, barrier->task);
		thrum_suspend(THRUM_BLOCKED);
		while (round == barrier->round)
			pthread_cond_wait(&barrier->full, &barrier->mutex);
		thrum_resume();
		thrum_task_read(self, barrier->task);
	}
	pthread_mutex_unlock(&barrier->mutex);
}

static bool compute(int slice, int step)
{
	pause_ms(5);
	return !(broken && slice == 2 && step == 3);
}

static void *run(void *data)
{
	int slice = (int)(intptr_t)data;
	char name[16];

	snprintf(name, sizeof(name), "slice %d", slice);
	thrum_lane_name(name);
	thrum_task_should_resolve(thrum_task_current());
	for (int step = 1; step <= STEPS && compute(slice, step); step++)
		barrier_wait(&steps);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[SLICES];

	begin(argc);
	steps.task = thrum_task_create(THRUM_KIND_CONDITION, "barrier step");
	for (intptr_t i = 0; i < SLICES; i++)
		threads[i] = start(run, (void *)(i + 1));
	for (int i = 0; i < SLICES; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
