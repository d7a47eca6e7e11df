/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The tick counter wraps around between two passes of run_timers, which compares the ticks as plain numbers; the
 *     timer "resend coil 5", due just before the wrap, is due in 49 days now, and the lost question isn't sent again.
 *   culprit: resend coil 5|run_timers|timer_start
 *   victim: read coil 5|scan coils
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A controller scans the coils of a device on a serial bus. Its tick counter has 32 bits, counts ms, and a pass of the
 * loop is 8 of them. A question that has no answer within 44 ticks is sent again.
 */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <unistd.h>

#define COILS 9
#define PASS 8
#define PATIENCE 44
#define PERIOD 64 /* ticks between two questions */

struct timer {
	bool set;
	uint32_t due;
	thrum_task task;
};

struct question {
	unsigned char coil;
	bool asked, answered;
	struct timer resend;
	thrum_task task;
};

static struct question questions[COILS];
static uint32_t now;
static int bus;
static bool broken;

/* ---- The device: the bus's noise destroys the first question for coil 5 ---- */

static void *run_device(void *data)
{
	int socket = *(int *)data;
	unsigned char coil;
	bool noise = true;

	while (read(socket, &coil, 1) == 1) {
		if (coil == 5 && noise) {
			noise = false;
			continue;
		}
		if (write(socket, &coil, 1) != 1)
			break;
	}
	close(socket);
	return NULL;
}

/* ---- Timers ---- */

static void timer_start(struct timer *timer, uint32_t ticks, const char *name)
{
	timer->set = true;
	timer->due = now + ticks;
	timer->task = thrum_task_create(THRUM_KIND_TIMER, name);
	thrum_task_due(timer->task, ticks * INT64_C(500000));
}

static void timer_stop(struct timer *timer)
{
	if (timer->set)
		thrum_task_cancel(timer->task);
	timer->set = false;
}

static bool timer_is_due(const struct timer *timer)
{
	if (broken)
		return now >= timer->due;
	return (int32_t)(now - timer->due) >= 0;
}

/* ---- Questions ---- */

static void send_question(struct question *question)
{
	char name[32];

	snprintf(name, sizeof(name), "resend coil %d", question->coil);
	timer_start(&question->resend, PATIENCE, name);
	thrum_task_wait(question->task, question->resend.task);
	if (write(bus, &question->coil, 1) != 1)
		perror("bus");
}

static void ask(struct question *question)
{
	question->asked = true;
	question->task = thrum_task_createf(THRUM_KIND_TASK, "read coil %d", question->coil);
	send_question(question);
}

static void run_timers(void)
{
	for (int i = 0; i < COILS; i++) {
		struct question *question = &questions[i];

		if (!question->resend.set || !timer_is_due(&question->resend))
			continue;
		question->resend.set = false;
		THRUM_RUN (question->task) {
			thrum_task_resolve(question->resend.task);
			send_question(question);
		}
	}
}

/* Waits for the rest of a pass, at most. */
static void read_answers(void)
{
	struct pollfd ready = {.fd = bus, .events = POLLIN};
	unsigned char coil;

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	poll(&ready, 1, PASS / 2);
	thrum_resume();
	while (recv(bus, &coil, 1, MSG_DONTWAIT) == 1) {
		struct question *question = &questions[coil];

		if (coil >= COILS || question->answered)
			continue;
		question->answered = true;
		timer_stop(&question->resend);
		THRUM_RUN (question->task)
			thrum_task_resolve(question->task);
	}
}

static void scan_coils(thrum_task scan)
{
	uint32_t begin = now;
	int asked = 0, answered;

	do {
		if (asked < COILS && now - begin >= (uint32_t)asked * PERIOD) {
			ask(&questions[asked]);
			thrum_task_wait(scan, questions[asked].task);
			asked++;
		}
		read_answers();
		now += PASS;
		run_timers();
		answered = 0;
		for (int i = 0; i < COILS; i++)
			answered += questions[i].answered;
	} while (answered < COILS);
}

int main(int argc, char **argv)
{
	thrum_task scan = thrum_task_create(THRUM_KIND_JOIN, "scan coils");
	pthread_t device;
	int ends[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_task_should_resolve(scan);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	bus = ends[0];
	pthread_create(&device, NULL, run_device, &ends[1]);
	pthread_setname_np(device, "device");
	for (int i = 0; i < COILS; i++)
		questions[i].coil = (unsigned char)i;
	now = 0u - 48 - 5 * PERIOD; /* it has been on for 49 days */
	scan_coils(scan);
	thrum_task_resolve(scan);
	shutdown(bus, SHUT_RDWR);
	pthread_join(device, NULL);
	close(bus);
	printf("%d coils\n", COILS);
	return 0;
}
