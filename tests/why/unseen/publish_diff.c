/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   ask: diff good
 *   truth: "publish release" runs when the uploads have begun, not when they have ended, so before the end of
 *          "upload kernel.deb"; the client's GET of that file fails with 404.
 *   culprit: publish release
 *   victim: (GET|client|apt)
 * case: shuffled
 *   args: shuffled
 *   ask: diff good
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

/* A package mirror: upload the files with three threads, then publish the release, then clients come. */
enum {
	FILES = 5
};
static struct {
	const char *name;
	int ms, stored;
	thrum_task upload;
} files[FILES] = {
	{"libc.deb", 30, 0, 0},
	{"bash.deb", 20, 0, 0},
	{"kernel.deb", 140, 0, 0},
	{"vim.deb", 10, 0, 0},
	{"perl.deb", 10, 0, 0},
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int next, begun, stored, shuffled, hasty;

static void *upload(void *data)
{
	thrum_lane_name(data);
	pthread_mutex_lock(&mutex);
	while (next < FILES) {
		int i = next++;

		begun++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (files[i].upload) {
			usleep((unsigned)files[i].ms *
				(shuffled ? 900u + 40u * (unsigned)i : 1000u));
			thrum_task_resolve(files[i].upload);
		}
		pthread_mutex_lock(&mutex);
		files[i].stored = 1;
		stored++;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void fetch(int i)
{
	thrum_task get = thrum_task_createf(THRUM_KIND_REQUEST, "GET /pool/%s", files[i].name);
	int ok;

	THRUM_RUN (get) {
		usleep(3000);
		pthread_mutex_lock(&mutex);
		ok = files[i].stored;
		pthread_mutex_unlock(&mutex);
		if (ok)
			thrum_task_resolve(get);
		else
			thrum_task_fail(get, "404 Not Found");
	}
}

int main(int argc, char **argv)
{
	static char *names[3] = {"uploader 1", "uploader 2", "uploader 3"};
	pthread_t threads[3];
	thrum_task release, upgrade;

	hasty = argc > 1 && !strcmp(argv[1], "bad");
	shuffled = argc > 1 && !strcmp(argv[1], "shuffled");
	for (int i = 0; i < FILES; i++)
		files[i].upload = thrum_task_createf(THRUM_KIND_TASK, "upload %s", files[i].name);
	release = thrum_task_create(THRUM_KIND_TASK, "publish release");
	for (int i = 0; i < 3; i++) {
		pthread_create(&threads[i], NULL, upload, names[shuffled ? 2 - i : i]);
		usleep(shuffled ? 500 : 2000);
	}
	THRUM_RUN (release) {
		for (int i = 0; i < FILES; i++)
			if (!hasty)
				thrum_task_wait(release, files[i].upload);
		pthread_mutex_lock(&mutex);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while ((hasty ? begun : stored) < FILES)
			pthread_cond_wait(&changed, &mutex);
		thrum_resume();
		pthread_mutex_unlock(&mutex);
		for (int i = 0; i < FILES; i++)
			if (!hasty)
				thrum_task_read(release, files[i].upload);
		usleep(8000); /* sign it */
		thrum_task_resolve(release);
	}
	upgrade = thrum_task_create(THRUM_KIND_TASK, "apt upgrade");
	THRUM_RUN (upgrade) {
		for (int i = 0; i < FILES; i++)
			fetch(i);
		thrum_task_resolve(upgrade);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
