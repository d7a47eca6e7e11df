/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: Commands that wait for their acknowledgement stand in a table of four, at sequence & 3. send_command
 *     takes the place of a command that is still waiting (command 5, when 9 is sent), so its acknowledgement finds
 *     nobody, and the pass never ends.
 *   culprit: send_command|on_acknowledge|command 5
 *   victim: pass\b|main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A satellite ground station: sends commands during a pass and waits for all acknowledgements. */
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

enum {
	COMMANDS = 24,
	SEND_EVERY = 30,
	PENDING = 4
};

struct command {
	uint32_t sequence;
	thrum_task task;
	bool waiting;
};

struct frame {
	uint32_t sequence;
	uint32_t is_telemetry;
};

static bool healthy;
static struct command commands[COMMANDS];
static struct command *pending[COMMANDS];
static unsigned table_size;
static int up_link;
static thrum_task link_task, pass;
static unsigned acknowledged, telemetry, unexpected;

static void send_command(struct command *command, uint32_t sequence)
{
	struct frame frame = {sequence, 0};

	command->sequence = sequence;
	command->waiting = true;
	THRUM_RUN (pass)
		command->task = thrum_task_createf(THRUM_KIND_REQUEST, "command %u", sequence);
	thrum_task_should_resolve(command->task);
	thrum_task_wait(command->task, link_task);
	pending[sequence % table_size] = command;
	if (write(up_link, &frame, sizeof(frame)) != sizeof(frame))
		thrum_task_fail(command->task, "write");
}

static void on_acknowledge(const struct frame *frame)
{
	struct command *command = pending[frame->sequence % table_size];

	if (!command || command->sequence != frame->sequence) {
		unexpected++;
		return;
	}
	pending[frame->sequence % table_size] = NULL;
	command->waiting = false;
	acknowledged++;
	THRUM_RUN (command->task) {
		thrum_task_read(command->task, link_task);
		thrum_task_resolve(command->task);
	}
}

static void on_frame(const struct frame *frame)
{
	if (frame->is_telemetry)
		telemetry++;
	else
		on_acknowledge(frame);
}

static int receive(int timeout)
{
	struct pollfd watch = {.fd = up_link, .events = POLLIN};
	struct frame frame;
	int count;

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	count = poll(&watch, 1, timeout);
	thrum_resume();
	if (count > 0 && read(up_link, &frame, sizeof(frame)) == sizeof(frame))
		on_frame(&frame);
	return count;
}

static void run_pass(void)
{
	uint32_t sent = 0;
	unsigned turns = 0;

	pass = thrum_task_create(THRUM_KIND_JOIN, "pass 4711");
	thrum_task_should_resolve(pass);
	while (acknowledged < COMMANDS) {
		int got = receive(SEND_EVERY);

		if ((got == 0 || ++turns % 3 == 0) && sent < COMMANDS) {
			send_command(&commands[sent], sent);
			thrum_task_wait(pass, commands[sent].task);
			sent++;
		}
	}
	THRUM_RUN (pass)
		thrum_task_resolve(pass);
}

/* The satellite answers at once, but keeps the answer to the dump of its memory until six commands later. */
static void *satellite(void *data)
{
	int down_link = *(int *)data;
	struct frame frame, late = {0, 0};
	bool has_late = false;

	thrum_suspend(THRUM_BLOCKED_OUTSIDE);
	for (;;) {
		struct pollfd watch = {.fd = down_link, .events = POLLIN};
		struct frame beacon = {0, 1};

		if (poll(&watch, 1, 20) == 0) {
			if (write(down_link, &beacon, sizeof(beacon)) < 0)
				break;
			continue;
		}
		if (read(down_link, &frame, sizeof(frame)) != sizeof(frame))
			break;
		if (frame.sequence == 5) {
			late = frame;
			has_late = true;
			continue;
		}
		if (write(down_link, &frame, sizeof(frame)) < 0)
			break;
		if (has_late && frame.sequence == late.sequence + 6) {
			has_late = false;
			if (write(down_link, &late, sizeof(late)) < 0)
				break;
		}
	}
	thrum_resume();
	close(down_link);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int pair[2];

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	table_size = healthy ? COMMANDS : PENDING;
	thrum_start(NULL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		return 1;
	up_link = pair[0];
	link_task = thrum_task_create(THRUM_KIND_HANDLE, "up-link");
	pthread_create(&thread, NULL, satellite, &pair[1]);
	run_pass();
	thrum_stop();
	shutdown(up_link, SHUT_RDWR);
	pthread_join(thread, NULL);
	printf("%u acknowledged, %u telemetry, %u unexpected\n", acknowledged, telemetry,
		unexpected);
	return 0;
}
