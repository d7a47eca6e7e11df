/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The handler of SIGALRM (on_tick) writes a line to the log and takes log_lock for it. One tick interrupts the main thread (forward_packets) while it holds log_lock itself: it waits for a lock of its own, and the uplink waits behind it.
 *   culprit: on_tick|forward_packets|\bmain\b
 *   victim: uplink|send_uplink
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * A packet relay. The main thread forwards packets from a socket, a thread sends them on. Both write
 * a log, and a timer writes a line of statistics between.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define PACKETS 1200

static bool broken;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int log_file;
static uint32_t log_sum;
static char last_lines[64][120];
static unsigned log_count;

static volatile sig_atomic_t tick_due;
static volatile unsigned forwarded, sent;

/* Keeps the last lines for the status page, with a checksum over them. */
static void log_line(const char *format, ...)
{
	va_list list;
	char *line;

	pthread_mutex_lock(&log_lock);
	line = last_lines[log_count++ % 64];
	va_start(list, format);
	vsnprintf(line, sizeof(last_lines[0]), format, list);
	va_end(list);
	log_sum = 0;
	for (unsigned i = 0; i < 64; i++)
		for (unsigned j = 0; j < sizeof(last_lines[0]); j++)
			log_sum = log_sum * 31 + (unsigned char)last_lines[i][j];
	dprintf(log_file, "%08x %s\n", log_sum, line);
	pthread_mutex_unlock(&log_lock);
}

static void log_statistics(void)
{
	log_line("beacon: %u forwarded, %u sent", forwarded, sent);
}

static void on_tick(int number)
{
	(void)number;
	if (broken)
		log_statistics();
	else
		tick_due = 1;
}

static void *send_uplink(void *data)
{
	int socket = *(int *)data;
	unsigned char packet[64];
	ssize_t size;

	pthread_setname_np(pthread_self(), "uplink");
	while ((size = recv(socket, packet, sizeof(packet), 0)) > 0) {
		sent++;
		if (sent % 8 == 0)
			log_line("uplink: packet %u of %zd bytes is on its way", packet[0], size);
	}
	log_line("uplink: closed after %u packets", sent);
	return NULL;
}

/* The timer's signal is the main thread's: other threads block it. */
static pthread_t start_uplink(int *socket)
{
	sigset_t alarm, before;
	pthread_t thread;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, &before);
	pthread_create(&thread, NULL, send_uplink, socket);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return thread;
}

static void start_ticks(void)
{
	struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	struct itimerval every = {{0, 2000}, {0, 2000}};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

static void stop_ticks(void)
{
	struct itimerval never = {{0, 0}, {0, 0}};

	setitimer(ITIMER_REAL, &never, NULL);
}

static void forward_packets(int socket)
{
	unsigned char packet[64];

	for (unsigned i = 0; i < PACKETS; i++) {
		memset(packet, (int)i, sizeof(packet));
		log_line("forward: packet %u from 10.0.0.%u", i, i % 250 + 1);
		if (send(socket, packet, sizeof(packet), 0) < 0)
			break;
		forwarded++;
		if (tick_due) {
			tick_due = 0;
			log_statistics();
		}
		/* The network is not faster than this. */
		if (i % 16 == 0)
			usleep(500);
	}
}

int main(int argc, char **argv)
{
	pthread_t uplink;
	int ends[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	log_file = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (log_file < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		perror("relay");
		return 1;
	}
	uplink = start_uplink(&ends[1]);
	start_ticks();
	forward_packets(ends[0]);
	stop_ticks();
	shutdown(ends[0], SHUT_WR);
	pthread_join(uplink, NULL);
	printf("%u packets, log %08x\n", forwarded, log_sum);
	return 0;
}
