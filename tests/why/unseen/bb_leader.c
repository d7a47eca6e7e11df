/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: lease_schedule renews the lease when it ends (after the whole ttl) instead of after a third of
 *     it. Each "renew lease" comes too late and fails, the node must be elected anew ("elect leader", slow),
 *     and jobs wait for that.
 *   culprit: renew lease|lease_renew|lease_schedule|elect leader
 *   victim: job|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A node that runs jobs while it is the leader, by a lease from a lock service (a thread). */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define JOBS 40
#define TTL_MS 150

enum question {
	ELECT = 'E',
	RENEW = 'R'
};

struct job {
	thrum_task task;
	bool is_waiting;
};

static struct {
	int service;
	bool is_leader;
	int renew_after;
	int64_t renew_at, job_at;
	thrum_task request, leadership;
	int jobs_begun, jobs_done, elections, renewals;
	struct job jobs[JOBS];
} node;

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

/* The lock service. Not recorded: it would be another machine. */
static void *run_service(void *data)
{
	int socket = *(int *)data;
	int64_t ends = 0;
	char question, answer;

	while (read(socket, &question, 1) == 1) {
		usleep(question == ELECT ? 60000 : 3000);
		answer = question == ELECT || now_ms() < ends ? 'y' : 'n';
		if (answer == 'y')
			ends = now_ms() + TTL_MS;
		if (write(socket, &answer, 1) != 1)
			break;
	}
	return NULL;
}

static void ask_service(enum question question, const char *label)
{
	char byte = (char)question;

	node.request = thrum_task_create(THRUM_KIND_REQUEST, label);
	thrum_task_should_resolve(node.request);
	if (write(node.service, &byte, 1) != 1)
		abort();
}

static void lease_elect(void)
{
	node.elections++;
	node.leadership = thrum_task_create(THRUM_KIND_PROMISE, "leadership");
	ask_service(ELECT, "elect leader");
	thrum_task_wait(node.leadership, node.request);
}

static void lease_schedule(void)
{
	node.renew_at = now_ms() + node.renew_after;
}

static void lease_renew(void)
{
	node.renew_at = INT64_MAX;
	ask_service(RENEW, "renew lease");
}

static void job_finish(struct job *job)
{
	THRUM_RUN (job->task) {
		node.jobs_done++;
		thrum_task_resolve(job->task);
	}
}

static void on_leader(void)
{
	node.is_leader = true;
	thrum_task_resolve(node.leadership);
	for (int i = 0; i < node.jobs_begun; i++)
		if (node.jobs[i].is_waiting) {
			node.jobs[i].is_waiting = false;
			thrum_task_read(node.jobs[i].task, node.leadership);
			job_finish(&node.jobs[i]);
		}
}

static void on_answer(void)
{
	char answer;

	if (read(node.service, &answer, 1) != 1)
		abort();
	if (answer == 'y') {
		thrum_task_resolve(node.request);
		if (!node.is_leader)
			on_leader();
		else
			node.renewals++;
		lease_schedule();
		return;
	}
	thrum_task_fail(node.request, "the lease has ended");
	node.is_leader = false;
	lease_elect();
}

static void job_begin(void)
{
	struct job *job = &node.jobs[node.jobs_begun++];

	node.job_at = node.jobs_begun < JOBS ? now_ms() + 25 : INT64_MAX;
	job->task = thrum_task_createf(THRUM_KIND_TASK, "job %d", node.jobs_begun);
	thrum_task_should_resolve(job->task);
	if (node.is_leader) {
		job_finish(job);
		return;
	}
	job->is_waiting = true;
	thrum_task_wait(job->task, node.leadership);
}

static void run_node(void)
{
	lease_elect();
	node.renew_at = INT64_MAX;
	node.job_at = now_ms();
	while (node.jobs_done < JOBS) {
		struct pollfd watch = {node.service, POLLIN, 0};
		int64_t next = node.renew_at < node.job_at ? node.renew_at : node.job_at;
		int64_t left = next == INT64_MAX ? -1 : next - now_ms();

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(&watch, 1, next != INT64_MAX && left < 0 ? 0 : (int)left);
		thrum_resume();
		if (watch.revents)
			on_answer();
		if (node.renew_at <= now_ms())
			lease_renew();
		if (node.job_at <= now_ms())
			job_begin();
	}
	while (node.renew_at == INT64_MAX) /* an answer is on its way */
		on_answer();
}

int main(int argc, char **argv)
{
	pthread_t service;
	int ends[2];

	if (argc != 2 || thrum_start(NULL))
		return 2;
	node.renew_after = strcmp(argv[1], "healthy") == 0 ? TTL_MS / 3 : TTL_MS;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return 1;
	node.service = ends[0];
	pthread_create(&service, NULL, run_service, &ends[1]);
	run_node();
	thrum_stop();
	close(node.service);
	pthread_join(service, NULL);
	printf("%d jobs, %d elections, %d renewals\n", node.jobs_done, node.elections,
		node.renewals);
	return 0;
}
