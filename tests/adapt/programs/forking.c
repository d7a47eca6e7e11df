/* SPDX-License-Identifier: ISC */
/* A signal comes in the middle of a fork, and its handler calls connect(). It knows nothing of thrum. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static bool forks;

static void ask(int signal)
{
	struct sockaddr_in peer = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	(void)signal;
	connect(-1, (struct sockaddr *)&peer, sizeof peer);
}

static void before_fork(void)
{
	if (forks)
		raise(SIGUSR1);
}

static void on_load(void)
{
	pthread_atfork(before_fork, NULL, NULL);
}

/* Before the constructors of the libraries, so that it runs after their own handlers of fork(). */
__attribute__((section(".preinit_array"), used)) static void (*const first)(void) = on_load;

static void *do_nothing(void *unused)
{
	return unused;
}

int main(void)
{
	pthread_t thread;
	int status = 0;

	signal(SIGUSR1, ask);
	forks = true;
	pid_t child = fork();

	if (child == 0)
		_exit(7);
	waitpid(child, &status, 0);
	printf("the child ends with %d\n", WEXITSTATUS(status));
	/* This starts the recording after all. */
	pthread_create(&thread, NULL, do_nothing, NULL);
	pthread_join(thread, NULL);
	return 0;
}
