/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: "print invoice-4.pdf" takes a reference to the printer "laser2", finds a paper jam, and returns without dropping it. "reconfigure laser2" needs all references and waits for ever.
 *   culprit: invoice-4
 *   victim: reconfigure laser2|laser2
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define FILES 7

struct printer {
	const char *name;
	pthread_mutex_t mutex;
	pthread_cond_t idle;
	int references;
	thrum_task task; /* its references: as readers of a lock */
};

static struct printer laser = {.name = "laser2",
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.idle = PTHREAD_COND_INITIALIZER};
static int broken, next_file, printed;
static pthread_mutex_t spool_mutex = PTHREAD_MUTEX_INITIALIZER;

static void printer_get(struct printer *printer)
{
	pthread_mutex_lock(&printer->mutex);
	printer->references++;
	thrum_lock_acquired(printer->task);
	pthread_mutex_unlock(&printer->mutex);
}

static void printer_put(struct printer *printer)
{
	pthread_mutex_lock(&printer->mutex);
	thrum_lock_released(printer->task);
	if (--printer->references == 0)
		pthread_cond_broadcast(&printer->idle);
	pthread_mutex_unlock(&printer->mutex);
}

static int print(int number)
{
	printer_get(&laser);
	usleep(12000 + number * 1000);
	if (number == 4) {
		thrum_log("paper jam");
		if (!broken)
			printer_put(&laser);
		return -1;
	}
	printed++;
	printer_put(&laser);
	return 0;
}

static void *backend(void *data)
{
	for (;;) {
		thrum_task job;
		int number;

		pthread_mutex_lock(&spool_mutex);
		number = next_file++;
		pthread_mutex_unlock(&spool_mutex);
		if (number >= FILES)
			return NULL;
		job = thrum_task_createf(THRUM_KIND_TASK, "print invoice-%d.pdf", number);
		THRUM_RUN (job) {
			if (print(number) < 0)
				thrum_log("held for the operator");
			thrum_task_resolve(job);
		}
	}
}

static void reconfigure(struct printer *printer)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "reconfigure %s", printer->name);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		pthread_mutex_lock(&printer->mutex);
		while (printer->references) {
			thrum_task_wait(task, printer->task);
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&printer->idle, &printer->mutex);
			thrum_resume();
		}
		thrum_lock_acquired(printer->task);
		usleep(5000);
		thrum_lock_released(printer->task);
		pthread_mutex_unlock(&printer->mutex);
		thrum_task_resolve(task);
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	laser.task = thrum_task_createf(THRUM_KIND_LOCK, "%s", laser.name);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, backend, NULL);
	usleep(55000);
	reconfigure(&laser);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	thrum_stop();
	return 0;
}
