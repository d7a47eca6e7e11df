/* SPDX-License-Identifier: ISC */
/* Reads what agents have found about the clocks of machines: see ping.c. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "fleet/parts.h"
#include "read/read.h"

struct reading {
	struct thrum__fleet_pings *pings;
	uint32_t room;
	uint32_t seen, every; /* every so many of those that were seen is kept */
};

static bool is_wanted(const struct thrum__fleet_pings *p, uint64_t boot)
{
	for (size_t i = 0; i < p->boot_count; i++)
		if (p->boots[i] == boot)
			return true;
	return false;
}

/* Keeps every second one when there are too many. */
static void thin_out(struct reading *r)
{
	struct thrum__fleet_pings *p = r->pings;

	p->count /= 2;
	r->every *= 2;
	for (uint32_t i = 0; i < p->count; i++)
		p->all[i] = p->all[2 * i];
}

static int take_ping(void *context, const struct thrum__fleet_stored *message)
{
	struct reading *r = context;
	struct thrum__fleet_pings *p = r->pings;
	struct thrum__ping ping, *all;

	if (message->time > p->until)
		return 1;
	if (!thrum__fleet_get_ping(message->bytes, message->size, &ping) ||
		!is_wanted(p, ping.asker) || r->seen++ % r->every != 0)
		return 0;
	if (p->count == THRUM__PINGS_MAX)
		thin_out(r);
	all = thrum__base_grow(p->all, &r->room, p->count + UINT64_C(1), sizeof *all);
	if (!all)
		return -THRUM_E_MEMORY;
	p->all = all;
	all[p->count++] = ping;
	return 0;
}

int thrum__fleet_read_pings(struct thrum__fleet_server *server, struct thrum__fleet_pings *pings,
	struct thrum_error_info *info)
{
	struct reading reading = {.pings = pings, .every = 1};
	struct thrum__fleet_range range = {.filter = "thrum.rec.*.clock",
		.from = pings->from > 0 ? pings->from : 1};
	int result = thrum__fleet_last(server, false, &range.last, info);

	if (result == 0)
		result = thrum__fleet_read(server, &range, take_ping, &reading, info);
	return result < 0 ? result : 0;
}
