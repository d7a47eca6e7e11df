/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: when a header has come, printer_readable sets the low watermark of the input to the label's size, and doesn't set
 *     it back to 0 behind the label. The next, shorter label stays in the buffer below the mark, and is never printed.
 *   culprit: printer_readable|bufferevent_setwatermark|shipping
 *   victim: station_next|station_readable
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A print server for label printers. Packing stations send "size\n" and the label; it answers "ok\n". */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct printer {
	struct bufferevent *input;
	size_t size; /* of the label that comes; 0: a header comes */
	unsigned printed;
};

struct station {
	struct bufferevent *output;
	const char *name;
	const unsigned *sizes; /* ends with 0 */
	unsigned at;
};

static struct event_base *base;
static bool reset_mark;
static unsigned stations_left;
static struct event *queue_report;

static void printer_readable(struct bufferevent *input, void *data)
{
	struct printer *printer = data;
	struct evbuffer *buffer = bufferevent_get_input(input);

	for (;;) {
		if (!printer->size) {
			char *line = evbuffer_readln(buffer, NULL, EVBUFFER_EOL_LF);

			if (!line)
				return;
			printer->size = strtoul(line, NULL, 10);
			free(line);
			/* Don't wake us for each piece of a long label. */
			bufferevent_setwatermark(input, EV_READ, printer->size, 0);
		}
		if (evbuffer_get_length(buffer) < printer->size)
			return;
		evbuffer_drain(buffer, printer->size);
		printer->size = 0;
		printer->printed++;
		if (reset_mark)
			bufferevent_setwatermark(input, EV_READ, 0, 0);
		bufferevent_write(input, "ok\n", 3);
	}
}

static void printer_event(struct bufferevent *input, short what, void *data)
{
	struct printer *printer = data;

	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) {
		printf("printer: %u labels\n", printer->printed);
		bufferevent_free(input);
		free(printer);
	}
}

static void station_next(struct station *station)
{
	unsigned size = station->sizes[station->at++];

	if (!size) {
		printf("%s: all labels printed\n", station->name);
		bufferevent_free(station->output);
		free(station);
		if (--stations_left == 0)
			event_del(queue_report);
		return;
	}
	evbuffer_add_printf(bufferevent_get_output(station->output), "%u\n", size);
	for (unsigned i = 0; i < size; i++)
		bufferevent_write(station->output, "#", 1);
}

static void station_readable(struct bufferevent *output, void *data)
{
	char *line = evbuffer_readln(bufferevent_get_input(output), NULL, EVBUFFER_EOL_LF);

	if (line) {
		free(line);
		station_next(data);
	}
}

static void report(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	(void)data;
	printf("%u stations at work\n", stations_left);
}

static void connect_station(const char *name, const unsigned *sizes)
{
	struct printer *printer = calloc(1, sizeof(*printer));
	struct station *station = calloc(1, sizeof(*station));
	int ends[2];

	if (!printer || !station || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	evutil_make_socket_nonblocking(ends[0]);
	evutil_make_socket_nonblocking(ends[1]);
	printer->input = bufferevent_socket_new(base, ends[0], BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(printer->input, printer_readable, NULL, printer_event, printer);
	bufferevent_enable(printer->input, EV_READ | EV_WRITE);
	station->name = name;
	station->sizes = sizes;
	station->output = bufferevent_socket_new(base, ends[1], BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(station->output, station_readable, NULL, NULL, station);
	bufferevent_enable(station->output, EV_READ | EV_WRITE);
	stations_left++;
	station_next(station);
}

int main(int argc, char **argv)
{
	static const unsigned addresses[] = {120, 120, 128, 140, 160, 200, 260, 0};
	static const unsigned prices[] = {40, 40, 44, 48, 64, 0};
	static const unsigned shipping[] = {600, 2400, 18000, 350, 900, 0};
	struct timeval interval = {0, 200000};

	if (argc < 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	reset_mark = strcmp(argv[1], "broken") != 0;
	base = event_base_new();
	queue_report = event_new(base, -1, EV_PERSIST, report, NULL);
	event_add(queue_report, &interval);
	connect_station("addresses", addresses);
	connect_station("shipping", shipping);
	connect_station("prices", prices);
	event_base_dispatch(base);
	event_free(queue_report);
	event_base_free(base);
	return 0;
}
