/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: wal_flush makes a group of several commits durable but wakes only one of the sessions that wait
 *     for them (cnd_signal instead of cnd_broadcast on wal.durable). The others sleep on in wal_commit,
 *     though their records are on disk; when the awakened sessions are done, nobody flushes again.
 *   culprit: wal_flush|wal_writer|walwriter
 *   victim: session|wal_commit|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Group commit of a write-ahead log: sessions append records, one thread writes and syncs them in groups. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define SESSIONS 6
#define COMMITS 8
#define RECORD 96

struct wal {
	mtx_t lock;
	cnd_t dirty;   /* there are records to write, or the log is to close */
	cnd_t durable; /* `flushed` has grown */
	int (*announce)(cnd_t *);
	char buffer[SESSIONS * RECORD * 4];
	size_t used;
	uint64_t appended, flushed; /* sequence numbers of records */
	uint64_t flushes;
	int file;
	int closing;
};

struct session {
	thrd_t thread;
	struct wal *wal;
	int number;
	int committed;
};

struct checkpointer {
	struct wal *wal;
	mtx_t lock;
	cnd_t wake;
	int stop;
	int checkpoints;
};

static void pause_us(long us)
{
	thrd_sleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static void set_name(const char *format, int number)
{
	char name[16];

	snprintf(name, sizeof(name), format, number);
	pthread_setname_np(pthread_self(), name);
}

/* Returns when the record is on disk. */
static uint64_t wal_commit(struct wal *wal, const char *record, size_t size)
{
	uint64_t lsn;

	mtx_lock(&wal->lock);
	memcpy(wal->buffer + wal->used, record, size);
	wal->used += size;
	lsn = ++wal->appended;
	cnd_signal(&wal->dirty);
	while (wal->flushed < lsn)
		cnd_wait(&wal->durable, &wal->lock);
	mtx_unlock(&wal->lock);
	return lsn;
}

/* Writes what has been appended so far. The caller holds the lock, which is free during the write. */
static int wal_flush(struct wal *wal)
{
	static char group[sizeof(wal->buffer)];
	uint64_t target = wal->appended;
	size_t size = wal->used;
	ssize_t written;

	memcpy(group, wal->buffer, size);
	wal->used = 0;
	mtx_unlock(&wal->lock);
	written = write(wal->file, group, size);
	fdatasync(wal->file);
	pause_us(3000); /* the disk */
	mtx_lock(&wal->lock);
	if (written != (ssize_t)size)
		return -1;
	wal->flushed = target;
	wal->flushes++;
	wal->announce(&wal->durable);
	return 0;
}

static int wal_writer(void *data)
{
	struct wal *wal = data;
	int result = 0;

	set_name("walwriter", 0);
	mtx_lock(&wal->lock);
	for (;;) {
		while (wal->appended == wal->flushed && !wal->closing)
			cnd_wait(&wal->dirty, &wal->lock);
		if (wal->appended == wal->flushed)
			break;
		result = wal_flush(wal);
		if (result)
			break;
	}
	mtx_unlock(&wal->lock);
	return result;
}

static int session_run(void *data)
{
	struct session *session = data;
	char record[RECORD];

	set_name("session-%d", session->number);
	for (int i = 0; i < COMMITS; i++) {
		memset(record, 0, sizeof(record));
		snprintf(record, sizeof(record), "update accounts set n = %d where id = %d", i,
			session->number);
		pause_us(400 + 150 * (session->number % 3));
		wal_commit(session->wal, record, sizeof(record));
		session->committed++;
	}
	return 0;
}

/* Looks now and then at how long the log is. */
static int checkpointer_run(void *data)
{
	struct checkpointer *self = data;
	struct timespec until;

	set_name("checkpointer", 0);
	mtx_lock(&self->lock);
	while (!self->stop) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 25000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000;
		}
		if (cnd_timedwait(&self->wake, &self->lock, &until) == thrd_timedout)
			self->checkpoints++;
	}
	mtx_unlock(&self->lock);
	return 0;
}

static void wal_open(struct wal *wal, int (*announce)(cnd_t *))
{
	mtx_init(&wal->lock, mtx_plain);
	cnd_init(&wal->dirty);
	cnd_init(&wal->durable);
	wal->announce = announce;
	wal->file = memfd_create("wal", MFD_CLOEXEC);
}

static int wal_close(struct wal *wal, thrd_t writer)
{
	int result;

	mtx_lock(&wal->lock);
	wal->closing = 1;
	cnd_signal(&wal->dirty);
	mtx_unlock(&wal->lock);
	thrd_join(writer, &result);
	close(wal->file);
	cnd_destroy(&wal->dirty);
	cnd_destroy(&wal->durable);
	mtx_destroy(&wal->lock);
	return result;
}

int main(int argc, char **argv)
{
	static struct wal wal;
	static struct session sessions[SESSIONS];
	static struct checkpointer checkpointer;
	thrd_t writer, checkpoints;
	int committed = 0, result;

	if (argc != 2)
		return 2;
	wal_open(&wal, strcmp(argv[1], "broken") ? cnd_broadcast : cnd_signal);
	mtx_init(&checkpointer.lock, mtx_timed);
	cnd_init(&checkpointer.wake);
	thrd_create(&writer, wal_writer, &wal);
	thrd_create(&checkpoints, checkpointer_run, &checkpointer);
	for (int i = 0; i < SESSIONS; i++) {
		sessions[i].wal = &wal;
		sessions[i].number = i + 1;
		thrd_create(&sessions[i].thread, session_run, &sessions[i]);
	}
	for (int i = 0; i < SESSIONS; i++) {
		thrd_join(sessions[i].thread, NULL);
		committed += sessions[i].committed;
	}
	mtx_lock(&checkpointer.lock);
	checkpointer.stop = 1;
	cnd_signal(&checkpointer.wake);
	mtx_unlock(&checkpointer.lock);
	thrd_join(checkpoints, NULL);
	result = wal_close(&wal, writer);
	printf("%d commits in %llu flushes, %d checkpoints\n", committed,
		(unsigned long long)wal.flushes, checkpointer.checkpoints);
	return result || committed != SESSIONS * COMMITS;
}
