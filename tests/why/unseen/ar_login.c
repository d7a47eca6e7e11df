/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=look_up_user
 *   truth: the work snapshot_volume, queued for four volumes at once by snapshot_time, occupies all four
 *     threads of libuv's pool for 300 ms; look_up_user, which takes some milliseconds, waits in the queue of
 *     the pool meanwhile.
 *   culprit: snapshot_volume|snapshot_time
 *   victim: look_up_user
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Checks logins for a file server, on libuv, and takes snapshots of its volumes at times. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uv.h>

#define NLOGINS 26
#define LOGIN_PAUSE 30
#define SNAPSHOT_AFTER 160
#define NVOLUMES 4

struct login {
	uv_work_t work;
	char user[16];
	unsigned hash;
	uint64_t came;
};

struct volume {
	uv_work_t work;
	const char *name;
	int blocks; /* changed since the last snapshot, each 10 ms */
	unsigned checksum;
};

static struct volume volumes[NVOLUMES] = {
	{.name = "home", .blocks = 2},
	{.name = "projects", .blocks = 1},
	{.name = "mail", .blocks = 0},
	{.name = "archive", .blocks = 0},
};
static uv_timer_t login_timer, snapshot_timer;
static int logins_begun, logins_done, snapshots_done, logins_late;

static void sleep_ms(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

static unsigned hash(const char *text, unsigned seed)
{
	for (; *text; text++)
		seed = (seed ^ (unsigned char)*text) * 16777619u;
	return seed;
}

/* In the pool: reads the user's entry, and hashes the password. */
void look_up_user(uv_work_t *work)
{
	struct login *login = work->data;
	int i;

	sleep_ms(4);
	login->hash = 2166136261u;
	for (i = 0; i < 1000; i++)
		login->hash = hash(login->user, login->hash);
}

void user_known(uv_work_t *work, int status)
{
	struct login *login = work->data;

	if (status < 0)
		fprintf(stderr, "login: %s: %s\n", login->user, uv_strerror(status));
	logins_late += uv_now(work->loop) - login->came > 100;
	logins_done++;
	free(login);
}

/* A client wants to log in. */
void client_came(uv_timer_t *timer)
{
	struct login *login = calloc(1, sizeof(*login));

	snprintf(login->user, sizeof(login->user), "user%d", logins_begun);
	login->work.data = login;
	login->came = uv_now(timer->loop);
	uv_queue_work(timer->loop, &login->work, look_up_user, user_known);
	if (++logins_begun == NLOGINS)
		uv_close((uv_handle_t *)timer, NULL);
}

/* In the pool: copies the blocks of a volume that have changed. */
void snapshot_volume(uv_work_t *work)
{
	struct volume *volume = work->data;
	int i;

	volume->checksum = 2166136261u;
	for (i = 0; i < volume->blocks; i++) {
		sleep_ms(10);
		volume->checksum = hash(volume->name, volume->checksum);
	}
}

void snapshot_done(uv_work_t *work, int status)
{
	struct volume *volume = work->data;

	if (status < 0)
		fprintf(stderr, "login: snapshot of %s: %s\n", volume->name, uv_strerror(status));
	volume->blocks = 0;
	snapshots_done++;
}

/* Time for snapshots: of all volumes that have changed. */
void snapshot_time(uv_timer_t *timer)
{
	int i;

	for (i = 0; i < NVOLUMES; i++) {
		if (volumes[i].blocks == 0)
			continue;
		volumes[i].work.data = &volumes[i];
		uv_queue_work(timer->loop, &volumes[i].work, snapshot_volume, snapshot_done);
	}
	uv_close((uv_handle_t *)timer, NULL);
}

int main(int argc, char **argv)
{
	uv_loop_t loop;
	int i;

	if (argc < 2) {
		fprintf(stderr, "usage: %s broken|healthy\n", argv[0]);
		return 2;
	}
	if (!strcmp(argv[1], "broken")) {
		for (i = 0; i < NVOLUMES; i++)
			volumes[i].blocks = 30;
	}
	uv_loop_init(&loop);
	uv_timer_init(&loop, &login_timer);
	uv_timer_start(&login_timer, client_came, 10, LOGIN_PAUSE);
	uv_timer_init(&loop, &snapshot_timer);
	uv_timer_start(&snapshot_timer, snapshot_time, SNAPSHOT_AFTER, 0);
	uv_run(&loop, UV_RUN_DEFAULT);
	printf("login: %d of %d users known, %d late, %d snapshots\n", logins_done, logins_begun,
		logins_late, snapshots_done);
	return uv_loop_close(&loop) ? 1 : 0;
}
