/* SPDX-License-Identifier: ISC */
/*
 * Writes a recording of any size, as fast as the disk takes it: `large FILE MIB [PACKET_KIB]`. Four lanes
 * serve requests, each of which waits for a read. One request, the first of all, never resolves; only
 * the table of live tasks still knows it when the first packets aren't read. It is no benchmark:
 * tests/thrum/large_long.sh reads such recordings.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/format.h"

#define LANES 4
#define TICKS 1000000000u /* per second */
#define ROUND 256         /* bytes, at least those of a request */
#define LOST "GET /lost"

struct lane {
	uint64_t ticks, seq, running;
};

struct writer {
	int fd;
	struct thrum__header *header;
	uint8_t *packet;
	size_t at;
	uint64_t last, next_task, events;
	struct lane lanes[LANES];
};

static uint64_t own_task(unsigned lane)
{
	return lane + 1;
}

static void put(struct writer *w, struct lane *lane, struct thrum__record record)
{
	lane->ticks += 20 + w->next_task % 64;
	w->at += thrum__format_encode_header(w->packet + w->at, record.type, lane->ticks, w->last);
	w->at += thrum__format_encode_fields(w->packet + w->at, &record, 0, false);
	w->last = lane->ticks;
	w->events++;
	if (record.type == THRUM__R_SWITCH || record.type == THRUM__R_LANE)
		lane->running = record.type == THRUM__R_LANE ? record.other : record.task;
}

#define PUT(name, ...) put(w, lane, (struct thrum__record){.type = THRUM__R_##name, __VA_ARGS__})

static void put_request(struct writer *w, unsigned number)
{
	struct lane *lane = &w->lanes[number];
	uint64_t request = w->next_task++, read = w->next_task++;
	bool is_first = request <= LANES + 1;

	PUT(CREATE, .other = request, .kind = THRUM_KIND_TASK,
		.text = is_first ? LOST : "GET /page");
	PUT(SHOULD_RESOLVE, .task = request);
	PUT(SWITCH, .task = request);
	PUT(CREATE, .other = read, .kind = THRUM_KIND_PROMISE, .text = "");
	PUT(WAIT, .task = request, .other = read);
	PUT(SWITCH, .task = own_task(number));
	if (is_first)
		return;
	PUT(RESOLVE, .other = read);
	PUT(SWITCH, .task = request);
	PUT(READ_OWN, .other = read);
	PUT(RESOLVE, .other = request);
	PUT(SWITCH, .task = own_task(number));
	PUT(COUNTER, .def = 1, .value = (int64_t)(request % 1000));
}

/* ---- The file ------------------------------------------------------------------------------- */

/* Writes a packet of a lane, full of requests. Returns false when the disk takes no more. */
static bool write_packet(struct writer *w, uint32_t index)
{
	const struct thrum__header *h = w->header;
	unsigned number = index % LANES;
	struct lane *lane = &w->lanes[number];
	struct thrum__packet *p = (void *)w->packet;

	memset(p, 0, sizeof *p);
	p->magic = THRUM__PACKET_MAGIC;
	memcpy(p->uuid, h->uuid, sizeof p->uuid);
	p->lane = number;
	p->begin = w->last = lane->ticks;
	p->packet_size = h->packet_size * 8;
	p->seq = lane->seq++;
	p->tid = number + 1;
	p->own = own_task(number);
	p->running = lane->running;
	atomic_store(&p->ticket, index + 1);
	w->at = sizeof *p;
	if (p->seq == 0)
		PUT(LANE, .other = own_task(number), .tid = number + 1, .text = "worker");
	while (w->at + ROUND < h->packet_size)
		put_request(w, number);
	atomic_store(&p->content_size, (uint32_t)w->at * 8);
	return pwrite(w->fd, w->packet, w->at,
		       (off_t)(h->packet.offset + (uint64_t)index * h->packet_size)) ==
		(ssize_t)w->at;
}

/* Lays out the recording. Returns NULL if it can't have this size. */
static struct thrum__header *make_header(uint64_t size, uint64_t packet)
{
	struct thrum__header *h = calloc(1, sizeof *h);

	if (!h || thrum__format_lay_out(h, size, 4096) != 0)
		return NULL;
	if (packet) {
		h->packet_size = (uint32_t)packet;
		h->packets = (uint32_t)(h->packet.size / packet);
		h->packet.size = h->packets * packet;
		h->size = h->packet.offset + h->packet.size;
	}
	memcpy(h->uuid, "thrum-bench-large", sizeof h->uuid);
	h->pid = 1;
	h->clock_kind = THRUM__CLOCK_GIVEN;
	h->clock_frequency = TICKS;
	h->start.ticks = TICKS;
	h->start.monotonic = TICKS;
	h->start.realtime = UINT64_C(1700000000) * TICKS;
	atomic_store(&h->start.ticket, 1);
	atomic_store(&h->state, THRUM__STOPPED);
	return h;
}

static bool write_cell(const struct writer *w, const struct thrum__section *section,
	uint64_t number, const void *cell, size_t size)
{
	return pwrite(w->fd, cell, size, (off_t)(section->offset + number * size)) == (ssize_t)size;
}

static bool write_live(const struct writer *w, struct thrum__live_task cell)
{
	return write_cell(w, &w->header->live_tasks, cell.tag, &cell, sizeof cell);
}

/* Writes the lanes' own tasks, the request that never resolves, and its read. */
static bool write_live_tasks(const struct writer *w)
{
	uint32_t request = LANES + 1;
	uint64_t created = TICKS + 100;
	bool is_written = true;

	for (unsigned i = 0; i < LANES; i++)
		is_written &= write_live(w,
			(struct thrum__live_task){.tag = i + 1,
				.created = TICKS,
				.lane = (uint16_t)i,
				.kind = THRUM_KIND_THREAD,
				.flags = THRUM__LIVE_LABELLED | THRUM__LIVE_LANE,
				.label = "worker"});
	return is_written &&
		write_live(w,
			(struct thrum__live_task){.tag = request,
				.parent = 1,
				.created = created,
				.waiting = request + 1,
				.waited = created + 200,
				.kind = THRUM_KIND_TASK,
				.flags = THRUM__LIVE_LABELLED | THRUM__LIVE_SHOULD_RESOLVE,
				.label = LOST}) &&
		write_live(w,
			(struct thrum__live_task){.tag = request + 1,
				.parent = request,
				.created = created + 100,
				.kind = THRUM_KIND_PROMISE});
}

/* Writes all but the packets. */
static bool write_rest(struct writer *w)
{
	struct thrum__header *h = w->header;
	struct thrum__definition counter = {.number = THRUM_COUNTER_GAUGE, .text = "requests"};

	atomic_store(&counter.type, THRUM__DEFINES_COUNTER);
	atomic_store(&h->packets_used, h->packets);
	for (unsigned i = 0; i < LANES; i++)
		if (h->ended < w->lanes[i].ticks)
			h->ended = w->lanes[i].ticks;
	h->latest[0].ticks = h->ended;
	h->latest[0].monotonic = h->ended;
	h->latest[0].realtime = h->start.realtime + h->ended - TICKS;
	atomic_store(&h->latest[0].ticket, 2);
	return write_cell(w, &h->definitions, 1, &counter, sizeof counter) && write_live_tasks(w) &&
		pwrite(w->fd, h, sizeof *h, 0) == sizeof *h &&
		ftruncate(w->fd, (off_t)h->size) == 0;
}

int main(int argc, char **argv)
{
	uint64_t size = argc > 2 ? strtoull(argv[2], NULL, 10) << 20 : 0;
	uint64_t packet = argc > 3 ? strtoull(argv[3], NULL, 10) << 10 : 0;
	struct writer w = {.next_task = LANES + 1, .header = make_header(size, packet)};
	bool is_written = true;

	if (argc < 3 || argc > 4 || !w.header) {
		fprintf(stderr, "usage: large FILE MIB [PACKET_KIB]\n");
		return 64;
	}
	w.fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	w.packet = malloc(w.header->packet_size);
	for (unsigned i = 0; i < LANES; i++)
		w.lanes[i].ticks = TICKS;
	for (uint32_t i = 0; i < w.header->packets && is_written; i++)
		is_written = w.fd >= 0 && w.packet && write_packet(&w, i);
	if (!is_written || !write_rest(&w) || close(w.fd) != 0) {
		perror(argv[1]);
		return 1;
	}
	printf("%llu records\n", (unsigned long long)w.events);
	free(w.packet);
	free(w.header);
	return 0;
}
