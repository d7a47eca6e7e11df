/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: A renderer process dies on a document. worker_gone starts another renderer, but forgets the document that the
 *     dead one had: it isn't put in the line again, and its client gets no answer.
 *   culprit: worker_gone|renderer|spawn_worker
 *   victim: client_main|submit
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <err.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 3
#define CLIENTS 2

struct document {
	int client, id, pages, attempt;
};

struct worker {
	int fd;
	pid_t pid;
	bool busy;
	struct document document;
};

static struct worker workers[WORKERS];
static int clients[CLIENTS] = {-1, -1};
static struct document line[32];
static int line_length;
static bool healthy;

static void renderer(int fd)
{
	struct document document;

	while (read(fd, &document, sizeof(document)) == sizeof(document)) {
		usleep(1000 * document.pages);
		/* Some fonts upset the library, but only with a cold cache. */
		if (document.id == 117 && document.attempt == 0)
			_exit(3);
		if (write(fd, &document, sizeof(document)) != sizeof(document))
			break;
	}
	_exit(0);
}

static bool submit(int fd, int client, int id)
{
	struct document document = {client, id, 1 + id % 3, 0};

	return write(fd, &document, sizeof(document)) == sizeof(document) &&
		read(fd, &document, sizeof(document)) == sizeof(document);
}

static void client_main(int fd, int client)
{
	/* The first is the nightly batch, the second the web shop, which never ends. */
	for (int i = 0; client == 1 || i < 40; i++) {
		if (!submit(fd, client, (client == 0 ? 100 : 1000) + i))
			break;
		if (client == 1)
			usleep(10000);
	}
	_exit(0);
}

static void close_all(void)
{
	for (int i = 0; i < WORKERS; i++)
		if (workers[i].fd > 0)
			close(workers[i].fd);
	for (int i = 0; i < CLIENTS; i++)
		if (clients[i] >= 0)
			close(clients[i]);
}

static void spawn_worker(struct worker *worker)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		err(1, "socketpair");
	worker->fd = -1;
	worker->pid = fork();
	if (worker->pid == 0) {
		close(pair[0]);
		close_all();
		renderer(pair[1]);
	}
	close(pair[1]);
	worker->fd = pair[0];
	worker->busy = false;
}

static void spawn_client(int client)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		err(1, "socketpair");
	if (fork() == 0) {
		close(pair[0]);
		close_all();
		client_main(pair[1], client);
	}
	close(pair[1]);
	clients[client] = pair[0];
}

static void worker_gone(struct worker *worker)
{
	int status;

	waitpid(worker->pid, &status, 0);
	fprintf(stderr, "renderer %d ended with status %d\n", worker->pid, WEXITSTATUS(status));
	close(worker->fd);
	if (healthy && worker->busy) {
		worker->document.attempt++;
		line[line_length++] = worker->document;
	}
	spawn_worker(worker);
}

static void on_worker(struct worker *worker)
{
	struct document document;

	if (read(worker->fd, &document, sizeof(document)) != sizeof(document)) {
		worker_gone(worker);
		return;
	}
	worker->busy = false;
	if (write(clients[document.client], &document, sizeof(document)) != sizeof(document))
		warn("client %d", document.client);
}

static void assign(void)
{
	for (int i = 0; i < WORKERS && line_length > 0; i++) {
		if (workers[i].busy)
			continue;
		workers[i].busy = true;
		workers[i].document = line[0];
		memmove(line, line + 1, --line_length * sizeof(line[0]));
		if (write(workers[i].fd, &workers[i].document, sizeof(line[0])) != sizeof(line[0]))
			err(1, "write");
	}
}

int main(int argc, char **argv)
{
	struct pollfd polls[WORKERS + CLIENTS];

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	for (int i = 0; i < WORKERS; i++)
		spawn_worker(&workers[i]);
	for (int i = 0; i < CLIENTS; i++)
		spawn_client(i);
	for (;;) {
		for (int i = 0; i < WORKERS + CLIENTS; i++) {
			polls[i].fd = i < WORKERS ? workers[i].fd : clients[i - WORKERS];
			polls[i].events = POLLIN;
			polls[i].revents = 0;
		}
		if (poll(polls, WORKERS + CLIENTS, -1) < 0)
			err(1, "poll");
		for (int i = 0; i < WORKERS; i++)
			if (polls[i].revents)
				on_worker(&workers[i]);
		for (int i = 0; i < CLIENTS; i++) {
			if (!polls[WORKERS + i].revents)
				continue;
			if (read(clients[i], &line[line_length], sizeof(line[0])) ==
				sizeof(line[0])) {
				line_length++;
				continue;
			}
			/* The batch is done. */
			close_all();
			while (wait(NULL) > 0)
				continue;
			puts("batch done");
			return 0;
		}
		assign();
	}
}
