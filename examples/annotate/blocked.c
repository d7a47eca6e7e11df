/* SPDX-License-Identifier: ISC */
/* Threads that block in mutexes. With the bug, they take two of them in different orders. */
#include "annotate.h"

struct account {
	pthread_mutex_t mutex;
	thrum_task task; /* thrum_task_create(THRUM_KIND_LOCK, "savings") */
};

static void account_lock(struct account *account)
{
	if (pthread_mutex_trylock(&account->mutex)) {
		thrum_task_wait(thrum_task_current(), account->task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_mutex_lock(&account->mutex);
		thrum_resume();
	}
	thrum_lock_acquired(account->task);
}

static void account_unlock(struct account *account)
{
	thrum_lock_released(account->task);
	pthread_mutex_unlock(&account->mutex);
}

static struct account accounts[2] = {{.mutex = PTHREAD_MUTEX_INITIALIZER},
	{.mutex = PTHREAD_MUTEX_INITIALIZER}};

static void transfer(struct account *from, struct account *to)
{
	account_lock(from);
	pause_ms(from == &accounts[0] ? 100 : 300);
	account_lock(to);
	account_unlock(to);
	account_unlock(from);
}

static void *save(void *data)
{
	thrum_lane_name("save");
	thrum_task_should_resolve(thrum_task_current());
	transfer(&accounts[0], &accounts[1]);
	return NULL;
}

static void *spend(void *data)
{
	thrum_lane_name("spend");
	thrum_task_should_resolve(thrum_task_current());
	if (broken)
		transfer(&accounts[1], &accounts[0]);
	else
		transfer(&accounts[0], &accounts[1]);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	begin(argc);
	accounts[0].task = thrum_task_create(THRUM_KIND_LOCK, "giro");
	accounts[1].task = thrum_task_create(THRUM_KIND_LOCK, "savings");
	threads[0] = start(save, NULL);
	pause_ms(20);
	threads[1] = start(spend, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
