/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: The van's modem sends one line in two parts. on_report takes the complete lines, and then drains
 *     what is left in the buffer, the first part; the second part alone is no report, so it is ignored, and nothing is
 *     answered. The thread van waits in report for "OK", the loop waits for its next line.
 *   culprit: on_report
 *   victim: van|drive|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A dispatcher of vehicles: each one reports its position in lines of text, and gets an answer to each. */
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define VEHICLES 3

struct vehicle {
	const char *name;
	int reports;
	int split; /* which report its modem sends in two parts; 0: none */
	int answered;
	pthread_t thread;
};

static struct dispatcher {
	struct event_base *base;
	struct evconnlistener *listener;
	struct event *tick;
	struct sockaddr_in address;
	int connections, gone;
	int reports;
	double north, east;
} dispatcher;

static bool broken;

static bool store_position(const char *line)
{
	double north, east;

	if (sscanf(line, "POS %lf %lf", &north, &east) != 2)
		return false;
	dispatcher.north = north;
	dispatcher.east = east;
	dispatcher.reports++;
	return true;
}

/* Lines have come from a vehicle. */
static void on_report(struct bufferevent *connection, void *data)
{
	struct evbuffer *input = bufferevent_get_input(connection);
	char *line;

	(void)data;
	while ((line = evbuffer_readln(input, NULL, EVBUFFER_EOL_CRLF))) {
		if (store_position(line))
			bufferevent_write(connection, "OK\n", 3);
		free(line);
	}
	/* Noise on the radio must not pile up. */
	if (broken || evbuffer_get_length(input) > 256)
		evbuffer_drain(input, evbuffer_get_length(input));
}

static void on_end(struct bufferevent *connection, short events, void *data)
{
	(void)data;
	if (!(events & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
		return;
	bufferevent_free(connection);
	if (++dispatcher.gone == VEHICLES) {
		evconnlistener_free(dispatcher.listener);
		event_free(dispatcher.tick);
	}
}

static void on_vehicle(struct evconnlistener *listener, evutil_socket_t socket,
	struct sockaddr *address, int size, void *data)
{
	struct bufferevent *connection;

	(void)listener;
	(void)address;
	(void)size;
	(void)data;
	connection = bufferevent_socket_new(dispatcher.base, socket, BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(connection, on_report, NULL, on_end, NULL);
	bufferevent_enable(connection, EV_READ | EV_WRITE);
	dispatcher.connections++;
}

/* The map on the wall. */
static void draw_map(evutil_socket_t socket, short events, void *data)
{
	(void)socket;
	(void)events;
	(void)data;
	printf("%d reports; the last from %.2f %.2f\n", dispatcher.reports, dispatcher.north,
		dispatcher.east);
	fflush(stdout);
}

static bool send_part(int socket, const char *text, size_t size)
{
	return send(socket, text, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* Reports a position, and waits for the answer. */
static bool report(struct vehicle *vehicle, int socket, int number)
{
	char line[64], answer[16];
	size_t size, first;

	size = (size_t)snprintf(line, sizeof line, "POS %.2f %.2f\n", 47.1 + number / 100.0,
		8.2 + number / 50.0);
	first = number == vehicle->split ? 7 : size;
	if (!send_part(socket, line, first))
		return false;
	if (first < size) {
		usleep(60000);
		if (!send_part(socket, line + first, size - first))
			return false;
	}
	if (recv(socket, answer, sizeof answer, 0) <= 0)
		return false;
	vehicle->answered++;
	return true;
}

static void *drive(void *data)
{
	struct vehicle *vehicle = data;
	int s = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(s, (struct sockaddr *)&dispatcher.address, sizeof dispatcher.address))
		return NULL;
	for (int number = 1; number <= vehicle->reports; number++) {
		if (!report(vehicle, s, number))
			break;
		usleep(25000);
	}
	close(s);
	return NULL;
}

int main(int argc, char **argv)
{
	struct vehicle vehicles[VEHICLES] = {
		{"truck", 40, 0, 0, 0},
		{"van", 14, 8, 0, 0},
		{"tractor", 30, 0, 0, 0},
	};
	struct timeval interval = {0, 150000};
	socklen_t size = sizeof dispatcher.address;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	dispatcher.base = event_base_new();
	dispatcher.address.sin_family = AF_INET;
	dispatcher.address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	dispatcher.listener = evconnlistener_new_bind(dispatcher.base, on_vehicle, NULL,
		LEV_OPT_CLOSE_ON_FREE, 8, (struct sockaddr *)&dispatcher.address,
		sizeof dispatcher.address);
	if (!dispatcher.listener)
		return 1;
	getsockname(evconnlistener_get_fd(dispatcher.listener),
		(struct sockaddr *)&dispatcher.address, &size);
	dispatcher.tick = event_new(dispatcher.base, -1, EV_PERSIST, draw_map, NULL);
	event_add(dispatcher.tick, &interval);
	for (int i = 0; i < VEHICLES; i++) {
		pthread_create(&vehicles[i].thread, NULL, drive, &vehicles[i]);
		pthread_setname_np(vehicles[i].thread, vehicles[i].name);
	}
	event_base_dispatch(dispatcher.base);
	for (int i = 0; i < VEHICLES; i++) {
		pthread_join(vehicles[i].thread, NULL);
		printf("%s: %d answers\n", vehicles[i].name, vehicles[i].answered);
	}
	event_base_free(dispatcher.base);
	return 0;
}
