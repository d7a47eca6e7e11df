/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 600
 *   ask: why
 *   truth: agents for arm and for x86 wait at one condition, job_posted. The scheduler signals it once for an x86
 *          job; the wake-up goes to the arm agent, which finds nothing for it and sleeps again. The x86 agent
 *          sleeps for ever beside its job, the build waits for it.
 *   culprit: job_posted
 *   victim: (main|build_agents|job_done)
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A build farm's agents, as plain as they were found. */
static pthread_mutex_t board = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t job_posted = PTHREAD_COND_INITIALIZER;
static pthread_cond_t job_done = PTHREAD_COND_INITIALIZER;
static int arm_jobs, x86_jobs, done, quit, wake_all;
static pthread_cond_t gc_now = PTHREAD_COND_INITIALIZER; /* "make gc" by hand; hardly ever */

static void *run_arm_agent(void *data)
{
	pthread_mutex_lock(&board);
	for (;;) {
		while (!arm_jobs && !quit)
			pthread_cond_wait(&job_posted, &board);
		if (!arm_jobs)
			break;
		arm_jobs--;
		pthread_mutex_unlock(&board);
		usleep(120000); /* emulated, slow */
		pthread_mutex_lock(&board);
		done++;
		pthread_cond_signal(&job_done);
	}
	pthread_mutex_unlock(&board);
	return data;
}

static void *run_x86_agent(void *data)
{
	pthread_mutex_lock(&board);
	for (;;) {
		while (!x86_jobs && !quit)
			pthread_cond_wait(&job_posted, &board);
		if (!x86_jobs)
			break;
		x86_jobs--;
		pthread_mutex_unlock(&board);
		usleep(15000);
		pthread_mutex_lock(&board);
		done++;
		pthread_cond_signal(&job_done);
	}
	pthread_mutex_unlock(&board);
	return data;
}

static void *collect_garbage(void *data)
{
	pthread_mutex_lock(&board);
	while (!quit)
		pthread_cond_wait(&gc_now, &board);
	pthread_mutex_unlock(&board);
	return data;
}

static void post(int *jobs, int all)
{
	pthread_mutex_lock(&board);
	++*jobs;
	if (all)
		pthread_cond_broadcast(&job_posted);
	else
		pthread_cond_signal(&job_posted);
	pthread_mutex_unlock(&board);
}

static void wait_for_jobs(int number)
{
	pthread_mutex_lock(&board);
	while (done < number)
		pthread_cond_wait(&job_done, &board);
	pthread_mutex_unlock(&board);
}

int main(int argc, char **argv)
{
	pthread_t arm, x86, gc;

	wake_all = !(argc > 1 && !strcmp(argv[1], "broken"));
	pthread_create(&gc, NULL, collect_garbage, NULL);
	pthread_create(&x86, NULL, run_x86_agent, NULL);
	usleep(20000);
	post(&x86_jobs, wake_all); /* alone, it gets its jobs */
	wait_for_jobs(1);
	usleep(20000);
	post(&x86_jobs, wake_all);
	wait_for_jobs(2);
	/* the arm agent joins; both agents begin to wait anew, it first */
	pthread_mutex_lock(&board);
	x86_jobs++;
	pthread_cond_broadcast(&job_posted);
	pthread_mutex_unlock(&board);
	usleep(5000); /* the x86 agent works */
	pthread_create(&arm, NULL, run_arm_agent, NULL);
	wait_for_jobs(3);
	usleep(30000);
	if (wake_all)
		post(&arm_jobs, wake_all);
	post(&x86_jobs, wake_all);
	wait_for_jobs(wake_all ? 5 : 4);
	pthread_mutex_lock(&board);
	quit = 1;
	pthread_cond_broadcast(&job_posted);
	pthread_cond_broadcast(&gc_now);
	pthread_mutex_unlock(&board);
	pthread_join(arm, NULL);
	pthread_join(x86, NULL);
	pthread_join(gc, NULL);
	return 0;
}
