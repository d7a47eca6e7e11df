/* SPDX-License-Identifier: ISC */
/* A program that waits for a mutex which a child has. The argument says what the child does; "often" is as
 * "keep", but a thread waits for a condition with the mutex, which others take before. "single" and
 * "single-end" are as "give" and "end", but the program has no other thread. SIGALRM ends it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct shared {
	pthread_mutex_t mutex;
	int turns;
} * shared;

static void *take_turn(void *data)
{
	pthread_mutex_lock(&shared->mutex);
	shared->turns++;
	pthread_mutex_unlock(&shared->mutex);
	return data;
}

static void *wait_for_news(void *data)
{
	pthread_mutex_lock(&shared->mutex);
	pthread_cond_wait(data, &shared->mutex);
	pthread_mutex_unlock(&shared->mutex);
	return data;
}

static void take_often(void)
{
	static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
	pthread_t thread;

	pthread_create(&thread, NULL, wait_for_news, &news);
	usleep(100000);
	for (int i = 0; i < 3; i++)
		take_turn(NULL);
}

/* Takes the mutex, and tells so by closing the pipe. */
static void hold(const char *what, int ends[2])
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "holder");
	pthread_mutex_lock(&shared->mutex);
	close(ends[1]);
	if (strcmp(what, "keep") == 0 || strcmp(what, "often") == 0)
		sleep(20);
	if (strcmp(what, "give") == 0 || strcmp(what, "single") == 0)
		usleep(300000);
	if (strcmp(what, "end") != 0 && strcmp(what, "single-end") != 0)
		pthread_mutex_unlock(&shared->mutex);
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pthread_mutexattr_t attributes;
	pthread_t threads[2];
	int ends[2];
	pid_t child;

	alarm(1);
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	if (shared == MAP_FAILED || pipe(ends) < 0)
		return 1;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->mutex, &attributes);
	if (strcmp(what, "often") == 0)
		take_often();
	child = fork();
	if (child == 0)
		hold(what, ends);
	close(ends[1]);
	if (read(ends[0], &(char){0}, 1) != 0)
		return 1;
	/* The program has no other thread. */
	if (strncmp(what, "single", 6) == 0) {
		if (strcmp(what, "single-end") == 0)
			waitpid(child, NULL, 0);
		take_turn(NULL);
		printf("%d turns\n", shared->turns);
		return 0;
	}
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, take_turn, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d turns\n", shared->turns);
	return 0;
}
