/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The renderer reads its job until the end of the stream, and the client, which waits for the answer on
 *     the same socket, never calls shutdown(SHUT_WR).
 *   culprit: ask_renderer|renderer|shutdown
 *   victim: \bmain\b|preview
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A preview window asks a renderer process over a pair of sockets; a thread draws. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t drawn, rendered;
static char picture[64];

static _Noreturn void run_renderer(int socket)
{
	char job[256];
	size_t size = 0;
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "renderer");
	while ((n = recv(socket, job + size, sizeof job - size, 0)) > 0)
		size += (size_t)n;
	usleep(2000);
	if (send(socket, "picture", 7, 0) != 7)
		_exit(1);
	_exit(0);
}

static void ask_renderer(const char *job, bool closes)
{
	int pair[2];
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		exit(1);
	child = fork();
	if (child == 0) {
		close(pair[0]);
		run_renderer(pair[1]);
	}
	close(pair[1]);
	if (send(pair[0], job, strlen(job), 0) < 0)
		exit(1);
	if (closes)
		shutdown(pair[0], SHUT_WR);
	if (recv(pair[0], picture, sizeof picture, 0) < 0)
		exit(1);
	close(pair[0]);
	waitpid(child, NULL, 0);
}

static void *draw(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "preview");
	for (int i = 0; i < 4; i++) {
		sem_wait(&rendered);
		printf("drawn: %s\n", picture);
		sem_post(&drawn);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_t thread;

	sem_init(&drawn, 0, 0);
	sem_init(&rendered, 0, 0);
	pthread_create(&thread, NULL, draw, NULL);
	for (int i = 0; i < 4; i++) {
		ask_renderer(i == 3 ? "long job" : "job", i < 3 || !broken);
		sem_post(&rendered);
		sem_wait(&drawn);
	}
	pthread_join(thread, NULL);
	return 0;
}
