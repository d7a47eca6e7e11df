/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The thread wait-db sits in waitpid while it still holds the lock of its container, which it should have released first. The stop request (main) needs that lock before it can send SIGTERM, so the container never exits; the API threads that list containers block behind the same lock.
 *   culprit: wait-db
 *   victim: main|api-|container_stop|container_list
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* shim: watches over the processes of containers, and answers requests about them. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum state {
	CREATED,
	RUNNING,
	STOPPED
};

struct container {
	const char *name, *waiter;
	bool terminal; /* its console is given back at the exit */
	pid_t pid;
	pthread_mutex_t lock;
	enum state state;
	int status;
	sem_t started;
	pthread_t thread;
};

static struct container containers[] = {
	{.name = "web", .waiter = "wait-web", .lock = PTHREAD_MUTEX_INITIALIZER},
	{.name = "db", .waiter = "wait-db", .terminal = true, .lock = PTHREAD_MUTEX_INITIALIZER},
	{.name = "queue", .waiter = "wait-queue", .lock = PTHREAD_MUTEX_INITIALIZER},
};
#define CONTAINERS (sizeof(containers) / sizeof(containers[0]))

static bool defer_console;
static bool quit;

static void container_start(struct container *container)
{
	pid_t parent = getpid();

	container->pid = fork();
	if (container->pid < 0)
		exit(1);
	if (container->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		alarm(5);
		signal(SIGTERM, SIG_DFL);
		for (;;)
			pause();
	}
}

static int reap(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return status;
}

static void console_restore(struct container *container)
{
	usleep(1000);
}

static void *wait_run(void *data)
{
	struct container *container = data;
	int status;

	pthread_setname_np(pthread_self(), container->waiter);
	pthread_mutex_lock(&container->lock);
	container->state = RUNNING;
	sem_post(&container->started);
	if (container->terminal && !defer_console) {
		status = reap(container->pid);
		console_restore(container);
	} else {
		pthread_mutex_unlock(&container->lock);
		status = reap(container->pid);
		pthread_mutex_lock(&container->lock);
		if (container->terminal)
			console_restore(container);
	}
	container->status = status;
	container->state = STOPPED;
	pthread_mutex_unlock(&container->lock);
	return NULL;
}

static void container_stop(struct container *container)
{
	pthread_mutex_lock(&container->lock);
	if (container->state == RUNNING)
		kill(container->pid, SIGTERM);
	pthread_mutex_unlock(&container->lock);
}

static unsigned container_list(void)
{
	unsigned running = 0;

	for (size_t i = 0; i < CONTAINERS; i++) {
		pthread_mutex_lock(&containers[i].lock);
		if (containers[i].state == RUNNING)
			running++;
		pthread_mutex_unlock(&containers[i].lock);
		usleep(300);
	}
	return running;
}

static void *api_run(void *data)
{
	pthread_setname_np(pthread_self(), data);
	while (!__atomic_load_n(&quit, __ATOMIC_RELAXED)) {
		container_list();
		usleep(8000);
	}
	return NULL;
}

/* Tells the service manager that the shim lives. */
static void *heartbeat_run(void *data)
{
	pthread_setname_np(pthread_self(), "heartbeat");
	while (!__atomic_load_n(&quit, __ATOMIC_RELAXED))
		usleep(20000);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t api[2], heartbeat;

	if (argc != 2)
		return 2;
	alarm(5);
	defer_console = strcmp(argv[1], "broken") != 0;
	for (size_t i = 0; i < CONTAINERS; i++) {
		sem_init(&containers[i].started, 0, 0);
		container_start(&containers[i]);
	}
	for (size_t i = 0; i < CONTAINERS; i++)
		pthread_create(&containers[i].thread, NULL, wait_run, &containers[i]);
	pthread_create(&heartbeat, NULL, heartbeat_run, NULL);
	for (size_t i = 0; i < CONTAINERS; i++)
		sem_wait(&containers[i].started);
	pthread_create(&api[0], NULL, api_run, "api-1");
	pthread_create(&api[1], NULL, api_run, "api-2");
	usleep(60000);
	for (size_t i = 0; i < CONTAINERS; i++)
		container_stop(&containers[i]);
	for (size_t i = 0; i < CONTAINERS; i++)
		pthread_join(containers[i].thread, NULL);
	__atomic_store_n(&quit, true, __ATOMIC_RELAXED);
	pthread_join(api[0], NULL);
	pthread_join(api[1], NULL);
	pthread_join(heartbeat, NULL);
	printf("all containers have stopped\n");
	return 0;
}
