/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the handler on_hup calls rotate_log, which takes log_mutex. It interrupts the thread ingest
 *     inside log_line, which holds log_mutex already, so ingest waits for itself; query and main wait for
 *     the mutex, or for ingest.
 *   culprit: on_hup|rotate_log
 *   victim: query|main|ingest
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A server that writes an audit log, which SIGHUP rotates. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define RECORDS 70

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static int log_file = -1;
static unsigned log_lines;
static atomic_uint rotations;
static volatile sig_atomic_t wants_rotation;
static atomic_bool is_ingested;

static void pause_us(long us)
{
	struct timespec left = {0, us * 1000};

	while (nanosleep(&left, &left) && errno == EINTR)
		continue;
}

static int open_log(void)
{
	int file = memfd_create("audit.log", MFD_CLOEXEC);

	if (file < 0)
		abort();
	return file;
}

/* Begins a new file; the old one is full. */
static void rotate_log(void)
{
	int old, new = open_log();

	pthread_mutex_lock(&log_mutex);
	old = log_file;
	log_file = new;
	pthread_mutex_unlock(&log_mutex);
	close(old);
	atomic_fetch_add(&rotations, 1);
}

static void on_hup(int signal)
{
	(void)signal;
	rotate_log();
}

static void on_hup_later(int signal)
{
	(void)signal;
	wants_rotation = 1;
}

/* Writes a line, and waits for the disk. */
static void log_line(const char *who, unsigned number, long disk_us)
{
	char line[80];
	int length = snprintf(line, sizeof(line), "%s did %u\n", who, number);

	pthread_mutex_lock(&log_mutex);
	if (write(log_file, line, (size_t)length) != length)
		abort();
	pause_us(disk_us);
	log_lines++;
	pthread_mutex_unlock(&log_mutex);
}

static void *ingest(void *data)
{
	sigset_t hup;

	(void)data;
	sigemptyset(&hup);
	sigaddset(&hup, SIGHUP);
	pthread_sigmask(SIG_UNBLOCK, &hup, NULL);
	for (unsigned i = 0; i < RECORDS; i++) {
		log_line("ingest", i, 6000);
		if (wants_rotation) {
			wants_rotation = 0;
			rotate_log();
		}
		pause_us(1000);
	}
	pthread_sigmask(SIG_BLOCK, &hup, NULL);
	atomic_store(&is_ingested, true);
	return NULL;
}

static void *query(void *data)
{
	unsigned i = 0;

	(void)data;
	while (!atomic_load(&is_ingested)) {
		pause_us(25000);
		log_line("query", i++, 300);
	}
	return NULL;
}

/* The administrator's cron job. */
static void rotate_now_and_then(pid_t pid)
{
	for (unsigned i = 0; i < 14 && !atomic_load(&is_ingested); i++) {
		pause_us(31000);
		kill(pid, SIGHUP);
	}
}

int main(int argc, char **argv)
{
	struct sigaction action;
	pthread_t threads[2];
	sigset_t hup;

	if (argc != 2)
		return 2;
	memset(&action, 0, sizeof(action));
	action.sa_handler = strcmp(argv[1], "healthy") == 0 ? on_hup_later : on_hup;
	action.sa_flags = SA_RESTART;
	sigaction(SIGHUP, &action, NULL);
	sigemptyset(&hup);
	sigaddset(&hup, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &hup, NULL); /* for all but ingest */
	log_file = open_log();
	pthread_create(&threads[0], NULL, ingest, NULL);
	pthread_setname_np(threads[0], "ingest");
	pthread_create(&threads[1], NULL, query, NULL);
	pthread_setname_np(threads[1], "query");
	rotate_now_and_then(getpid());
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%u lines, %u rotations\n", log_lines, atomic_load(&rotations));
	close(log_file);
	return atomic_load(&rotations) > 0 ? 0 : 1;
}
