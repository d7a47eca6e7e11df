/* SPDX-License-Identifier: ISC */
/* A readers-writer lock. With the bug, a reader returns early and never unlocks. */
#include "annotate.h"

struct shared {
	pthread_rwlock_t lock;
	thrum_task task; /* thrum_task_create(THRUM_KIND_LOCK, "table") */
};

static void shared_lock(struct shared *shared, bool to_write)
{
	thrum_task self = thrum_task_current();

	if (to_write ? pthread_rwlock_trywrlock(&shared->lock)
		     : pthread_rwlock_tryrdlock(&shared->lock)) {
		thrum_task_wait(self, shared->task);
		thrum_suspend(THRUM_BLOCKED);
		if (to_write)
			pthread_rwlock_wrlock(&shared->lock);
		else
			pthread_rwlock_rdlock(&shared->lock);
		thrum_resume();
	}
	thrum_lock_acquired(shared->task);
}

static void shared_unlock(struct shared *shared)
{
	thrum_lock_released(shared->task);
	pthread_rwlock_unlock(&shared->lock);
}

static struct shared table = {.lock = PTHREAD_RWLOCK_INITIALIZER};

static void *look_up(void *data)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "look up %s", (const char *)data);

	THRUM_RUN (task) {
		shared_lock(&table, false);
		pause_ms(100);
		if (!broken || *(const char *)data == 'a')
			shared_unlock(&table);
		thrum_task_resolve(task);
	}
	return NULL;
}

static void *update(void *data)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "update");

	thrum_task_should_resolve(task);
	pause_ms(50);
	THRUM_RUN (task) {
		shared_lock(&table, true);
		shared_unlock(&table);
		thrum_task_resolve(task);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	begin(argc);
	table.task = thrum_task_create(THRUM_KIND_LOCK, "table");
	threads[0] = start(look_up, "apples");
	pause_ms(10);
	threads[1] = start(look_up, "pears");
	threads[2] = start(update, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
