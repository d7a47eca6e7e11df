/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: post_job writes to the eventfd only if the flag wake_is_sent is not set. on_wake runs at most
 *     8 jobs in a turn; if some are left, it returns without clearing the flag or writing again. So nobody
 *     wakes the loop any more, and all who post jobs wait for ever.
 *   culprit: on_wake|post_job|run_loop
 *   victim: client\b|burst
 * case: healthy
 *   args: healthy
 *   run: kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* Threads post jobs to a loop on epoll, which an eventfd wakes, and wait until they are done. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define A_TURN 8

struct job {
	int number;
	bool is_done;
	struct job *next;
};

static pthread_mutex_t jobs_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_done = PTHREAD_COND_INITIALIZER;
static struct job *jobs, **jobs_end = &jobs;
static bool wake_is_sent;
static int wake_fd;
static bool returns_early;
static long sum;

static void pause_ms(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static void wake_loop(void)
{
	uint64_t one = 1;

	if (write(wake_fd, &one, sizeof(one)) != sizeof(one))
		perror("eventfd");
}

/* The caller holds jobs_lock. */
static void __attribute__((noinline)) post_job(struct job *job)
{
	job->is_done = false;
	job->next = NULL;
	*jobs_end = job;
	jobs_end = &job->next;
	if (!wake_is_sent) {
		wake_is_sent = true;
		wake_loop();
	}
}

static void run_job(struct job *job)
{
	sum += job->number;
	job->is_done = true;
}

static void __attribute__((noinline)) on_wake(void)
{
	uint64_t count;
	int done = 0;

	if (read(wake_fd, &count, sizeof(count)) != sizeof(count))
		return;
	pthread_mutex_lock(&jobs_lock);
	while (jobs && done < A_TURN) {
		struct job *job = jobs;

		jobs = job->next;
		if (!jobs)
			jobs_end = &jobs;
		run_job(job);
		done++;
	}
	if (!jobs)
		wake_is_sent = false;
	else if (!returns_early)
		wake_loop(); /* the rest in the next turn */
	pthread_cond_broadcast(&job_done);
	pthread_mutex_unlock(&jobs_lock);
}

static void *run_loop(void *data)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);

	(void)data;
	epoll_ctl(epoll, EPOLL_CTL_ADD, wake_fd, &event);
	for (;;) {
		if (epoll_wait(epoll, &event, 1, -1) == 1)
			on_wake();
	}
	return NULL;
}

static void run_jobs(struct job *some, int count)
{
	pthread_mutex_lock(&jobs_lock);
	for (int i = 0; i < count; i++)
		post_job(&some[i]);
	for (int i = 0; i < count; i++)
		while (!some[i].is_done)
			pthread_cond_wait(&job_done, &jobs_lock);
	pthread_mutex_unlock(&jobs_lock);
}

/* Posts a job or two at a time. */
static void *client(void *data)
{
	struct job some[2] = {{.number = 1}, {.number = 2}};

	(void)data;
	for (int i = 0;; i++) {
		run_jobs(some, 1 + i % 2);
		pause_ms(5);
	}
	return NULL;
}

/* Has many jobs, but seldom. */
static void *burst(void *data)
{
	struct job some[20];

	(void)data;
	memset(some, 0, sizeof(some));
	for (;;) {
		pause_ms(200);
		run_jobs(some, 20);
		printf("%ld\n", sum);
		fflush(stdout);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t loop, first, second, third;

	returns_early = argc > 1 && !strcmp(argv[1], "broken");
	wake_fd = eventfd(0, EFD_CLOEXEC);
	if (wake_fd < 0 || pthread_create(&loop, NULL, run_loop, NULL) ||
		pthread_create(&first, NULL, client, NULL) ||
		pthread_create(&second, NULL, client, NULL) ||
		pthread_create(&third, NULL, burst, NULL))
		return 1;
	pthread_join(first, NULL);
	return 0;
}
