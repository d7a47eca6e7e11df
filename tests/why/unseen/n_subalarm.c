/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the handler of SIGALRM interrupts packet_write, which holds out_packet_mutex, and queues a
 *     DISCONNECT, for which it locks the same mutex again: the main thread waits for itself. The broker waits
 *     for bytes that never come.
 *   culprit: out_packet_mutex|on_alarm|packet_queue|packet_write|send_disconnect
 *   victim: broker
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about mosquitto: mosquitto_sub with -W hangs, because the handler of SIGALRM calls
 * mosquitto_disconnect, which locks a mutex that the interrupted code already holds.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define PACKET 2048
#define PACKETS 400

static pthread_mutex_t out_packet_mutex = PTHREAD_MUTEX_INITIALIZER;
static int sockets[2];
static int queued;
static atomic_bool alarm_came;
static volatile sig_atomic_t want_disconnect;
static bool healthy;

static void send_all(const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t sent = send(sockets[0], bytes, size, MSG_NOSIGNAL);

		if (sent < 0 && errno != EINTR)
			return;
		if (sent > 0) {
			bytes += sent;
			size -= (size_t)sent;
		}
	}
}

/* Sends all packets that are in the queue. */
static void packet_write(void)
{
	char packet[PACKET];

	memset(packet, 'p', sizeof(packet));
	pthread_mutex_lock(&out_packet_mutex);
	while (queued > 0) {
		send_all(packet, sizeof(packet));
		queued--;
	}
	pthread_mutex_unlock(&out_packet_mutex);
}

static void packet_queue(void)
{
	pthread_mutex_lock(&out_packet_mutex);
	queued++;
	pthread_mutex_unlock(&out_packet_mutex);
}

static void send_disconnect(void)
{
	packet_queue();
	packet_write();
}

static void on_alarm(int signal)
{
	(void)signal;
	atomic_store(&alarm_came, true);
	if (healthy)
		want_disconnect = 1;
	else
		send_disconnect();
}

/* The broker is busy with others until the alarm has come. Then it reads everything. */
static void *broker(void *data)
{
	char buffer[8192];
	size_t total = 0;
	ssize_t size;

	(void)data;
	while (!atomic_load(&alarm_came))
		usleep(2000);
	while ((size = read(sockets[1], buffer, sizeof(buffer))) > 0)
		total += (size_t)size;
	printf("broker: %zu bytes\n", total);
	return NULL;
}

int main(int argc, char **argv)
{
	struct itimerval in = {.it_value = {0, 200000}};
	struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	sigset_t alarms;
	pthread_t thread;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
		return 1;
	sigaction(SIGALRM, &action, NULL);
	/* Only the main thread takes the signal. */
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	pthread_create(&thread, NULL, broker, NULL);
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	for (int i = 0; i < PACKETS; i++)
		packet_queue();
	setitimer(ITIMER_REAL, &in, NULL);
	/* The socket is full long before the alarm. */
	packet_write();
	if (want_disconnect)
		send_disconnect();
	close(sockets[0]);
	pthread_join(thread, NULL);
	return 0;
}
