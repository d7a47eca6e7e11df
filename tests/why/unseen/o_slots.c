/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: When both worker slots are taken, the daemon's main thread waits in wait_for_slot (waitpid) for some worker to end; but the workers first ask the daemon for the interface table over their sockets, which only main answers.
 *   culprit: \bmain\b|wait_for_slot|start_worker
 *   victim: frontend|send_requests
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A measurement archive: for each request the daemon forks a worker, at most two at a time. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MAX_WORKERS = 2,
	REQUESTS = 6
};

struct worker {
	pid_t pid;
	int socket; /* to the worker, for its questions; -1: none */
};

static struct worker workers[MAX_WORKERS];
static int requests[2], replies[2], running;
static bool broken;

static bool reap(int options)
{
	pid_t pid = waitpid(-1, NULL, options);

	for (int i = 0; pid > 0 && i < MAX_WORKERS; i++)
		if (workers[i].pid == pid) {
			close(workers[i].socket);
			workers[i] = (struct worker){.socket = -1};
			running--;
		}
	return pid > 0;
}

static void wait_for_slot(void)
{
	while (running >= MAX_WORKERS)
		reap(0);
}

/* The worker process: needs the table of interfaces, computes, and replies. */
static void serve_request(int socket, int request)
{
	int table[4], sum = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "ma-worker");
	if (write(socket, "?", 1) != 1 ||
		recv(socket, table, sizeof table, MSG_WAITALL) != sizeof table)
		_exit(1);
	for (int i = 0; i < 4; i++)
		sum += table[i] * request;
	usleep(5000);
	_exit(write(replies[1], &sum, sizeof sum) != sizeof sum);
}

static void start_worker(int request)
{
	int pair[2], slot = 0;

	if (broken)
		wait_for_slot();
	while (workers[slot].pid)
		slot++;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		exit(1);
	workers[slot].socket = pair[0];
	workers[slot].pid = fork();
	if (!workers[slot].pid)
		serve_request(pair[1], request);
	close(pair[1]);
	running++;
}

static void answer_question(struct worker *worker)
{
	static const int table[4] = {10, 100, 1000, 40000};
	char question;

	if (read(worker->socket, &question, 1) == 1 &&
		write(worker->socket, table, sizeof table) < 0)
		perror("answer");
}

/* Serves until so many workers have been started and have ended. */
static void serve(void)
{
	int waiting[REQUESTS], count = 0, started = 0;

	while (started < REQUESTS || running) {
		struct pollfd fds[1 + MAX_WORKERS] = {{.fd = requests[0], .events = POLLIN}};

		for (int i = 0; i < MAX_WORKERS; i++)
			fds[1 + i] = (struct pollfd){.fd = workers[i].socket, .events = POLLIN};
		if (poll(fds, 1 + MAX_WORKERS, 10) < 0)
			continue;
		for (int i = 0; i < MAX_WORKERS; i++)
			if (fds[1 + i].revents & POLLIN)
				answer_question(&workers[i]);
		while (reap(WNOHANG))
			continue;
		if (fds[0].revents & POLLIN) {
			ssize_t size = read(requests[0], waiting + count,
				sizeof waiting - count * sizeof *waiting);

			count += size > 0 ? (int)(size / (ssize_t)sizeof *waiting) : 0;
		}
		while (count && (broken || running < MAX_WORKERS)) {
			start_worker(waiting[0]);
			memmove(waiting, waiting + 1, --count * sizeof *waiting);
			started++;
		}
	}
}

static void *send_requests(void *unused)
{
	static const int burst[REQUESTS] = {1, 2, 3, 4, 5, 6};
	int reply;

	(void)unused;
	pthread_setname_np(pthread_self(), "frontend");
	if (write(requests[1], burst, sizeof burst) != sizeof burst)
		return NULL;
	for (int i = 0; i < REQUESTS; i++)
		if (read(replies[0], &reply, sizeof reply) == sizeof reply)
			printf("reply: %d\n", reply);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t frontend;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < MAX_WORKERS; i++)
		workers[i].socket = -1;
	if (pipe2(requests, O_CLOEXEC) || pipe2(replies, O_CLOEXEC))
		return 1;
	pthread_create(&frontend, NULL, send_requests, NULL);
	serve();
	pthread_join(frontend, NULL);
	return 0;
}
