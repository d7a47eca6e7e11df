/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the checker thread chk-sdb was cancelled by reap_overdue() while it read the device's answer in
 *     read_sense() and held sense_lock (no cleanup handler): it is gone and the lock stays locked, so every
 *     later checker waits for sense_lock for ever, and path-loop waits to join them
 *   culprit: chk-sdb|reap_overdue
 *   victim: chk-sdc|path-loop|cli-lsnr
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A small path checker daemon: one short-lived checker thread per path, and a
 * command listener. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PATHS 3

struct path {
	char name[8];
	int host, lun; /* our end and the device's end */
	int answer_ms; /* how long the device takes */
	int up;
	pthread_t checker;
	int finished;
};

static struct path paths[PATHS];
static unsigned char sense[32]; /* one shared sense buffer */
static pthread_mutex_t sense_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t paths_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t path_done = PTHREAD_COND_INITIALIZER;
static int cli[2];

static void nap(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

/* The device: answers a TEST UNIT READY after a while. */
static void *lun_main(void *arg)
{
	struct path *p = arg;
	unsigned char cdb[6], answer[32] = {0x70};
	char name[16];

	snprintf(name, sizeof name, "lun-%s", p->name);
	pthread_setname_np(pthread_self(), name);
	while (read(p->lun, cdb, sizeof cdb) == (ssize_t)sizeof cdb) {
		nap(p->answer_ms);
		if (send(p->lun, answer, sizeof answer, MSG_NOSIGNAL) < 0)
			break;
	}
	return NULL;
}

static __attribute__((noinline)) int read_sense(struct path *p)
{
	int key;

	pthread_mutex_lock(&sense_lock);
	if (read(p->host, sense, sizeof sense) != (ssize_t)sizeof sense) {
		pthread_mutex_unlock(&sense_lock);
		return -1;
	}
	key = sense[2] & 0xf;
	pthread_mutex_unlock(&sense_lock);
	return key;
}

static __attribute__((noinline)) int test_unit_ready(struct path *p)
{
	static const unsigned char cdb[6];

	if (write(p->host, cdb, sizeof cdb) != (ssize_t)sizeof cdb)
		return -1;
	return read_sense(p);
}

static void *checker_main(void *arg)
{
	struct path *p = arg;
	int key = test_unit_ready(p);

	pthread_mutex_lock(&paths_lock);
	p->up = key == 0;
	p->finished = 1;
	pthread_cond_broadcast(&path_done);
	pthread_mutex_unlock(&paths_lock);
	return NULL;
}

static __attribute__((noinline)) void start_checker(struct path *p)
{
	char name[16];

	p->finished = 0;
	if (pthread_create(&p->checker, NULL, checker_main, p))
		abort();
	snprintf(name, sizeof name, "chk-%s", p->name);
	pthread_setname_np(p->checker, name);
}

/* A checker that is over its time is cancelled; its path counts as down. */
static __attribute__((noinline)) int reap_overdue(struct path *p, int limit_ms)
{
	struct timespec end;
	int r = 0, overdue;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += limit_ms * 1000000L;
	end.tv_sec += end.tv_nsec / 1000000000L;
	end.tv_nsec %= 1000000000L;
	pthread_mutex_lock(&paths_lock);
	while (!p->finished && r != ETIMEDOUT)
		r = pthread_cond_timedwait(&path_done, &paths_lock, &end);
	overdue = !p->finished;
	if (overdue)
		p->up = 0;
	pthread_mutex_unlock(&paths_lock);
	if (overdue)
		pthread_cancel(p->checker);
	return overdue;
}

static __attribute__((noinline)) void check_first_time(struct path *p)
{
	start_checker(p);
	if (reap_overdue(p, 300))
		fprintf(stderr, "%s: checker timed out\n", p->name);
	pthread_join(p->checker, NULL);
}

/* The last path of a map is checked without a limit: better slow than no path
 * at all. */
static __attribute__((noinline)) void check_last_resort(struct path *p)
{
	start_checker(p);
	pthread_join(p->checker, NULL);
}

static void *loop_main(void *arg)
{
	(void)arg;
	for (int i = 0; i < PATHS - 1; i++)
		check_first_time(&paths[i]);
	check_last_resort(&paths[PATHS - 1]);
	if (write(cli[1], "ready\n", 6) != 6)
		abort();
	return NULL;
}

static void *listener_main(void *arg)
{
	char line[16];

	(void)arg;
	if (read(cli[0], line, sizeof line) > 0)
		for (int i = 0; i < PATHS; i++)
			printf("%s %s\n", paths[i].name, paths[i].up ? "active" : "failed");
	return NULL;
}

int main(int argc, char **argv)
{
	int broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_t loop, listener, t;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, cli))
		return 1;
	for (int i = 0; i < PATHS; i++) {
		int sv[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv))
			return 1;
		snprintf(paths[i].name, sizeof paths[i].name, "sd%c", 'a' + i);
		paths[i].host = sv[0];
		paths[i].lun = sv[1];
		paths[i].answer_ms = i == 1 && broken ? 800 : 20; /* sdb's array is busy */
		if (pthread_create(&t, NULL, lun_main, &paths[i]))
			return 1;
		pthread_detach(t);
	}
	if (pthread_create(&listener, NULL, listener_main, NULL) ||
		pthread_create(&loop, NULL, loop_main, NULL))
		return 1;
	pthread_setname_np(listener, "cli-lsnr");
	pthread_setname_np(loop, "path-loop");
	pthread_join(loop, NULL);
	pthread_join(listener, NULL);
	return 0;
}
