/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: send_batch (thread sms) holds port_lock while it waits until each command is sent. The modem
 *     takes no more bytes until its long answer is fetched, and at-reader needs port_lock to fetch it:
 *     all wait in a circle.
 *   culprit: \bsms\b|send_batch|poll_messages
 *   victim: uart-dma|move_bytes
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about NuttX: with flow control a thread waits for the end of its transmission, and holds
 * what others need. The firmware of a logger that talks to a modem; here the modem is a thread, too.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RING 64

static pthread_mutex_t port_lock = PTHREAD_MUTEX_INITIALIZER; /* the state of the port */
static pthread_mutex_t line_lock = PTHREAD_MUTEX_INITIALIZER; /* the wires and the ring */
static pthread_cond_t line_changed = PTHREAD_COND_INITIALIZER;
static sem_t tx_start, tx_done;
static const char *tx_text;
static bool clear_to_send = true, finished, broken;
static char ring[RING], command[32];
static unsigned ring_put, ring_got;
static int answers, fetched;

/* The modem takes a byte; with the end of a line it is busy, and lowers CTS until it has answered. */
static void modem_take(char byte)
{
	static size_t size;
	static char line[32];

	pthread_mutex_lock(&line_lock);
	while (!clear_to_send)
		pthread_cond_wait(&line_changed, &line_lock);
	line[size++] = byte;
	if (byte == '\r') {
		line[size - 1] = 0;
		memcpy(command, line, size);
		size = 0;
		clear_to_send = false;
		pthread_cond_broadcast(&line_changed);
	}
	pthread_mutex_unlock(&line_lock);
}

/* Moves bytes from memory to the wire, as the DMA controller does. */
static void *move_bytes(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "uart-dma");
	for (;;) {
		sem_wait(&tx_start);
		if (!tx_text)
			return NULL;
		for (const char *byte = tx_text; *byte; byte++)
			modem_take(*byte);
		sem_post(&tx_done);
	}
}

static void modem_put(const char *text)
{
	for (; *text; text++) {
		while (ring_put - ring_got == RING)
			pthread_cond_wait(&line_changed, &line_lock);
		ring[ring_put++ % RING] = *text;
		pthread_cond_broadcast(&line_changed);
	}
}

static void *run_modem(void *data)
{
	char line[64];

	(void)data;
	pthread_setname_np(pthread_self(), "modem");
	pthread_mutex_lock(&line_lock);
	for (;;) {
		while (clear_to_send && !finished)
			pthread_cond_wait(&line_changed, &line_lock);
		if (finished)
			break;
		if (!strcmp(command, "AT+CMGL"))
			for (int i = 1; i <= 6; i++) {
				snprintf(line, sizeof(line), "+CMGL: %d,\"READ\",\"+49151%05d\"\n",
					i, i * 7);
				modem_put(line);
			}
		modem_put("OK\n");
		answers++;
		clear_to_send = true;
		pthread_cond_broadcast(&line_changed);
	}
	pthread_mutex_unlock(&line_lock);
	return NULL;
}

/* Fetches what the modem says. The port may be closed or reset meanwhile, so it is locked. */
static void *fetch_lines(void *data)
{
	char bytes[RING];
	size_t count;

	(void)data;
	pthread_setname_np(pthread_self(), "at-reader");
	for (;;) {
		pthread_mutex_lock(&line_lock);
		while (ring_put == ring_got && !finished)
			pthread_cond_wait(&line_changed, &line_lock);
		if (finished && ring_put == ring_got) {
			pthread_mutex_unlock(&line_lock);
			return NULL;
		}
		pthread_mutex_unlock(&line_lock);
		pthread_mutex_lock(&port_lock);
		pthread_mutex_lock(&line_lock);
		for (count = 0; ring_got != ring_put; count++)
			bytes[count] = ring[ring_got++ % RING];
		for (size_t i = 0; i < count; i++)
			fetched += bytes[i] == '\n';
		pthread_cond_broadcast(&line_changed);
		pthread_mutex_unlock(&line_lock);
		pthread_mutex_unlock(&port_lock);
	}
}

static void uart_start(const char *text)
{
	tx_text = text;
	sem_post(&tx_start);
}

static void send_batch(const char *const *commands, int count)
{
	if (broken)
		pthread_mutex_lock(&port_lock);
	for (int i = 0; i < count; i++) {
		if (!broken)
			pthread_mutex_lock(&port_lock);
		uart_start(commands[i]);
		if (!broken)
			pthread_mutex_unlock(&port_lock);
		while (sem_wait(&tx_done))
			continue;
	}
	if (broken)
		pthread_mutex_unlock(&port_lock);
}

static void *poll_messages(void *data)
{
	static const char *const hello[] = {"AT\r"};
	static const char *const list[] = {"AT+CMGF\r", "AT+CMGL\r", "AT+CSQ\r"};

	(void)data;
	pthread_setname_np(pthread_self(), "sms");
	send_batch(hello, 1);
	send_batch(list, 3);
	pthread_mutex_lock(&line_lock);
	while (answers < 4)
		pthread_cond_wait(&line_changed, &line_lock);
	pthread_mutex_unlock(&line_lock);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t dma, modem, reader, sms;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&tx_start, 0, 0);
	sem_init(&tx_done, 0, 0);
	pthread_create(&dma, NULL, move_bytes, NULL);
	pthread_create(&modem, NULL, run_modem, NULL);
	pthread_create(&reader, NULL, fetch_lines, NULL);
	pthread_create(&sms, NULL, poll_messages, NULL);
	pthread_join(sms, NULL);
	pthread_mutex_lock(&line_lock);
	finished = true;
	pthread_cond_broadcast(&line_changed);
	pthread_mutex_unlock(&line_lock);
	uart_start(NULL);
	pthread_join(dma, NULL);
	pthread_join(modem, NULL);
	pthread_join(reader, NULL);
	printf("%d answers, %d lines\n", answers, fetched);
	return EXIT_SUCCESS;
}
