/* SPDX-License-Identifier: ISC */
/*
 * case: healthy
 *   args: healthy
 *   run: kill 1500
 *   ask: why
 *   culprit: nothing
 */
/*
 * A daemon polls its sensors every 30 ms. A helper process that it forked goes on for some time after the
 * daemon was killed, as log collectors do.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HELPER_LIFE 3 /* s */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long readings;

static void *poll_sensors(void *data)
{
	(void)data;
	for (;;) {
		usleep(30000);
		pthread_mutex_lock(&lock);
		readings++;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void help(void)
{
	for (int i = 0; i < HELPER_LIFE * 10; i++)
		usleep(100000);
	_exit(0);
}

int main(void)
{
	pthread_t sensors;
	pid_t helper = fork();

	if (helper == 0)
		help();
	if (helper < 0 || pthread_create(&sensors, NULL, poll_sensors, NULL) != 0)
		return 1;
	pthread_join(sensors, NULL);
	return readings == 0;
}
