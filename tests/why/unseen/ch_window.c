/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: nghttp2 pull request #1680 ("Fix stream stall when initial window size is decreased"): in the
 *     middle of a file the browser reduces the window (SETTINGS). It has consumed more than that already,
 *     but not yet half of the old window, so it had no reason for a WINDOW_UPDATE. When the server
 *     acknowledges, on_settings_ack only notes the new size, and doesn't look whether an update is due now.
 *     The server may send nothing more, so no data comes at which the browser would look. The tab waits for
 *     the rest of the file.
 *   culprit: on_settings_ack|session_read
 *   victim: tab
 * case: healthy
 *   args: healthy
 *   run: live 2500
 *   ask: why
 *   culprit: nothing
 */

/* A browser and a server, two processes, with a window of flow control for each file. Both use libevent. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define WINDOW 65536
#define SMALL 16384
#define FILE_SIZE 40960
#define PIECE 2048

enum kind {
	GET,
	DATA,
	WINDOW_UPDATE,
	SETTINGS,
	SETTINGS_ACK,
	PING
};

struct frame {
	uint32_t kind;
	int32_t value; /* of DATA: the number of bytes, which follow */
};

static struct event_base *base;
static struct bufferevent *bev;

static void send_frame(enum kind kind, int32_t value)
{
	struct frame frame = {kind, value};

	bufferevent_write(bev, &frame, sizeof frame);
}

/* A whole frame with its data, or false. */
static bool take_frame(struct evbuffer *input, struct frame *frame)
{
	size_t size = evbuffer_get_length(input);

	if (size < sizeof *frame)
		return false;
	evbuffer_copyout(input, frame, sizeof *frame);
	if (frame->kind == DATA && size < sizeof *frame + (size_t)frame->value)
		return false;
	evbuffer_drain(input, sizeof *frame + (frame->kind == DATA ? (size_t)frame->value : 0));
	return true;
}

/* ---- the server ---- */

static struct {
	int32_t initial, window, left;
	struct event *disk;
} server = {.initial = WINDOW};

static const struct timeval disk_time = {.tv_usec = 1000};

/* A piece was read from the disk. */
static void send_piece(evutil_socket_t fd, short what, void *data)
{
	static const char piece[PIECE];

	(void)fd, (void)what, (void)data;
	if (server.window < PIECE || !server.left)
		return;
	send_frame(DATA, PIECE);
	bufferevent_write(bev, piece, PIECE);
	server.window -= PIECE;
	server.left -= PIECE;
	event_add(server.disk, &disk_time);
}

static void serve(struct bufferevent *connection, void *data)
{
	struct frame frame;

	(void)data;
	while (take_frame(bufferevent_get_input(connection), &frame)) {
		if (frame.kind == GET) {
			server.window = server.initial;
			server.left = frame.value;
		} else if (frame.kind == WINDOW_UPDATE) {
			server.window += frame.value;
		} else if (frame.kind == SETTINGS) {
			server.window += frame.value - server.initial;
			server.initial = frame.value;
			send_frame(SETTINGS_ACK, frame.value);
		}
		if (!event_pending(server.disk, EV_TIMEOUT, NULL))
			event_add(server.disk, &disk_time);
	}
}

/* ---- the browser ---- */

static struct {
	int32_t window;   /* that the server knows of */
	int32_t consumed; /* since the last update */
	int32_t received; /* of this file */
	bool looks, reduced;
	unsigned files;
} session = {.window = WINDOW};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool wanted, finished;

static void update_window(void)
{
	if (session.consumed < session.window / 2)
		return;
	send_frame(WINDOW_UPDATE, session.consumed);
	session.consumed = 0;
}

static void on_settings_ack(int32_t value)
{
	session.window = value;
	if (session.looks)
		update_window();
}

static void on_data(int32_t size)
{
	session.received += size;
	session.consumed += size;
	if (session.received == FILE_SIZE) {
		session.files++;
		pthread_mutex_lock(&mutex);
		finished = true;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&mutex);
		return;
	}
	update_window();
	if (session.files == 6 && !session.reduced && session.received >= SMALL) {
		session.reduced = true; /* memory is short */
		send_frame(SETTINGS, SMALL);
	}
}

static void session_read(struct bufferevent *connection, void *data)
{
	struct frame frame;

	(void)data;
	while (take_frame(bufferevent_get_input(connection), &frame)) {
		if (frame.kind == DATA)
			on_data(frame.value);
		else if (frame.kind == SETTINGS_ACK)
			on_settings_ack(frame.value);
	}
}

/* Looks now and then whether the tab wants a file. */
static void session_tick(evutil_socket_t fd, short what, void *data)
{
	bool ask;

	(void)fd, (void)what, (void)data;
	pthread_mutex_lock(&mutex);
	ask = wanted;
	wanted = false;
	pthread_mutex_unlock(&mutex);
	if (ask) {
		session.received = session.consumed = 0;
		send_frame(GET, FILE_SIZE);
	}
}

static void *tab_main(void *data)
{
	unsigned file;

	(void)data;
	pthread_setname_np(pthread_self(), "tab");
	for (file = 1;; file++) {
		pthread_mutex_lock(&mutex);
		wanted = true;
		finished = false;
		while (!finished)
			pthread_cond_wait(&changed, &mutex);
		pthread_mutex_unlock(&mutex);
		printf("file %u\n", file);
		fflush(stdout);
		usleep(20000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct timeval every = {.tv_usec = 5000};
	struct event *tick;
	pthread_t thread;
	int ends[2];
	bool browser;

	if (argc < 2)
		return 2;
	session.looks = !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	browser = fork() > 0;
	close(ends[!browser]);
	evutil_make_socket_nonblocking(ends[browser]);
	base = event_base_new();
	bev = bufferevent_socket_new(base, ends[browser], 0);
	if (browser) {
		bufferevent_setcb(bev, session_read, NULL, NULL, NULL);
		tick = event_new(base, -1, EV_PERSIST, session_tick, NULL);
		event_add(tick, &every);
		pthread_create(&thread, NULL, tab_main, NULL);
	} else {
		prctl(PR_SET_NAME, "server");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		server.disk = evtimer_new(base, send_piece, NULL);
		bufferevent_setcb(bev, serve, NULL, NULL, NULL);
	}
	bufferevent_enable(bev, EV_READ | EV_WRITE);
	event_base_dispatch(base);
	return 0;
}
