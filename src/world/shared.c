/* SPDX-License-Identifier: ISC */
/*
 * Objects in memory that processes share. The adapters give such an object the same name in each of them, by
 * the memory. The first process that names it makes its task, and the others' tasks become this one.
 */
#include "world/shared.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static const char mark[] = " in shared ";

/* Whether a label is such a name. Any program may say so, and then means the same by it. */
static bool is_name(const struct thrum_event *label)
{
	size_t size = sizeof mark - 1;

	for (size_t i = 0; i + size <= label->text_size; i++)
		if (memcmp(label->text + i, mark, size) == 0)
			return true;
	return false;
}

/* Adds the object of a name, for a task of the trace. */
static void add_alias(struct thrum__world_shared *shared, uint64_t task, uint32_t object)
{
	struct thrum__world_alias *aliases;
	uint32_t index;

	if (thrum__base_keys_add(&shared->tasks, task, "", 0, &index) < 0)
		return;
	aliases = thrum__base_grow(shared->aliases, &shared->alias_room, index + UINT64_C(1),
		sizeof *aliases);
	/* A task without its alias is left alone. */
	if (!aliases) {
		shared->alias_room = 0;
		return;
	}
	shared->aliases = aliases;
	aliases[index] = (struct thrum__world_alias){shared->objects[object].task, object};
}

bool thrum__world_shares(struct thrum__world_shared *shared, uint32_t host, uint32_t part,
	const struct thrum_event *label, uint64_t task)
{
	struct thrum__world_object *objects;
	uint32_t index;
	bool is_other;

	if (!is_name(label) ||
		thrum__base_keys_add(&shared->names, host, label->text, label->text_size, &index) <
			0)
		return false;
	objects = thrum__base_grow_zeroed(shared->objects, &shared->object_room,
		index + UINT64_C(1), sizeof *objects);
	if (!objects)
		return false;
	shared->objects = objects;
	is_other = objects[index].task && objects[index].part != part;
	if (is_other)
		objects[index].is_shared = true;
	else
		objects[index] = (struct thrum__world_object){.task = task, .part = part};
	add_alias(shared, task, index);
	return is_other;
}

static const struct thrum__world_alias *find(const struct thrum__world_shared *shared,
	uint64_t task)
{
	uint32_t index = shared->tasks.count > 0
		? thrum__base_keys_find(&shared->tasks, task, "", 0)
		: UINT32_MAX;

	return index < shared->alias_room ? &shared->aliases[index] : NULL;
}

uint64_t thrum__world_shared_task(const struct thrum__world_shared *shared, uint64_t task)
{
	const struct thrum__world_alias *alias = find(shared, task);

	return alias ? alias->task : task;
}

bool thrum__world_is_shared(const struct thrum__world_shared *shared, uint64_t task)
{
	const struct thrum__world_alias *alias = find(shared, task);

	return alias && shared->objects[alias->object].task == alias->task &&
		shared->objects[alias->object].is_shared;
}

void thrum__world_shared_ends(struct thrum__world_shared *shared, uint64_t task)
{
	const struct thrum__world_alias *alias = find(shared, task);

	if (alias && shared->objects[alias->object].task == alias->task)
		shared->objects[alias->object] = (struct thrum__world_object){0};
}

void thrum__world_shared_finish(struct thrum__world_shared *shared)
{
	thrum__base_keys_free(&shared->names);
	thrum__base_keys_free(&shared->tasks);
	free(shared->objects);
	free(shared->aliases);
}
