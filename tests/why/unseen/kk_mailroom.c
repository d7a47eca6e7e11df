/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: read_letters leaves the watermark of a large letter set, so libevent keeps a short one from it.
 *   culprit: read_letters|watermark
 *   victim: post_letter|await_answer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * This mailroom takes letters of its offices over sockets, by bufferevents. An office announces a large
 * letter, and sends the rest when it is told to go on.
 */

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OFFICES 3
#define LETTERS 20
#define LARGE 512
#define ANSWER_GO_ON 'g'
#define ANSWER_TAKEN 't'

struct header {
	uint32_t size;
	uint32_t sum;
};

struct office {
	unsigned int number;
	int mailroom_end;
	int office_end;
	pthread_t thread;
	unsigned int posted;

	/* The mailroom's thread alone uses these. */
	struct header header;
	bool has_header;
	unsigned int taken;
	unsigned int damaged;
};

static bool broken;
static struct event_base *base;
static struct office offices[OFFICES];
static unsigned int offices_left = OFFICES;

static uint32_t sum_of(const unsigned char *text, size_t size)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < size; i++)
		sum = sum * 31 + text[i];
	return sum;
}

static void answer(struct bufferevent *mail, char code)
{
	bufferevent_write(mail, &code, 1);
}

static bool read_header(struct bufferevent *mail, struct office *office)
{
	if (office->has_header)
		return true;
	if (evbuffer_get_length(bufferevent_get_input(mail)) < sizeof(office->header))
		return false;
	bufferevent_read(mail, &office->header, sizeof(office->header));
	office->has_header = true;
	if (office->header.size >= LARGE) {
		bufferevent_setwatermark(mail, EV_READ, office->header.size, 0);
		answer(mail, ANSWER_GO_ON);
	}
	return true;
}

static void read_letters(struct bufferevent *mail, void *data)
{
	struct office *office = data;
	struct evbuffer *input = bufferevent_get_input(mail);

	while (read_header(mail, office)) {
		size_t size = office->header.size;

		if (evbuffer_get_length(input) < size)
			return;
		if (sum_of(evbuffer_pullup(input, (ev_ssize_t)size), size) != office->header.sum)
			office->damaged++;
		evbuffer_drain(input, size);
		office->taken++;
		office->has_header = false;
		if (!broken)
			bufferevent_setwatermark(mail, EV_READ, 0, 0);
		answer(mail, ANSWER_TAKEN);
	}
}

static void office_left(struct bufferevent *mail, short events, void *data)
{
	struct office *office = data;

	if (!(events & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
		return;
	printf("office %u: %u letters, %u damaged\n", office->number, office->taken,
		office->damaged);
	bufferevent_free(mail);
	if (--offices_left == 0)
		event_base_loopbreak(base);
}

static char await_answer(struct office *office)
{
	char code;

	return read(office->office_end, &code, 1) == 1 ? code : '\0';
}

static bool post_letter(struct office *office, uint32_t size)
{
	unsigned char text[2 * LARGE];
	struct header header = {.size = size};

	memset(text, (int)('a' + office->posted), size);
	header.sum = sum_of(text, size);
	if (write(office->office_end, &header, sizeof(header)) != sizeof(header))
		return false;
	if (size >= LARGE && await_answer(office) != ANSWER_GO_ON)
		return false;
	if (write(office->office_end, text, size) != (ssize_t)size)
		return false;
	return await_answer(office) == ANSWER_TAKEN;
}

static void *run_office(void *data)
{
	struct office *office = data;

	while (office->posted < LETTERS) {
		bool is_large = office->number == 1 && office->posted % 6 == 4;

		if (!post_letter(office, is_large ? 2 * LARGE : 40 + 7 * office->posted))
			fprintf(stderr, "office %u: letter %u came back\n", office->number,
				office->posted);
		office->posted++;
		usleep(5000 * (1 + office->number));
	}
	close(office->office_end);
	return NULL;
}

int main(int argc, char **argv)
{
	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	base = event_base_new();
	if (!base)
		return 1;
	for (unsigned int i = 0; i < OFFICES; i++) {
		struct office *office = &offices[i];
		struct bufferevent *mail;
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
			return 1;
		evutil_make_socket_nonblocking(ends[0]);
		office->number = i;
		office->mailroom_end = ends[0];
		office->office_end = ends[1];
		mail = bufferevent_socket_new(base, office->mailroom_end, BEV_OPT_CLOSE_ON_FREE);
		bufferevent_setcb(mail, read_letters, NULL, office_left, office);
		bufferevent_enable(mail, EV_READ | EV_WRITE);
		pthread_create(&office->thread, NULL, run_office, office);
	}
	event_base_dispatch(base);
	for (unsigned int i = 0; i < OFFICES; i++)
		pthread_join(offices[i].thread, NULL);
	event_base_free(base);
	return 0;
}
