/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: libzmq #3641 and oxen-mq pull request #88 (sockets hang in edge-triggered epoll). The mailbox writes to its eventfd
 *     only when it was empty, and the event is edge-triggered. on_mailbox takes one command for each wake-up and
 *     leaves the others. After a batch, the mailbox is never empty again, so no sender writes to the eventfd any more,
 *     and on_mailbox never runs again: commands stay, and all clients wait for ever.
 *   culprit: on_mailbox|\bmailbox\b
 *   victim: batch client|client|main\b
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* A key-value store: clients put commands into a mailbox, an I/O thread with libevent carries them out. */
#include <event2/event.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct command {
	unsigned key;
	unsigned value;
	sem_t *done;
	struct command *next;
};

struct mailbox {
	pthread_mutex_t sync;
	struct command *first; /* under sync */
	int signaler;
};

static bool fixed;
static struct mailbox mailbox = {.sync = PTHREAD_MUTEX_INITIALIZER};
static unsigned table[64]; /* of the I/O thread */
static unsigned carried_out;
static unsigned heartbeats;

/* Puts a chain of commands into the mailbox. */
static void mailbox_send(struct command *commands)
{
	static const uint64_t one = 1;
	struct command **end;
	bool was_empty;

	pthread_mutex_lock(&mailbox.sync);
	was_empty = !mailbox.first;
	for (end = &mailbox.first; *end; end = &(*end)->next)
		continue;
	*end = commands;
	pthread_mutex_unlock(&mailbox.sync);
	if (was_empty && write(mailbox.signaler, &one, sizeof(one)) != sizeof(one))
		abort();
}

static struct command *mailbox_receive(void)
{
	struct command *command;

	pthread_mutex_lock(&mailbox.sync);
	command = mailbox.first;
	if (command)
		mailbox.first = command->next;
	pthread_mutex_unlock(&mailbox.sync);
	return command;
}

static void carry_out(struct command *command)
{
	table[command->key % 64] = command->value;
	carried_out++;
	sem_post(command->done);
}

static void on_mailbox(evutil_socket_t fd, short what, void *data)
{
	struct command *command;
	uint64_t count;

	(void)what;
	(void)data;
	if (read(fd, &count, sizeof(count)) != sizeof(count))
		return;
	do {
		command = mailbox_receive();
		if (command)
			carry_out(command);
	} while (command && fixed);
}

static void on_heartbeat(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	(void)data;
	heartbeats++;
}

static void *io_thread(void *data)
{
	static const struct timeval interval = {.tv_usec = 100000};
	struct event_config *config = event_config_new();
	struct event_base *base;
	struct event *event, *timer;

	(void)data;
	event_config_require_features(config, EV_FEATURE_ET);
	base = event_base_new_with_config(config);
	event = event_new(base, mailbox.signaler, EV_READ | EV_ET | EV_PERSIST, on_mailbox, NULL);
	event_add(event, NULL);
	timer = event_new(base, -1, EV_PERSIST, on_heartbeat, NULL);
	event_add(timer, &interval);
	event_base_dispatch(base);
	return NULL;
}

static void set(unsigned key, unsigned value)
{
	struct command command = {.key = key, .value = value};
	sem_t done;

	sem_init(&done, 0, 0);
	command.done = &done;
	mailbox_send(&command);
	sem_wait(&done);
	sem_destroy(&done);
}

static void set_many(unsigned count)
{
	struct command commands[8];
	sem_t done;
	unsigned i;

	memset(commands, 0, sizeof(commands));
	sem_init(&done, 0, 0);
	for (i = 0; i < count; i++) {
		commands[i].key = 20 + i;
		commands[i].value = 7 * i;
		commands[i].done = &done;
		commands[i].next = i + 1 < count ? &commands[i + 1] : NULL;
	}
	mailbox_send(commands);
	for (i = 0; i < count; i++)
		sem_wait(&done);
	sem_destroy(&done);
}

/* Sets one key at a time. */
static void *client(void *data)
{
	unsigned i;

	(void)data;
	for (i = 0; i < 80; i++) {
		set(i % 16, i);
		usleep(20000);
	}
	return NULL;
}

/* Loads a table now and then; at first it has only one entry. */
static void *batch_client(void *data)
{
	unsigned i;

	(void)data;
	for (i = 0; i < 12; i++) {
		set_many(i < 6 ? 1 : 4);
		usleep(110000);
	}
	return NULL;
}

static pthread_t start(const char *name, void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL))
		exit(1);
	pthread_setname_np(thread, name);
	return thread;
}

int main(int argc, char **argv)
{
	pthread_t single, batch;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	mailbox.signaler = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	start("io", io_thread);
	single = start("client", client);
	usleep(10000);
	batch = start("batch client", batch_client);
	pthread_join(single, NULL);
	pthread_join(batch, NULL);
	printf("%u commands, %u heartbeats\n", carried_out, heartbeats);
	return 0;
}
