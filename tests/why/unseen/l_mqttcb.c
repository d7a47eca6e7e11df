/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The network thread runs on_message under callback_mutex; on_message publishes, and packet_write locks callback_mutex again: the thread waits for itself.
 *   culprit: callback_mutex|mqtt network|network_loop
 *   victim: telemetry
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about mosquitto: a client that publishes with QoS 0 inside its message callback hangs, because the
 * library calls the callbacks under callback_mutex and locks the same mutex again when the packet is written.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	MESSAGES = 12,
	COMMAND_AT = 7
};

static pthread_mutex_t callback_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t out_mutex = PTHREAD_MUTEX_INITIALIZER;
static int broker[2];
static bool broken;
static unsigned sent, published, answers_due;
static sem_t connected;

/* Tells the program that a message is out. */
static void on_publish(void)
{
	published++;
}

static void packet_write(void)
{
	pthread_mutex_lock(&out_mutex);
	sent++;
	pthread_mutex_unlock(&out_mutex);
	pthread_mutex_lock(&callback_mutex);
	on_publish();
	pthread_mutex_unlock(&callback_mutex);
}

/* The program's callback. A command wants an answer at once. */
static void on_message(char kind)
{
	if (kind != 'c')
		return;
	if (broken)
		packet_write();
	else
		answers_due++;
}

static void *network_loop(void *unused)
{
	char kind;

	pthread_setname_np(pthread_self(), "mqtt network");
	sem_post(&connected);
	while (read(broker[0], &kind, 1) == 1) {
		pthread_mutex_lock(&callback_mutex);
		on_message(kind);
		pthread_mutex_unlock(&callback_mutex);
		while (answers_due) {
			answers_due--;
			packet_write();
		}
	}
	return unused;
}

/* Publishes measurements. */
static void *telemetry(void *unused)
{
	pthread_setname_np(pthread_self(), "telemetry");
	for (int i = 0; i < MESSAGES; i++) {
		packet_write();
		usleep(20 * 1000);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t network, sender;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&connected, 0, 0);
	if (pipe(broker))
		return 1;
	pthread_create(&network, NULL, network_loop, NULL);
	sem_wait(&connected);
	pthread_create(&sender, NULL, telemetry, NULL);
	for (int i = 0; i < MESSAGES; i++) {
		if (write(broker[1], i == COMMAND_AT ? "c" : "m", 1) != 1)
			return 1;
		usleep(10 * 1000);
	}
	close(broker[1]);
	pthread_join(network, NULL);
	pthread_join(sender, NULL);
	printf("%u sent, %u published\n", sent, published);
	return 0;
}
