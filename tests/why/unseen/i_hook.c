/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: run_hook forks while the thread "refresher" (refresh_settings) holds settings_lock. The child has a copy of the lock that is held by a thread which it doesn't have; look_up waits for it in the child for ever, and the daemon waits for the child.
 *   culprit: settings_lock|\bchild\b|run_hook
 *   victim: publisher|announce
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A release daemon. For each release it runs a hook in a child process, which only needs a few
 * settings; a thread refreshes the settings meanwhile, and another one announces the releases.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define RELEASES 16

struct setting {
	char name[16];
	char value[32];
};

static bool broken;
static pthread_mutex_t settings_lock = PTHREAD_MUTEX_INITIALIZER;
static struct setting settings[] = {{"channel", "beta"}, {"mirror", "eu-1"}, {"retries", "3"}};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))
static sem_t refresh_wanted, refresh_begun;
static bool refresher_ends;

static pthread_mutex_t release_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t release_changed = PTHREAD_COND_INITIALIZER;
static int released;

static void look_up(const char *name, char value[32])
{
	pthread_mutex_lock(&settings_lock);
	for (size_t i = 0; i < SETTINGS; i++)
		if (!strcmp(settings[i].name, name))
			memcpy(value, settings[i].value, 32);
	pthread_mutex_unlock(&settings_lock);
}

/* Reads the settings anew, from a slow disk. */
static void *refresh_settings(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "refresher");
	for (int generation = 1;; generation++) {
		while (sem_wait(&refresh_wanted))
			continue;
		pthread_mutex_lock(&settings_lock);
		if (refresher_ends)
			break;
		sem_post(&refresh_begun);
		for (size_t i = 0; i < SETTINGS; i++) {
			usleep(5000);
			if (!strcmp(settings[i].name, "mirror"))
				snprintf(settings[i].value, sizeof(settings[i].value), "eu-%d",
					generation % 4);
		}
		pthread_mutex_unlock(&settings_lock);
	}
	pthread_mutex_unlock(&settings_lock);
	return NULL;
}

/* The hook is a function of a plugin, and runs in the child. Uploads to the mirror. */
static int hook(int release, const char *mirror)
{
	char found[32] = "";

	if (!mirror) {
		look_up("mirror", found);
		mirror = found;
	}
	usleep(1000);
	return release >= 0 && mirror[0] ? 0 : 1;
}

/* Returns whether the hook has succeeded. */
static bool run_hook(int release)
{
	pid_t parent = getpid(), pid;
	char mirror[32] = "";
	int status;

	if (!broken)
		look_up("mirror", mirror);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		prctl(PR_SET_NAME, "release-hook");
		_exit(hook(release, broken ? NULL : mirror));
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static void *announce(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "publisher");
	pthread_mutex_lock(&release_lock);
	for (int seen = 0; seen < RELEASES;) {
		while (released == seen)
			pthread_cond_wait(&release_changed, &release_lock);
		seen = released;
		printf("release %d is out\n", seen);
		fflush(stdout);
	}
	pthread_mutex_unlock(&release_lock);
	return NULL;
}

static void publish(void)
{
	for (int i = 0; i < RELEASES; i++) {
		/* Each second release comes with settings of its own. */
		if (i % 2 == 1) {
			sem_post(&refresh_wanted);
			while (sem_wait(&refresh_begun))
				continue;
		}
		if (!run_hook(i))
			continue;
		pthread_mutex_lock(&release_lock);
		released = i + 1;
		pthread_cond_signal(&release_changed);
		pthread_mutex_unlock(&release_lock);
	}
}

int main(int argc, char **argv)
{
	pthread_t refresher, publisher;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&refresh_wanted, 0, 0);
	sem_init(&refresh_begun, 0, 0);
	pthread_create(&refresher, NULL, refresh_settings, NULL);
	pthread_create(&publisher, NULL, announce, NULL);
	publish();
	pthread_mutex_lock(&settings_lock);
	refresher_ends = true;
	pthread_mutex_unlock(&settings_lock);
	sem_post(&refresh_wanted);
	pthread_join(refresher, NULL);
	pthread_join(publisher, NULL);
	return 0;
}
