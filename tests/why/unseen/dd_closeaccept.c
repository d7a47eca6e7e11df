/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: To stop, stop_listening only closes the listening socket; that doesn't wake accept_clients, which waits in accept for ever, and main joins it.
 *   culprit: accept_clients|acceptor|stop_listening
 *   victim: main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A sound server: a thread accepts clients and plays what they send. After the last client it stops.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CLIENTS 4

static bool broken;
static int listener = -1;
static struct sockaddr_in address;
static sem_t played;
static pid_t acceptor_id;

static void play(int client)
{
	char samples[512];

	while (read(client, samples, sizeof(samples)) > 0)
		continue;
	close(client);
	sem_post(&played);
}

static void *accept_clients(void *unused)
{
	int client;

	__atomic_store_n(&acceptor_id, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while ((client = accept(listener, NULL, NULL)) >= 0)
		play(client);
	return unused;
}

static void start_listening(void)
{
	socklen_t size = sizeof(address);

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
		listen(listener, 8) || getsockname(listener, (struct sockaddr *)&address, &size))
		exit(1);
}

/* Clients are no longer welcome. */
static void stop_listening(void)
{
	if (!broken)
		shutdown(listener, SHUT_RDWR);
	close(listener);
}

static void *run_client(void *unused)
{
	char samples[2048];
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memset(samples, 0x2a, sizeof(samples));
	if (connect(server, (struct sockaddr *)&address, sizeof(address)))
		exit(1);
	for (int i = 0; i < 10; i++)
		if (write(server, samples, sizeof(samples)) != sizeof(samples))
			exit(1);
	close(server);
	return unused;
}

/* The thread is idle when it sleeps in the kernel: the server stops only then. */
static void wait_until_idle(void)
{
	char path[64], line[256], *state;
	FILE *file;

	for (int sleeps = 0; sleeps < 3;) {
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
			(int)__atomic_load_n(&acceptor_id, __ATOMIC_ACQUIRE));
		file = fopen(path, "r");
		if (!file)
			exit(1);
		state = fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
		fclose(file);
		sleeps = state && state[2] == 'S' ? sleeps + 1 : 0;
		usleep(10000);
	}
}

int main(int argc, char **argv)
{
	pthread_t acceptor, clients[CLIENTS];

	if (argc != 2)
		return 2;
	broken = !strcmp(argv[1], "broken");
	sem_init(&played, 0, 0);
	start_listening();
	if (pthread_create(&acceptor, NULL, accept_clients, NULL))
		return 1;
	pthread_setname_np(acceptor, "acceptor");
	for (int i = 0; i < CLIENTS; i++)
		if (pthread_create(&clients[i], NULL, run_client, NULL))
			return 1;
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(clients[i], NULL);
		while (sem_wait(&played))
			continue;
	}
	wait_until_idle();
	stop_listening();
	pthread_join(acceptor, NULL);
	return 0;
}
