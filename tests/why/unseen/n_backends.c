/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: backend-2 finds the shared table full while it holds the lock of the statistics, and reports that;
 *     the log hook stores the message in the same table and takes the lock again, so the backend waits for
 *     itself. The other backends wait for the lock, too, and the postmaster for all answers.
 *   culprit: backend-2|emit_log_hook|store_message
 *   victim: backend-[01]|main|collect
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about pg_stat_monitor: all PostgreSQL backends hang in LWLockAcquire; one raised an error
 * while it held the lock, and the extension's own error hook wanted that lock again.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define BACKENDS 3
#define QUERIES 12
#define ENTRIES 5

struct shared {
	pthread_mutex_t pgsm_lock;
	int entries;
	int dropped;
	int messages;
	char text[ENTRIES][32];
};

static struct shared *shared;
static bool healthy;

static void store_message(void)
{
	pthread_mutex_lock(&shared->pgsm_lock);
	shared->messages++;
	pthread_mutex_unlock(&shared->pgsm_lock);
}

/* Each report of a backend passes this hook. */
static void emit_log_hook(const char *report)
{
	store_message();
	if (shared->messages == 1)
		fprintf(stderr, "WARNING: %s\n", report);
}

static void store_query(const char *query)
{
	bool full = false;

	pthread_mutex_lock(&shared->pgsm_lock);
	if (shared->entries < ENTRIES) {
		snprintf(shared->text[shared->entries++], sizeof(shared->text[0]), "%s", query);
	} else {
		__atomic_fetch_add(&shared->dropped, 1, __ATOMIC_RELEASE);
		full = true;
		if (!healthy)
			emit_log_hook("hash table is out of memory");
	}
	pthread_mutex_unlock(&shared->pgsm_lock);
	if (full && healthy)
		emit_log_hook("hash table is out of memory");
}

static void run_backend(int number, int fd)
{
	char name[16], query[32];
	ssize_t size;

	snprintf(name, sizeof(name), "backend-%d", number);
	prctl(PR_SET_NAME, name);
	while ((size = read(fd, query, sizeof(query) - 1)) > 0) {
		query[size] = 0;
		usleep(2000);
		store_query(query);
		if (write(fd, "C", 1) != 1)
			break;
	}
}

static void collect(int fd)
{
	char answer;

	if (read(fd, &answer, 1) != 1)
		fprintf(stderr, "a backend died\n");
}

static void send_query(int fd, int number)
{
	char query[32];
	int size = snprintf(query, sizeof(query), "select %d", number);

	if (write(fd, query, (size_t)size) != size)
		perror("write");
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t kind;
	int fds[BACKENDS][2];
	pid_t parent = getpid();

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	if (shared == MAP_FAILED)
		return 1;
	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->pgsm_lock, &kind);
	for (int i = 0; i < BACKENDS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds[i]))
			return 1;
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != parent)
				_exit(1);
			for (int k = 0; k <= i; k++)
				close(fds[k][0]);
			run_backend(i, fds[i][1]);
			_exit(0);
		}
		close(fds[i][1]);
	}
	/* The first queries come one by one; the sixth finds the table full. */
	for (int i = 0; i < ENTRIES; i++) {
		send_query(fds[i % BACKENDS][0], i);
		collect(fds[i % BACKENDS][0]);
	}
	send_query(fds[ENTRIES % BACKENDS][0], ENTRIES);
	/* The monitor shows the dropped query, then the other backends get work, too. */
	while (!__atomic_load_n(&shared->dropped, __ATOMIC_ACQUIRE))
		usleep(2000);
	for (int i = 0; i < ENTRIES % BACKENDS; i++)
		send_query(fds[i][0], ENTRIES + 1 + i);
	for (int i = BACKENDS - 1; i >= 0; i--)
		collect(fds[i][0]);
	for (int i = 0; i < QUERIES; i++) {
		send_query(fds[i % BACKENDS][0], i);
		collect(fds[i % BACKENDS][0]);
	}
	for (int i = 0; i < BACKENDS; i++)
		close(fds[i][0]);
	while (wait(NULL) > 0)
		continue;
	printf("%d entries, %d dropped, %d messages\n", shared->entries, shared->dropped,
		shared->messages);
	return 0;
}
