/* SPDX-License-Identifier: ISC */
/*
 * case: retry
 *   args: retry
 *   ask: why --slow="GET /cart"
 *   truth: The slow GET /cart tries the dead backend 10.0.0.12 again and again, without a limit; each connect times out, until the health check removes the backend.
 *   culprit: connect 10\.0\.0\.12
 *   victim: GET /cart
 * case: probe
 *   args: probe
 *   ask: why --slow="GET /cart"
 *   truth: The slow GET /cart waits for the lock "backend table", which "health check 10.0.0.13" holds while it waits for a slow probe.
 *   culprit: health check 10\.0\.0\.13|probe 10\.0\.0\.13
 *   victim: GET /cart|backend table
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

static struct {
	pthread_mutex_t mutex;
	thrum_task task;
	int alive[3];
} table = {PTHREAD_MUTEX_INITIALIZER, 0, {1, 1, 1}};

static int bad_probe, bad_backend;

static void table_lock(void)
{
	if (pthread_mutex_trylock(&table.mutex)) {
		thrum_task_wait(thrum_task_current(), table.task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&table.mutex);
		thrum_resume();
	}
	thrum_lock_acquired(table.task);
}

static void table_unlock(void)
{
	thrum_lock_released(table.task);
	pthread_mutex_unlock(&table.mutex);
}

static int network(const char *what, int backend, int ms, int fails)
{
	thrum_task request = thrum_task_createf(THRUM_KIND_REQUEST, "%s 10.0.0.1%d", what,
		backend + 1);
	thrum_task self = thrum_task_current();

	thrum_task_wait(self, request);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(ms * 1000);
	thrum_resume();
	if (fails)
		thrum_task_fail(request, "ETIMEDOUT");
	else
		thrum_task_resolve(request);
	thrum_task_read(self, request);
	return fails ? -1 : 0;
}

static void serve(int number, int backend)
{
	for (;;) {
		table_lock();
		while (!table.alive[backend])
			backend = (backend + 1) % 3;
		table_unlock();
		if (!network("connect", backend, backend == 1 && bad_backend && number > 3 ? 25 : 1,
			    backend == 1 && bad_backend && number > 3))
			break;
	}
	network("forward", backend, 3, 0);
}

static void *client(void *data)
{
	int first = (int)(long)data;

	thrum_lane_name("worker");
	for (int i = 0; i < 8; i++) {
		int number = first + i * 2;
		thrum_task task = thrum_task_create(THRUM_KIND_TASK,
			number % 3 == 2           ? "GET /login"
				: number % 5 == 1 ? "GET /"
						  : "GET /cart");

		thrum_task_should_resolve(task);
		THRUM_RUN (task) {
			serve(number, number == 9 ? 1 : number % 2 ? 2 : 0);
			thrum_task_resolve(task);
		}
		usleep(15000);
	}
	return NULL;
}

static void *health(void *data)
{
	thrum_lane_name("health");
	for (int i = 0; i < 9; i++) {
		int backend = i % 3;
		thrum_task check;

		usleep(30000);
		check = thrum_task_createf(THRUM_KIND_TASK, "health check 10.0.0.1%d", backend + 1);
		THRUM_RUN (check) {
			int slow = bad_probe && i == 2;

			if (slow) {
				table_lock(); /* the state may change */
				network("probe", backend, 260, 0);
				table_unlock();
			} else if (network("probe", backend, 2, bad_backend && i == 7) < 0) {
				table_lock();
				table.alive[backend] = 0;
				table_unlock();
			}
			thrum_task_resolve(check);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	bad_backend = argc > 1 && !strcmp(argv[1], "retry");
	bad_probe = argc > 1 && !strcmp(argv[1], "probe");
	table.task = thrum_task_create(THRUM_KIND_LOCK, "backend table");
	pthread_create(&threads[0], NULL, client, (void *)0);
	pthread_create(&threads[1], NULL, client, (void *)1);
	pthread_create(&threads[2], NULL, health, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	thrum_stop();
	return 0;
}
