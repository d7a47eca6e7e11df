/* SPDX-License-Identifier: ISC */
/*
 * Sets apart all that is kept, so that it can be written while others listen. Meanwhile the kernel's
 * records are kept in new arrays, and come behind the others afterwards.
 */
#include <stdlib.h>

#include "source/switches/parts.h"

/* The same names under the same numbers. */
static int copy_names(const struct thrum__base_keys *names, struct thrum__base_keys *to)
{
	int error = 0;

	for (uint32_t i = 0; i < names->count && error == 0; i++) {
		uint32_t index;
		size_t size;
		const char *text = thrum__base_keys_text(names, i, &size);

		error = thrum__base_keys_add(to, names->keys[i].number, text, size, &index);
	}
	return error;
}

/* Moves all but what is needed to listen, of which others make use without a lock. */
static void move_kept(struct thrum__source_switches *from, struct thrum__source_switches *to)
{
	to->all = from->all;
	to->count = from->count;
	to->room = from->room;
	to->next_old = from->next_old;
	to->losses = from->losses;
	to->loss_count = from->loss_count;
	to->loss_room = from->loss_room;
	to->forgotten = from->forgotten;
	to->events = from->events;
	to->event_count = from->event_count;
	to->event_room = from->event_room;
	to->next_event = from->next_event;
	to->forgotten_events = from->forgotten_events;
	to->names = from->names;
	to->failed = from->failed;
	from->all = NULL;
	from->losses = NULL;
	from->events = NULL;
	from->count = from->room = from->next_old = from->loss_count = from->loss_room = 0;
	from->event_count = from->event_room = from->next_event = 0;
	from->forgotten = from->forgotten_events = 0;
	from->names = (struct thrum__base_keys){0};
}

int thrum__source_switches_split(struct thrum__source_switches *switches,
	struct thrum__source_switches *kept)
{
	struct thrum__base_keys names = {0};

	if (copy_names(&switches->names, &names) != 0) {
		thrum__base_keys_free(&names);
		return -THRUM_E_MEMORY;
	}
	*kept = (struct thrum__source_switches){0};
	move_kept(switches, kept);
	switches->names = names;
	return 0;
}

void thrum__source_switches_join(struct thrum__source_switches *switches,
	struct thrum__source_switches *kept)
{
	for (uint32_t i = 0; i < switches->count; i++)
		thrum__source_switches_keep(kept,
			&switches->all[(switches->next_old + i) % switches->count]);
	for (uint32_t i = 0; i < switches->loss_count; i++)
		thrum__source_switches_keep_loss(kept, &switches->losses[i]);
	for (uint32_t i = 0; i < switches->event_count; i++)
		thrum__source_switches_keep_event(kept,
			&switches->events[(switches->next_event + i) % switches->event_count]);
	if (kept->forgotten < switches->forgotten)
		kept->forgotten = switches->forgotten;
	kept->forgotten_events += switches->forgotten_events;
	kept->failed |= switches->failed;
	free(switches->all);
	free(switches->losses);
	free(switches->events);
	thrum__base_keys_free(&kept->names);
	kept->names = switches->names;
	move_kept(kept, switches);
}
