/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 700
 *   ask: why
 *   truth: The client backup crashes while it holds the lease /index. The daemon notices that its connection closed, but doesn't release the lease; so "LOCK by indexer" waits for ever.
 *   culprit: backup
 *   victim: indexer|report
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* lockd: grants a lease to one of several client processes at a time */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <thrum.h>
#include <unistd.h>

struct client {
	const char *name;
	int starts, holds, crashes; /* ms, ms, yes or no */
	int fd;
	bool gone;
	thrum_task session, lock;
};

static struct client clients[] = {
	{"cron", 10, 30, 0},
	{"backup", 60, 50, 1},
	{"indexer", 90, 20, 0},
	{"report", 250, 20, 0},
};
#define COUNT 4

static struct client *owner;
static bool broken;
static thrum_task lease;

static void client_main(struct client *client, int fd, bool recorded)
{
	char key[32], byte;
	thrum_task task;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (recorded && thrum_start(NULL))
		_exit(2);
	usleep(client->starts * 1000);
	task = thrum_task_createf(THRUM_KIND_REQUEST, "%s wants lease", client->name);
	thrum_task_should_resolve(task);
	snprintf(key, sizeof(key), "lock %s", client->name);
	THRUM_RUN (task)
		thrum_link_send(key, strlen(key));
	if (write(fd, "L", 1) != 1 || read(fd, &byte, 1) != 1)
		_exit(1);
	THRUM_RUN (task)
		thrum_task_resolve(task);
	usleep(client->holds * 1000);
	if (client->crashes)
		_exit(11);
	if (write(fd, "U", 1) != 1)
		_exit(1);
	usleep(20000);
	thrum_stop();
	_exit(0);
}

static void grant(struct client *client)
{
	owner = client;
	THRUM_RUN (client->session)
		thrum_lock_acquired(lease);
	THRUM_RUN (client->lock)
		thrum_task_resolve(client->lock);
	client->lock = THRUM_TASK_NONE;
	if (write(client->fd, "G", 1) != 1)
		perror("lockd");
}

static void release(struct client *client)
{
	THRUM_RUN (client->session)
		thrum_lock_released(lease);
	owner = NULL;
}

static void on_message(struct client *client, bool *waits)
{
	char key[32], byte;

	if (read(client->fd, &byte, 1) != 1) {
		client->gone = true;
		if (!broken && owner == client)
			release(client);
		thrum_task_resolve(client->session);
		close(client->fd);
	} else if (byte == 'L') {
		client->lock = thrum_task_createf(THRUM_KIND_TASK, "LOCK by %s", client->name);
		thrum_task_should_resolve(client->lock);
		snprintf(key, sizeof(key), "lock %s", client->name);
		THRUM_RUN (client->lock)
			thrum_link_receive(key, strlen(key));
		if (owner)
			thrum_task_wait(client->lock, lease);
		*waits = true;
	} else {
		release(client);
	}
}

int main(int argc, char **argv)
{
	bool waits[COUNT] = {false}, recorded = thrum_enabled();
	int gone = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < COUNT; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 2;
		if (!fork()) {
			for (int j = 0; j < i; j++)
				close(clients[j].fd);
			close(ends[0]);
			client_main(&clients[i], ends[1], recorded);
		}
		close(ends[1]);
		clients[i].fd = ends[0];
		clients[i].session = thrum_task_createf(THRUM_KIND_HANDLE, "session of %s",
			clients[i].name);
	}
	lease = thrum_task_create(THRUM_KIND_LOCK, "lease /index");
	while (gone < COUNT) {
		struct pollfd polled[COUNT];

		for (int i = 0; i < COUNT; i++)
			polled[i] = (struct pollfd){clients[i].gone ? -1 : clients[i].fd, POLLIN};
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(polled, COUNT, -1);
		thrum_resume();
		gone = 0;
		for (int i = 0; i < COUNT; i++) {
			if (polled[i].fd >= 0 && polled[i].revents)
				on_message(&clients[i], &waits[i]);
			gone += clients[i].gone;
		}
		for (int i = 0; i < COUNT && !owner; i++)
			if (waits[i]) {
				waits[i] = false;
				grant(&clients[i]);
			}
	}
	printf("lockd: all clients left\n");
	return 0;
}
