/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: a read timeout of the bufferevent calls on_device_event, which sends a ping and goes on; but
 *     libevent has switched off reading with the timeout, and on_device_event never enables it again
 *     (bufferevent_enable), so what the meter answers and sends later is never read; the thread meter waits
 *     for the acknowledgement
 *   culprit: on_device_event
 *   victim: meter|main|await_ack|gateway_run
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A gateway reads a meter's lines and acknowledges each; if the meter is silent, it is pinged. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
	READINGS = 12,
	SILENCE_MS = 120
};

struct gateway {
	struct event_base *base;
	struct bufferevent *device;
	struct event *flush; /* stores what was collected, 50 ms after the first of it */
	int collected, stored, pings;
	bool resumes;
};

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* ---- The meter ----------------------------------------------------------------------------- */

static bool meter_say(int socket, const char *text)
{
	size_t size = strlen(text);

	return write(socket, text, size) == (ssize_t)size;
}

/* Answers pings meanwhile. */
static __attribute__((noinline)) bool await_ack(int socket)
{
	char byte;

	while (read(socket, &byte, 1) == 1) {
		if (byte == 'a')
			return true;
		if (byte == 'p' && !meter_say(socket, "pong\n"))
			return false;
	}
	return false;
}

static void *meter_main(void *data)
{
	int socket = (int)(long)data;

	pthread_setname_np(pthread_self(), "meter");
	for (int i = 0; i < READINGS; i++) {
		char text[32];

		pause_ms(i == 5 ? 2 * SILENCE_MS : 10); /* it is calibrated */
		snprintf(text, sizeof(text), "reading %d\n", 2000 + i);
		if (!meter_say(socket, text) || !await_ack(socket))
			break;
	}
	close(socket);
	return NULL;
}

/* ---- The gateway --------------------------------------------------------------------------- */

static void on_flush(evutil_socket_t descriptor, short what, void *data)
{
	struct gateway *gateway = data;

	(void)descriptor;
	(void)what;
	gateway->stored += gateway->collected;
	gateway->collected = 0;
}

static void collect(struct gateway *gateway, const char *line)
{
	static const struct timeval soon = {0, 50000};

	if (strncmp(line, "reading ", 8))
		return;
	gateway->collected++;
	bufferevent_write(gateway->device, "a", 1);
	if (!event_pending(gateway->flush, EV_TIMEOUT, NULL))
		event_add(gateway->flush, &soon);
}

static void on_device_readable(struct bufferevent *device, void *data)
{
	struct evbuffer *input = bufferevent_get_input(device);
	char *line;

	while ((line = evbuffer_readln(input, NULL, EVBUFFER_EOL_LF))) {
		collect(data, line);
		free(line);
	}
}

static __attribute__((noinline)) void on_device_event(struct bufferevent *device, short what,
	void *data)
{
	struct gateway *gateway = data;

	if (what & BEV_EVENT_TIMEOUT) {
		gateway->pings++;
		bufferevent_write(device, "p", 1);
		if (gateway->resumes)
			bufferevent_enable(device, EV_READ);
		return;
	}
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) {
		bufferevent_disable(device, EV_READ | EV_WRITE);
		event_base_loopexit(gateway->base, NULL);
	}
}

static void gateway_run(struct gateway *gateway, int socket)
{
	struct timeval silence = {0, SILENCE_MS * 1000};

	gateway->base = event_base_new();
	gateway->flush = evtimer_new(gateway->base, on_flush, gateway);
	gateway->device = bufferevent_socket_new(gateway->base, socket, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(gateway->device, on_device_readable, NULL, on_device_event, gateway);
	bufferevent_set_timeouts(gateway->device, &silence, NULL);
	bufferevent_enable(gateway->device, EV_READ | EV_WRITE);
	event_base_loop(gateway->base, EVLOOP_NO_EXIT_ON_EMPTY);
	on_flush(-1, 0, gateway);
	bufferevent_free(gateway->device);
	event_free(gateway->flush);
	event_base_free(gateway->base);
}

int main(int argc, char **argv)
{
	struct gateway gateway = {0};
	pthread_t meter;
	int ends[2];

	gateway.resumes = argc > 1 && !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return 1;
	evutil_make_socket_nonblocking(ends[0]);
	pthread_create(&meter, NULL, meter_main, (void *)(long)ends[1]);
	gateway_run(&gateway, ends[0]);
	pthread_join(meter, NULL);
	printf("%d readings stored, %d pings\n", gateway.stored, gateway.pings);
	return gateway.stored == READINGS ? 0 : 1;
}
