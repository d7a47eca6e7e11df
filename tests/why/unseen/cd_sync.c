/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: conmon pull request #76 ("close the sync pipe before exit command"): the engine (start_container) holds
 *     the container's flock while it reads the monitor's sync pipe. The runtime of the seventh container fails. The
 *     monitor runs the exit command and waits for its end with the sync pipe still open; the exit command (cleanup)
 *     waits for the flock that the engine holds. So engine, monitor and cleanup wait for each other in a ring.
 *   culprit: cleanup|run_exit_command|monitor|container-7|flock|lock_container
 *   victim: main\b|start_container
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* A container engine: each container is started by a monitor, a process of its own, which tells by a pipe how it
 * went, and runs an exit command when the container has ended. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTAINERS 9

struct container {
	int number;
	bool bad_image; /* the runtime can't start it */
};

static char folder[] = "/tmp/engine-XXXXXX";
static bool close_first;
static atomic_int running, failed, cleaned;

static int lock_container(const struct container *container)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "%s/container-%d.lock", folder, container->number);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX)) {
		perror(name);
		exit(1);
	}
	return fd;
}

static void unlock_container(int fd)
{
	close(fd);
}

/* ---- the exit command, a process ---- */

/* Unmounts the container's file system, and notes that it is gone. */
static int cleanup(const struct container *container)
{
	char name[96];
	int lock, fd;

	prctl(PR_SET_NAME, "cleanup");
	lock = lock_container(container);
	snprintf(name, sizeof(name), "%s/%d.gone", folder, container->number);
	fd = open(name, O_WRONLY | O_CREAT, 0600);
	if (fd >= 0)
		close(fd);
	unlock_container(lock);
	return 0;
}

/* ---- the monitor, a process ---- */

static void run_exit_command(const struct container *container)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(cleanup(container));
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static int run_runtime(const struct container *container)
{
	pid_t pid = fork();
	int status = 1;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "runtime");
		usleep(15000);
		_exit(container->bad_image);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	return status;
}

static int monitor(const struct container *container, int sync)
{
	prctl(PR_SET_NAME, "monitor");
	if (run_runtime(container)) {
		if (close_first)
			close(sync);
		run_exit_command(container);
		return 1;
	}
	if (write(sync, "+", 1) != 1)
		return 1;
	close(sync);
	usleep(60000); /* the container's life */
	run_exit_command(container);
	return 0;
}

/* ---- the engine ---- */

static bool start_container(const struct container *container)
{
	int sync[2], lock;
	char started;
	bool well;
	pid_t pid;

	lock = lock_container(container);
	if (pipe2(sync, O_CLOEXEC))
		exit(1);
	pid = fork();
	if (pid < 0)
		exit(1);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(lock);
		close(sync[0]);
		_exit(monitor(container, sync[1]));
	}
	close(sync[1]);
	well = read(sync[0], &started, 1) == 1;
	close(sync[0]);
	unlock_container(lock);
	return well;
}

static void reap_monitors(int flags)
{
	while (waitpid(-1, NULL, flags) > 0)
		continue;
}

static void *list_containers(void *data)
{
	(void)data;
	for (;;) {
		usleep(100000);
		printf("%d started, %d failed, %d gone\n", atomic_load(&running),
			atomic_load(&failed), atomic_load(&cleaned));
		fflush(stdout);
	}
	return NULL;
}

static void remove_files(void)
{
	char name[96];
	int i;

	for (i = 1; i <= CONTAINERS; i++) {
		snprintf(name, sizeof(name), "%s/%d.gone", folder, i);
		cleaned += !unlink(name);
		snprintf(name, sizeof(name), "%s/container-%d.lock", folder, i);
		unlink(name);
	}
	rmdir(folder);
}

int main(int argc, char **argv)
{
	static struct container containers[CONTAINERS];
	pthread_t thread;
	int i;

	close_first = argc > 1 && !strcmp(argv[1], "healthy");
	if (!mkdtemp(folder))
		return 1;
	if (pthread_create(&thread, NULL, list_containers, NULL))
		return 1;
	pthread_setname_np(thread, "ps");
	for (i = 0; i < CONTAINERS; i++) {
		containers[i].number = i + 1;
		containers[i].bad_image = i == 6;
		if (start_container(&containers[i]))
			running++;
		else
			failed++;
		usleep(20000);
		reap_monitors(WNOHANG);
	}
	reap_monitors(0);
	remove_files();
	printf("%d started, %d failed, %d gone\n", running, failed, cleaned);
	return 0;
}
