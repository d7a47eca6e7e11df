/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: start_indexer forks a helper that lives on and has inherited the locked descriptor of the store;
 *     when main closes its own, the indexer still has the lock, and the pullers wait in store_lock for ever
 *   culprit: start_indexer|run_indexer|indexer
 *   victim: puller|pull|store_lock|main|wait_for_pullers
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Mirrors repositories: each is pulled by a process; they share a store, which is locked with flock. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PULLERS 3

struct store {
	char path[64];
	bool close_in_helper;
	int lock_fd;
};

struct store_header {
	char magic[8];
	uint32_t version;
	uint32_t packs;
};

struct index_request {
	uint32_t repository;
	uint32_t objects;
};

static struct store store = {.lock_fd = -1};
static const char *const repositories[PULLERS] = {"linux", "git", "musl"};

static void nap_ms(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void store_lock(struct store *s)
{
	s->lock_fd = open(s->path, O_RDWR);
	if (s->lock_fd < 0)
		die(s->path);
	while (flock(s->lock_fd, LOCK_EX) < 0)
		if (errno != EINTR)
			die("flock");
}

/* The lock goes with the descriptor. */
static void store_unlock(struct store *s)
{
	close(s->lock_fd);
	s->lock_fd = -1;
}

static void store_add_pack(struct store *s)
{
	struct store_header header;

	if (pread(s->lock_fd, &header, sizeof(header), 0) != sizeof(header))
		die("read header");
	header.packs++;
	nap_ms(15);
	if (pwrite(s->lock_fd, &header, sizeof(header), 0) != sizeof(header))
		die("write header");
}

/* Answers with the number of objects that are indexed now, until all clients are gone. */
static void run_indexer(int socket)
{
	struct index_request request;
	uint32_t total = 0;

	while (read(socket, &request, sizeof(request)) == sizeof(request)) {
		total += request.objects;
		nap_ms(4);
		if (write(socket, &total, sizeof(total)) != sizeof(total))
			break;
	}
}

/* Starts the helper that indexes objects; returns the socket for requests. */
static int start_indexer(struct store *s, pid_t *pid)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) < 0)
		die("socketpair");
	*pid = fork();
	if (*pid < 0)
		die("fork");
	if (!*pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "indexer");
		close(ends[0]);
		if (s->close_in_helper)
			close(s->lock_fd);
		run_indexer(ends[1]);
		_exit(0);
	}
	close(ends[1]);
	return ends[0];
}

/* Checks the store and makes it new if need be. */
static void store_open(struct store *s, int *indexer, pid_t *indexer_pid)
{
	struct store_header header = {"mirror1", 1, 0};

	store_lock(s);
	if (pread(s->lock_fd, &header, sizeof(header), 0) <= 0)
		if (pwrite(s->lock_fd, &header, sizeof(header), 0) != sizeof(header))
			die("write header");
	*indexer = start_indexer(s, indexer_pid);
	store_unlock(s);
}

static int pull(int number)
{
	nap_ms(10 + 7 * number); /* the network */
	store_lock(&store);
	store_add_pack(&store);
	store_unlock(&store);
	return 0;
}

static void start_puller(int number, pid_t *pid, int indexer)
{
	char name[16];

	*pid = fork();
	if (*pid < 0)
		die("fork");
	if (*pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(name, sizeof(name), "puller-%d", number);
	prctl(PR_SET_NAME, name);
	close(indexer);
	_exit(pull(number));
}

/* Waits for each puller, and has indexed what it brought. */
static int wait_for_pullers(pid_t *pullers, int indexer)
{
	int status, failed = 0;

	for (int i = 0; i < PULLERS; i++) {
		struct index_request request = {i, 100 * (i + 1)};
		uint32_t total;

		if (waitpid(pullers[i], &status, 0) < 0 || status) {
			failed++;
			continue;
		}
		if (write(indexer, &request, sizeof(request)) != sizeof(request) ||
			read(indexer, &total, sizeof(total)) != sizeof(total))
			die("indexer");
		printf("%s: %u objects in all\n", repositories[i], total);
	}
	return failed;
}

int main(int argc, char **argv)
{
	pid_t pullers[PULLERS], indexer_pid;
	int file, indexer, failed;

	store.close_in_helper = argc > 1 && !strcmp(argv[1], "healthy");
	file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	if (file < 0)
		die("/tmp");
	snprintf(store.path, sizeof(store.path), "/proc/%d/fd/%d", (int)getpid(), file);
	store_open(&store, &indexer, &indexer_pid);
	for (int i = 0; i < PULLERS; i++)
		start_puller(i, &pullers[i], indexer);
	failed = wait_for_pullers(pullers, indexer);
	close(indexer);
	waitpid(indexer_pid, NULL, 0);
	return failed != 0;
}
