/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   run:
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   run: kill 900
 *   ask: diff good
 *   truth: The mirror answers each request for part 4 with "busy", and the client retries it for ever, without a limit; so verify and commit never happen.
 *   culprit: part 4|backoff
 *   victim: verify|commit|update
 */
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define PARTS 6

struct part {
	thrum_task task, request, timer;
	int64_t again; /* when to retry; 0: not */
	int tries;
	bool done;
};

static struct part parts[PARTS + 1];
static int mirror[2], left = PARTS, flying, next = 1;
static bool overloaded;
static thrum_task connection;

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void *mirror_main(void *data)
{
	uint8_t question[2], answer[2];
	int asked = 0;

	while (recv(mirror[1], question, 2, 0) == 2) {
		usleep(8000);
		answer[0] = question[0];
		answer[1] = question[0] == 4 && (asked++ < 1 || overloaded) ? 'b' : 'k';
		send(mirror[1], answer, 2, 0);
	}
	return data;
}

static void ask(int id)
{
	struct part *part = &parts[id];
	uint8_t question[2] = {(uint8_t)id, 0};

	part->tries++;
	part->request = thrum_task_createf(THRUM_KIND_REQUEST, "GET part %d", id);
	thrum_task_wait(part->request, connection);
	thrum_task_wait(part->task, part->request);
	send(mirror[0], question, 2, 0);
}

static void begin(void)
{
	while (flying < 2 && next <= PARTS) {
		flying++;
		THRUM_RUN (parts[next].task)
			ask(next);
		next++;
	}
}

static void on_answer(void)
{
	struct part *part;
	uint8_t answer[2];

	if (recv(mirror[0], answer, 2, 0) != 2)
		return;
	part = &parts[answer[0]];
	THRUM_RUN (part->request) {
		thrum_task_read(part->request, connection);
		if (answer[1] == 'b')
			thrum_task_fail(part->request, "mirror busy");
		else
			thrum_task_resolve(part->request);
	}
	THRUM_RUN (part->task) {
		if (answer[1] == 'b') {
			part->again = now() + 30000000;
			part->timer = thrum_task_createf(THRUM_KIND_TIMER, "backoff part %d",
				answer[0]);
			thrum_task_due(part->timer, 30000000);
			thrum_task_wait(part->task, part->timer);
			break;
		}
		thrum_task_read(part->task, part->request);
		part->done = true;
		left--;
		flying--;
		thrum_task_resolve(part->task);
	}
}

static void step(const char *name, int ms)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, name);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		for (int i = 1; i <= PARTS; i++)
			thrum_task_read(task, parts[i].task);
		usleep((useconds_t)ms * 1000);
		thrum_task_resolve(task);
	}
}

int main(int argc, char **argv)
{
	struct pollfd wait;
	thrum_task update;
	pthread_t thread;

	overloaded = argc > 1 && !strcmp(argv[1], "bad");
	socketpair(AF_UNIX, SOCK_SEQPACKET, 0, mirror);
	pthread_create(&thread, NULL, mirror_main, NULL);
	thrum_start(NULL);
	update = thrum_task_create(THRUM_KIND_TASK, "update");
	thrum_task_should_resolve(update);
	connection = thrum_task_create(THRUM_KIND_HANDLE, "mirror");
	for (int i = 1; i <= PARTS; i++) {
		parts[i].task = thrum_task_createf(THRUM_KIND_TASK, "part %d", i);
		thrum_task_wait(update, parts[i].task);
	}
	wait = (struct pollfd){.fd = mirror[0], .events = POLLIN};
	while (left) {
		int64_t at = 0, t;

		begin();
		for (int i = 1; i <= PARTS; i++)
			if (parts[i].again && (!at || parts[i].again < at))
				at = parts[i].again;
		t = at - now();
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (poll(&wait, 1, !at ? -1 : t < 0 ? 0 : (int)(t / 1000000) + 1) < 0)
			return 1;
		thrum_resume();
		if (wait.revents)
			on_answer();
		for (int i = 1; i <= PARTS; i++) {
			if (!parts[i].again || parts[i].again > now())
				continue;
			parts[i].again = 0;
			thrum_task_resolve(parts[i].timer);
			THRUM_RUN (parts[i].task) {
				thrum_task_read(parts[i].task, parts[i].timer);
				ask(i);
			}
		}
	}
	step("verify", 12);
	step("commit", 4);
	thrum_task_resolve(update);
	shutdown(mirror[0], SHUT_RDWR);
	pthread_join(thread, NULL);
	printf("updated, part 4 after %d tries\n", parts[4].tries);
	return 0;
}
