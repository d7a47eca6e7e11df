/* SPDX-License-Identifier: ISC */
/* The messages of each two hosts. */
#include <stdlib.h>

#include "base/array.h"
#include "world/making.h"

/* The talk of two hosts, a < b. */
static struct thrum__world_talk *talk_of(const struct thrum__world_making *m, uint32_t a,
	uint32_t b)
{
	return &m->talks[(size_t)b * (b - 1) / 2 + a];
}

static int add_point(struct thrum__world_point **points, uint32_t *count, uint32_t *room, int64_t a,
	int64_t b)
{
	struct thrum__world_point *grown = thrum__base_grow(*points, room, *count + UINT64_C(1),
		sizeof *grown);

	if (!grown)
		return -THRUM_E_MEMORY;
	*points = grown;
	grown[(*count)++] = (struct thrum__world_point){a, b};
	return 0;
}

/* Adds what one host sent to another one. */
static int add_sent(struct thrum__world_making *m, uint32_t from, int64_t sent_at, uint32_t to,
	int64_t received_at)
{
	struct thrum__world_talk *talk;

	if (from == to)
		return 0;
	if (from < to) {
		talk = talk_of(m, from, to);
		return add_point(&talk->there, &talk->there_count, &talk->there_room, sent_at,
			received_at);
	}
	talk = talk_of(m, to, from);
	return add_point(&talk->back, &talk->back_count, &talk->back_room, received_at, sent_at);
}

static int add_message(struct thrum__world_making *m, const struct thrum__world_link *sent,
	const struct thrum__world_link *received)
{
	const struct thrum__world_clock *from = &m->times->clocks[sent->part];
	const struct thrum__world_clock *to = &m->times->clocks[received->part];

	return add_sent(m, from->host, thrum__world_host_time(from, sent->clock), to->host,
		thrum__world_host_time(to, received->clock));
}

static int add_ping(struct thrum__world_making *m, const struct thrum__ping *ping)
{
	uint32_t a = thrum__world_host_of(m, ping->asker),
		 b = thrum__world_host_of(m, ping->answerer);
	int error;

	if (a == m->hosts || b == m->hosts)
		return 0;
	error = add_sent(m, a, limit(ping->asked), b, limit(ping->heard));
	return error ? error : add_sent(m, b, limit(ping->answered), a, limit(ping->back));
}

static int compare_points(const void *a, const void *b)
{
	const struct thrum__world_point *x = a, *y = b;

	return x->a < y->a ? -1 : x->a > y->a;
}

int thrum__world_talks_collect(struct thrum__world_making *m,
	const struct thrum__world_links *links)
{
	int error = 0;

	m->talk_count = (size_t)m->hosts * (m->hosts - 1) / 2;
	m->talks = calloc(m->talk_count, sizeof *m->talks);
	if (!m->talks)
		return -THRUM_E_MEMORY;
	for (uint32_t b = 1; b < m->hosts; b++)
		for (uint32_t a = 0; a < b; a++)
			*talk_of(m, a, b) = (struct thrum__world_talk){.a = a, .b = b};
	for (uint32_t i = 0; i < links->message_count && error == 0; i++)
		error = add_message(m, &links->all[links->messages[i].sent],
			&links->all[links->messages[i].received]);
	for (uint32_t i = 0; i < m->ping_count && error == 0; i++)
		error = add_ping(m, &m->pings[i]);
	for (size_t i = 0; i < m->talk_count && error == 0; i++) {
		struct thrum__world_talk *talk = &m->talks[i];

		if (talk->there_count > 0)
			qsort(talk->there, talk->there_count, sizeof *talk->there, compare_points);
		if (talk->back_count > 0)
			qsort(talk->back, talk->back_count, sizeof *talk->back, compare_points);
	}
	return error;
}

void thrum__world_talks_finish(struct thrum__world_making *m)
{
	for (size_t i = 0; i < m->talk_count && m->talks; i++) {
		free(m->talks[i].there);
		free(m->talks[i].back);
	}
	free(m->talks);
}
