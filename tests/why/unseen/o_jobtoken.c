/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The cache server, a child that start_cache_server leaves in the background, took a token out of the jobserver's pipe and keeps it as long as it lives. At the end the build tool (main, collect_tokens) reads all its tokens back and waits for the one that is missing.
 *   culprit: cache-server|start_cache_server|serve_cache
 *   victim: collect_tokens|progress|show_progress
 *   clue: process .*cache-server.*: Holds .shared tokens
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A build tool with a jobserver: who runs a job takes a token out of the pipe, and puts it back. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	TOKENS = 3,
	JOBS = 7
};

static int jobserver[2], cache_socket = -1;
static pid_t cache_server;
static atomic_int built;
static atomic_bool finished;

static void take_token(void)
{
	char token;

	if (read(jobserver[0], &token, 1) != 1)
		_exit(1);
}

static void put_token(void)
{
	if (write(jobserver[1], "+", 1) != 1)
		_exit(1);
}

/* The server process. It scans its directory first, which counts as a job. */
static void serve_cache(int socket, bool keep)
{
	char question;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "cache-server");
	take_token();
	usleep(10000);
	if (!keep)
		put_token();
	if (write(socket, "r", 1) != 1)
		_exit(1);
	while (read(socket, &question, 1) == 1)
		if (write(socket, "m", 1) != 1) /* a miss */
			break;
	_exit(0);
}

/* Starts the server, unless it runs already, and waits until it is ready. */
static void start_cache_server(bool keep)
{
	int pair[2];
	char ready;

	if (cache_server)
		return;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		exit(1);
	cache_server = fork();
	if (!cache_server) {
		close(pair[0]);
		serve_cache(pair[1], keep);
	}
	close(pair[1]);
	cache_socket = pair[0];
	if (read(cache_socket, &ready, 1) != 1)
		exit(1);
}

static bool is_cached(void)
{
	char answer = 0;

	return write(cache_socket, "?", 1) == 1 && read(cache_socket, &answer, 1) == 1 &&
		answer == 'h';
}

static void compile(int job)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "cc");
	usleep(15000 + 2000 * (useconds_t)job);
	_exit(0);
}

static void build(bool keep)
{
	int running = 0, status;

	for (int job = 0; job < JOBS; job++) {
		start_cache_server(keep);
		if (is_cached())
			continue;
		if (running == TOKENS - 1) {
			if (waitpid(-1, &status, 0) > 0)
				put_token();
			running--;
			built++;
		}
		take_token();
		running++;
		if (!fork())
			compile(job);
	}
	for (; running; running--, built++)
		if (waitpid(-1, &status, 0) > 0)
			put_token();
}

/* All tokens must be back at the end, or a job went wrong. */
static void collect_tokens(void)
{
	for (int i = 0; i < TOKENS; i++)
		take_token();
}

static void *show_progress(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "progress");
	while (!finished) {
		usleep(40000);
		printf("[%d/%d]\n", (int)built, JOBS);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_t progress;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pipe2(jobserver, O_CLOEXEC))
		return 1;
	for (int i = 0; i < TOKENS; i++)
		put_token();
	pthread_create(&progress, NULL, show_progress, NULL);
	build(broken);
	collect_tokens();
	finished = true;
	pthread_join(progress, NULL);
	close(cache_socket);
	waitpid(cache_server, NULL, 0);
	puts("built");
	return 0;
}
