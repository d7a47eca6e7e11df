/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 2500
 *   ask: why
 *   truth: on_finished takes one job off the finished list each time that it runs, but libuv makes one call of several
 *     uv_async_send. Jobs that end together stay on the list, so their compile slots are never free again.
 *   culprit: on_finished|finished_list|report_finished
 *   victim: start_jobs|builder
 * case: healthy
 *   args: healthy
 *   run: live 2500
 *   ask: why
 *   culprit: nothing
 */
/* A build farm's coordinator on libuv. Builders compile in threads; the loop hands out jobs. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define BUILDERS 4

struct job {
	struct job *next;
	int number;
};

struct builder {
	pthread_t thread;
	uv_sem_t wanted;
	struct job *job;
};

static bool fixed;
static uv_loop_t *loop;
static uv_async_t finished;
static pthread_mutex_t finished_lock = PTHREAD_MUTEX_INITIALIZER;
static struct job *finished_list;
static struct builder builders[BUILDERS];
static int next_number, running, built;

static void report_finished(struct job *job)
{
	pthread_mutex_lock(&finished_lock);
	job->next = finished_list;
	finished_list = job;
	pthread_mutex_unlock(&finished_lock);
	uv_async_send(&finished);
}

static void *builder_main(void *data)
{
	struct builder *builder = data;
	char name[16];

	snprintf(name, sizeof(name), "builder %d", (int)(builder - builders));
	pthread_setname_np(pthread_self(), name);
	for (;;) {
		uv_sem_wait(&builder->wanted);
		usleep(20000);
		report_finished(builder->job);
	}
	return NULL;
}

/* A round gives each builder a job; the farm's cache wants whole rounds. */
static void start_jobs(void)
{
	for (int i = 0; i < BUILDERS; i++) {
		struct job *job = calloc(1, sizeof(*job));

		job->number = next_number++;
		builders[i].job = job;
		running++;
		uv_sem_post(&builders[i].wanted);
	}
}

static struct job *pop_finished(void)
{
	struct job *job;

	pthread_mutex_lock(&finished_lock);
	job = finished_list;
	if (job)
		finished_list = job->next;
	pthread_mutex_unlock(&finished_lock);
	return job;
}

static void index_artifact(const struct job *job)
{
	/* the store is on a network disk */
	usleep(15000);
	if (job->number % 40 == 0)
		printf("job %d is in the store\n", job->number);
}

static void on_finished(uv_async_t *async)
{
	struct job *job;

	(void)async;
	while ((job = pop_finished())) {
		index_artifact(job);
		free(job);
		running--;
		built++;
		if (!fixed)
			break;
	}
	if (running == 0)
		start_jobs();
}

static void on_dashboard(uv_timer_t *timer)
{
	(void)timer;
	printf("%d built, %d running\n", built, running);
	fflush(stdout);
}

static void on_ping(uv_timer_t *timer)
{
	unsigned *pings = timer->data;

	++*pings;
}

int main(int argc, char **argv)
{
	uv_timer_t dashboard, ping;
	unsigned pings = 0;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	loop = uv_default_loop();
	uv_async_init(loop, &finished, on_finished);
	for (int i = 0; i < BUILDERS; i++) {
		uv_sem_init(&builders[i].wanted, 0);
		pthread_create(&builders[i].thread, NULL, builder_main, &builders[i]);
	}
	uv_timer_init(loop, &dashboard);
	uv_timer_start(&dashboard, on_dashboard, 300, 300);
	uv_timer_init(loop, &ping);
	ping.data = &pings;
	uv_timer_start(&ping, on_ping, 50, 50);
	start_jobs();
	return uv_run(loop, UV_RUN_DEFAULT);
}
