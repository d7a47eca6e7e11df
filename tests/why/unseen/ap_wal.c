/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=backend-3
 *   truth: backend-3's commit waits for wal-writer, which waits in send_to_standby() for the acknowledgement
 *     of walreceiver, which waits for catalog_lock; checkpointer holds it while it sleeps in
 *     pace_checkpoint() (500 ms): the checkpointer is what makes backend-3 slow
 *   culprit: checkpointer|pace_checkpoint
 *   victim: backend-3|wal-writer|walreceiver|commit_txn
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A toy database with synchronous replication: backends, a log writer, a
 * standby and a checkpointer. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BACKENDS 4

struct record {
	int lsn;
	char kind; /* 'd' data, 'c' catalog change */
};

static pthread_mutex_t wal_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wal_work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t wal_flushed = PTHREAD_COND_INITIALIZER;
static struct record wal[64];
static int inserted, flushed, stopping;

static pthread_mutex_t catalog_lock = PTHREAD_MUTEX_INITIALIZER;
static int catalog_version;
static int dirty_pages;
static int standby[2];

static void nap(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static void start(pthread_t *t, const char *name, void *(*f)(void *), void *arg)
{
	if (pthread_create(t, NULL, f, arg))
		abort();
	pthread_setname_np(*t, name);
}

static __attribute__((noinline)) void commit_txn(char kind)
{
	int lsn;

	pthread_mutex_lock(&wal_lock);
	lsn = ++inserted;
	wal[lsn] = (struct record){lsn, kind};
	pthread_cond_signal(&wal_work);
	while (flushed < lsn)
		pthread_cond_wait(&wal_flushed, &wal_lock);
	pthread_mutex_unlock(&wal_lock);
}

static void *backend_main(void *arg)
{
	int id = *(int *)arg;

	nap(id == 3 ? 200 : 20 * id);
	commit_txn(id == 3 ? 'c' : 'd');
	return NULL;
}

static __attribute__((noinline)) void send_to_standby(const struct record *r)
{
	int ack;

	if (write(standby[0], r, sizeof *r) != (ssize_t)sizeof *r)
		abort();
	if (read(standby[0], &ack, sizeof ack) != (ssize_t)sizeof ack || ack != r->lsn)
		abort();
}

static void *wal_writer_main(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&wal_lock);
	for (;;) {
		struct record r;

		while (flushed == inserted && !stopping)
			pthread_cond_wait(&wal_work, &wal_lock);
		if (flushed == inserted)
			break;
		r = wal[flushed + 1];
		pthread_mutex_unlock(&wal_lock);
		send_to_standby(&r);
		pthread_mutex_lock(&wal_lock);
		flushed = r.lsn;
		pthread_cond_broadcast(&wal_flushed);
	}
	pthread_mutex_unlock(&wal_lock);
	shutdown(standby[0], SHUT_WR);
	return NULL;
}

static __attribute__((noinline)) void replay_catalog_change(void)
{
	pthread_mutex_lock(&catalog_lock);
	catalog_version++;
	pthread_mutex_unlock(&catalog_lock);
}

static void *walreceiver_main(void *arg)
{
	struct record r;

	(void)arg;
	while (read(standby[1], &r, sizeof r) == (ssize_t)sizeof r) {
		if (r.kind == 'c')
			replay_catalog_change();
		if (write(standby[1], &r.lsn, sizeof r.lsn) != (ssize_t)sizeof r.lsn)
			abort();
	}
	return NULL;
}

/* Spreads a checkpoint over time, so that the disk is not flooded. */
static __attribute__((noinline)) void pace_checkpoint(void)
{
	nap(50);
}

static __attribute__((noinline)) void write_catalog_pages(void)
{
	pthread_mutex_lock(&catalog_lock);
	while (dirty_pages > 0) {
		dirty_pages--;
		if (dirty_pages)
			pace_checkpoint();
	}
	pthread_mutex_unlock(&catalog_lock);
}

static void *checkpointer_main(void *arg)
{
	(void)arg;
	nap(100);
	write_catalog_pages();
	return NULL;
}

int main(int argc, char **argv)
{
	int broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_t writer, receiver, ckpt, b[BACKENDS];
	int ids[BACKENDS];

	dirty_pages = broken ? 13 : 1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, standby))
		return 1;
	start(&writer, "wal-writer", wal_writer_main, NULL);
	start(&receiver, "walreceiver", walreceiver_main, NULL);
	start(&ckpt, "checkpointer", checkpointer_main, NULL);
	for (int i = 0; i < BACKENDS; i++) {
		char name[16];

		ids[i] = i;
		snprintf(name, sizeof name, "backend-%d", i);
		start(&b[i], name, backend_main, &ids[i]);
	}
	for (int i = 0; i < BACKENDS; i++)
		pthread_join(b[i], NULL);
	pthread_mutex_lock(&wal_lock);
	stopping = 1;
	pthread_cond_signal(&wal_work);
	pthread_mutex_unlock(&wal_lock);
	pthread_join(writer, NULL);
	pthread_join(receiver, NULL);
	pthread_join(ckpt, NULL);
	printf("flushed %d, catalog version %d\n", flushed, catalog_version);
	return 0;
}
