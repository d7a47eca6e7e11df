/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="convert receipt *"
 *   truth: Documents are dealt to the three worker processes in turn, however busy they are. "convert manual" takes
 *     350 ms in worker 2, and the receipts that were dealt to worker 2 after it lie in its socket until then, while the
 *     other workers are idle.
 *   culprit: (convert|render) manual
 *   victim: receipt
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Converts documents in three worker processes, which get them through a socket each. */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <thrum.h>

#define WORKERS 3
#define DOCUMENTS 30
#define MANUAL 4 /* the long one */

struct message {
	char kind; /* 'q': convert, 'a': done */
	int32_t number;
};

struct worker {
	int socket;
	pid_t pid;
	int open; /* documents that it has */
	thrum_task task;
};

static bool broken;
static struct worker workers[WORKERS];
static thrum_task requests[DOCUMENTS];
static int dealt[DOCUMENTS], arrived, next, finished;

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000) + time.tv_nsec / 1000000;
}

static const char *name(int number)
{
	static char text[24];

	if (number == MANUAL)
		return "manual";
	snprintf(text, sizeof(text), "receipt %d", number);
	return text;
}

/* ---- In a worker process ---- */

static void render(const struct message *message)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "render %s", name(message->number));
	const struct timespec time = {.tv_nsec = message->number == MANUAL ? 350000000 : 6000000};

	THRUM_RUN (task) {
		thrum_link_receive(message, sizeof(*message));
		nanosleep(&time, NULL); /* stands for the renderer */
		thrum_task_resolve(task);
	}
}

static int worker_main(int socket)
{
	struct message message;

	for (;;) {
		ssize_t size;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		size = read(socket, &message, sizeof(message));
		thrum_resume();
		if (size != sizeof(message))
			break;
		render(&message);
		message.kind = 'a';
		thrum_link_send(&message, sizeof(message));
		if (write(socket, &message, sizeof(message)) != sizeof(message))
			break;
	}
	thrum_stop();
	return 0;
}

static bool worker_start(struct worker *worker, int number)
{
	bool recorded = thrum_enabled();
	pid_t parent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		return false;
	worker->pid = fork();
	if (worker->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		for (int i = 0; i < number; i++)
			close(workers[i].socket);
		close(ends[0]);
		if (recorded && thrum_start(NULL))
			fputs("worker: not recorded\n", stderr);
		_exit(worker_main(ends[1]));
	}
	close(ends[1]);
	worker->socket = ends[0];
	worker->task = thrum_task_createf(THRUM_KIND_HANDLE, "worker %d", number + 1);
	return worker->pid > 0;
}

/* ---- In the parent ---- */

static void deal(int number, int to)
{
	struct message message;

	memset(&message, 0, sizeof(message));
	message.kind = 'q';
	message.number = number;
	dealt[number] = to;
	workers[to].open++;
	thrum_task_wait(requests[number], workers[to].task);
	THRUM_RUN (requests[number]) {
		thrum_link_send(&message, sizeof(message));
		if (write(workers[to].socket, &message, sizeof(message)) != sizeof(message))
			thrum_task_fail(requests[number], "write");
	}
}

/* Deals what has arrived: in turn, or to a worker that is idle. */
static void deal_arrived(void)
{
	while (next < arrived) {
		int to = next % WORKERS;

		if (!broken) {
			to = 0;
			while (to < WORKERS && workers[to].open > 0)
				to++;
			if (to == WORKERS)
				return;
		}
		deal(next++, to);
	}
}

static void arrive(int number)
{
	requests[number] = thrum_task_createf(THRUM_KIND_REQUEST, "convert %s", name(number));
	thrum_task_should_resolve(requests[number]);
	arrived++;
}

static void on_answer(struct worker *worker)
{
	struct message message;

	if (read(worker->socket, &message, sizeof(message)) != sizeof(message))
		exit(1);
	THRUM_RUN (requests[message.number]) {
		thrum_link_receive(&message, sizeof(message));
		thrum_task_read(requests[message.number], worker->task);
		thrum_task_resolve(requests[message.number]);
	}
	worker->open--;
	finished++;
}

int main(int argc, char **argv)
{
	struct pollfd polled[WORKERS];
	int64_t start;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < WORKERS; i++) {
		if (!worker_start(&workers[i], i))
			return 1;
		polled[i] = (struct pollfd){.fd = workers[i].socket, .events = POLLIN};
	}
	start = now_ms();
	while (finished < DOCUMENTS) {
		while (arrived < DOCUMENTS && now_ms() - start >= arrived * 7)
			arrive(arrived);
		deal_arrived();
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(polled, WORKERS, arrived < DOCUMENTS ? 2 : -1);
		thrum_resume();
		for (int i = 0; i < WORKERS; i++)
			if (polled[i].revents)
				on_answer(&workers[i]);
	}
	thrum_stop();
	for (int i = 0; i < WORKERS; i++) {
		close(workers[i].socket);
		waitpid(workers[i].pid, NULL, 0);
	}
	printf("converted %d documents\n", finished);
	return 0;
}
