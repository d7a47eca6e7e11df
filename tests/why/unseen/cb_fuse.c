/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: libfuse #997, #1572 and pull request #1201 (seen in xdg-desktop-portal #2083: it hangs at the end). session_exit
 *     only sets a flag. session_loop waits for the semaphore se.finish, which only a worker posts that leaves its
 *     loop; the workers sit in read and never look at the flag, as the kernel sends no more requests. So
 *     session_loop never returns, and unmount waits for its thread for ever.
 *   culprit: session_exit|finish|fuse.worker|session_loop
 *   victim: unmount|main\b
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* A file system in user space that shows documents: the kernel (a process here) sends requests to workers. */
#include <pthread.h>
#include <semaphore.h>
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

#define WORKERS 3

struct request {
	unsigned unique;
	unsigned opcode;
	char path[56];
};

struct session {
	int fd;
	atomic_bool exited;
	sem_t finish;
	pthread_t loop;
	pthread_t workers[WORKERS];
	pthread_mutex_t lock;
	unsigned served; /* under lock */
};

static bool fixed;
static struct session se;

static void do_lookup(struct request *request)
{
	snprintf(request->path, sizeof(request->path), "inode %u", request->unique * 7);
	usleep(500);
}

static void *fuse_worker(void *data)
{
	struct session *session = data;
	struct request request;

	while (!session->exited) {
		if (read(session->fd, &request, sizeof(request)) != sizeof(request))
			break;
		do_lookup(&request);
		if (write(session->fd, &request, sizeof(request)) != sizeof(request))
			break;
		pthread_mutex_lock(&session->lock);
		session->served++;
		pthread_mutex_unlock(&session->lock);
	}
	session->exited = true;
	sem_post(&session->finish);
	return NULL;
}

static void *session_loop(void *data)
{
	struct session *session = data;
	char name[16];
	unsigned i;

	for (i = 0; i < WORKERS; i++) {
		if (pthread_create(&session->workers[i], NULL, fuse_worker, session))
			exit(1);
		snprintf(name, sizeof(name), "fuse worker %u", i);
		pthread_setname_np(session->workers[i], name);
	}
	while (!session->exited)
		sem_wait(&session->finish);
	for (i = 0; i < WORKERS; i++)
		pthread_cancel(session->workers[i]);
	for (i = 0; i < WORKERS; i++)
		pthread_join(session->workers[i], NULL);
	return NULL;
}

static void session_exit(struct session *session)
{
	session->exited = true;
	if (fixed)
		sem_post(&session->finish);
}

/* The kernel: a program lists a directory; then it keeps a file open, so that the mount stays alive. */
static void kernel(int fd)
{
	struct request request;
	unsigned i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "kernel");
	for (i = 0; i < 120; i++) {
		memset(&request, 0, sizeof(request));
		request.unique = i;
		request.opcode = 1;
		snprintf(request.path, sizeof(request.path), "/doc/%u", i);
		if (write(fd, &request, sizeof(request)) != sizeof(request) ||
			read(fd, &request, sizeof(request)) != sizeof(request))
			_exit(1);
		usleep(3000);
	}
	for (;;)
		pause();
}

/* The portal's other work: it exports documents over the bus. */
static void *bus_thread(void *data)
{
	volatile unsigned *calls = data;

	for (;;) {
		usleep(40000);
		++*calls;
	}
	return NULL;
}

static void mount_documents(int fd)
{
	se.fd = fd;
	pthread_mutex_init(&se.lock, NULL);
	sem_init(&se.finish, 0, 0);
	if (pthread_create(&se.loop, NULL, session_loop, &se))
		exit(1);
	pthread_setname_np(se.loop, "fuse loop");
}

static void unmount_documents(void)
{
	session_exit(&se);
	pthread_join(se.loop, NULL);
	printf("unmounted after %u requests\n", se.served);
}

int main(int argc, char **argv)
{
	static unsigned calls;
	pthread_t bus;
	int ends[2];
	pid_t child;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		return 1;
	child = fork();
	if (child < 0)
		return 1;
	if (!child) {
		close(ends[0]);
		kernel(ends[1]);
	}
	close(ends[1]);
	if (pthread_create(&bus, NULL, bus_thread, &calls))
		return 1;
	pthread_setname_np(bus, "bus");
	mount_documents(ends[0]);
	usleep(1300000);
	unmount_documents();
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
