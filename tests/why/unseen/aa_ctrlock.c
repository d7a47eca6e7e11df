/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: remove_container (main) waits for the lock of the container, which the child cleanup holds;
 *     cleanup reads the container's output to its end first, and the other end of that pipe is open in
 *     main, which closes it only after it has the lock.
 *   culprit: cleanup|remove_container|lock_container
 *   victim: event-log|write_events
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about podman: `podman ps` hangs in fcntl on the lock of a container that another process
 * holds. A tool that runs a container, and forks a process that tidies up after it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct container {
	int lock, log; /* files without names */
	int output[2]; /* a pipe: the container writes, cleanup reads */
	int ready[2];  /* cleanup says that it began */
	pid_t cleanup;
};

static pthread_mutex_t event_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t event_added = PTHREAD_COND_INITIALIZER;
static const char *events[8];
static int event_count;
static bool broken;

static void add_event(const char *text)
{
	pthread_mutex_lock(&event_lock);
	events[event_count++] = text;
	pthread_cond_signal(&event_added);
	pthread_mutex_unlock(&event_lock);
}

static void *write_events(void *data)
{
	int shown = 0;

	(void)data;
	pthread_setname_np(pthread_self(), "event-log");
	pthread_mutex_lock(&event_lock);
	do {
		while (shown == event_count)
			pthread_cond_wait(&event_added, &event_lock);
		printf("event: %s\n", events[shown]);
	} while (strcmp(events[shown++], "removed"));
	pthread_mutex_unlock(&event_lock);
	return NULL;
}

/* Returns a new file without a name in the file system; it goes with its last descriptor. */
static int make_file(const char *kind)
{
	char path[64];
	int descriptor;

	snprintf(path, sizeof(path), "/tmp/pods-%s-XXXXXX", kind);
	descriptor = mkostemp(path, O_CLOEXEC);
	if (descriptor < 0) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	unlink(path);
	return descriptor;
}

/* Locks the container for this process. The children of the tool work on it at the same time. */
static void lock_container(const struct container *container)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(container->lock, F_SETLKW, &whole)) {
		perror("lock");
		exit(EXIT_FAILURE);
	}
}

static void unlock_container(const struct container *container)
{
	struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

	fcntl(container->lock, F_SETLK, &whole);
}

static _Noreturn void run_cleanup(const struct container *container, pid_t parent)
{
	char bytes[256];
	ssize_t size;

	prctl(PR_SET_NAME, "cleanup");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	close(container->output[1]);
	lock_container(container);
	if (write(container->ready[1], "r", 1) != 1)
		_exit(1);
	/* The rest of the output belongs into the log before the container counts as stopped. */
	while ((size = read(container->output[0], bytes, sizeof(bytes))) > 0)
		if (write(container->log, bytes, (size_t)size) != size)
			break;
	unlock_container(container);
	_exit(0);
}

static void start_container(struct container *container)
{
	pid_t parent = getpid();

	container->lock = make_file("lock");
	container->log = make_file("log");
	if (pipe2(container->output, O_CLOEXEC) || pipe2(container->ready, O_CLOEXEC))
		exit(EXIT_FAILURE);
	fflush(stdout);
	container->cleanup = fork();
	if (container->cleanup < 0)
		exit(EXIT_FAILURE);
	if (container->cleanup == 0)
		run_cleanup(container, parent);
	close(container->output[0]);
	container->output[0] = -1;
}

static void detach(struct container *container)
{
	if (container->output[1] >= 0)
		close(container->output[1]);
	container->output[1] = -1;
}

static void remove_container(struct container *container)
{
	if (!broken)
		detach(container);
	lock_container(container);
	detach(container);
	waitpid(container->cleanup, NULL, 0);
	close(container->log);
	close(container->lock);
}

int main(int argc, char **argv)
{
	struct container web = {.cleanup = 0};
	pthread_t log;
	char byte;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	start_container(&web);
	pthread_create(&log, NULL, write_events, NULL);
	add_event("started");
	for (int i = 0; i < 20; i++)
		if (dprintf(web.output[1], "GET /%d 200\n", i) < 0)
			break;
	if (read(web.ready[0], &byte, 1) != 1)
		return EXIT_FAILURE;
	add_event("died");
	remove_container(&web);
	add_event("removed");
	pthread_join(log, NULL);
	return EXIT_SUCCESS;
}
