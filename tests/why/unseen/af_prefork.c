/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: A worker that retires takes the accept token in drain_backlog and exits without giving it back. So
 *     no other worker ever gets the token, nobody accepts, and the client waits for its answer.
 *   culprit: drain_backlog
 *   victim: await_token|run_client|ask_quote|supervise
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A pre-forking quote server. A pipe with one byte in it is the token: only its owner may accept. */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 3
#define QUOTES 120
#define WORKER_LIFE 12 /* requests that a worker serves; the library behind it leaks */

static int tokens[2];
static int listener;
static struct sockaddr_in address;
static bool careful;

static void await_token(void)
{
	char token;

	if (read(tokens[0], &token, 1) != 1)
		_exit(1);
}

static void return_token(void)
{
	if (write(tokens[1], "t", 1) != 1)
		_exit(1);
}

static void serve_client(int peer)
{
	char symbol[16], answer[32];
	ssize_t size = read(peer, symbol, sizeof(symbol) - 1);

	if (size > 0) {
		symbol[size] = '\0';
		usleep(300);
		snprintf(answer, sizeof(answer), "%s %d\n", symbol, rand() % 1000);
		if (write(peer, answer, strlen(answer)) < 0)
			perror("worker");
	}
	close(peer);
}

/* Before a worker retires, it serves those who wait already. */
static void drain_backlog(void)
{
	struct pollfd ready = {.fd = listener, .events = POLLIN};
	char token;

	if (read(tokens[0], &token, 1) != 1)
		_exit(1);
	while (poll(&ready, 1, 0) > 0)
		serve_client(accept(listener, NULL, NULL));
	if (!careful)
		_exit(0);
	return_token();
	_exit(0);
}

static void run_worker(void)
{
	for (int served = 0; served < WORKER_LIFE; served++) {
		int peer;

		await_token();
		peer = accept(listener, NULL, NULL);
		return_token();
		if (peer < 0)
			_exit(1);
		serve_client(peer);
	}
	drain_backlog();
}

static bool ask_quote(const char *symbol)
{
	int peer = socket(AF_INET, SOCK_STREAM, 0);
	char answer[64];
	bool is_good;

	if (connect(peer, (struct sockaddr *)&address, sizeof(address)) ||
		write(peer, symbol, strlen(symbol)) < 0) {
		close(peer);
		return false;
	}
	is_good = read(peer, answer, sizeof(answer)) > 0;
	close(peer);
	return is_good;
}

static void run_client(void)
{
	static const char *const symbols[] = {"ACME", "GLOBEX", "HOOLI", "INITECH"};
	int good = 0;

	for (int i = 0; i < QUOTES; i++)
		good += ask_quote(symbols[i % 4]);
	printf("%d quotes\n", good);
	fflush(stdout);
	_exit(good == QUOTES ? 0 : 1);
}

static pid_t start_process(void (*run)(void))
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run();
		_exit(0);
	}
	return child;
}

/* Replaces workers that retired. Returns the client's status. */
static int supervise(pid_t *workers, pid_t client)
{
	for (;;) {
		int status;
		pid_t ended = waitpid(-1, &status, 0);

		if (ended < 0)
			return 1;
		if (ended == client)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
		for (int i = 0; i < WORKERS; i++)
			if (workers[i] == ended)
				workers[i] = start_process(run_worker);
	}
}

int main(int argc, char **argv)
{
	socklen_t length = sizeof(address);
	pid_t workers[WORKERS], client;
	int status;

	careful = argc > 1 && strcmp(argv[1], "healthy") == 0;
	listener = socket(AF_INET, SOCK_STREAM, 0);
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 16))
		return 1;
	if (pipe(tokens))
		return 1;
	getsockname(listener, (struct sockaddr *)&address, &length);
	return_token();
	for (int i = 0; i < WORKERS; i++)
		workers[i] = start_process(run_worker);
	client = start_process(run_client);
	status = supervise(workers, client);
	for (int i = 0; i < WORKERS; i++) {
		kill(workers[i], SIGTERM);
		waitpid(workers[i], NULL, 0);
	}
	return status;
}
