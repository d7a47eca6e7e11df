/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: replicate still counts the majority of the five nodes that the cluster began with, after three of them have
 *     left; so entry 4 needs three acknowledgements, and only two nodes are there to give one.
 *   culprit: majority of entry 4|replicate
 *   victim: set cache-size|\bsetup\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A store of settings that five nodes keep in common. A change is valid when most of the nodes have acknowledged it. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define NODES 5

struct entry {
	int number;
	int needed, acks;
	struct thrum_resolver *majority;
};

static struct {
	bool member[NODES];
	int size; /* of the cluster */
	struct entry log[16];
	int entries;
	bool broken, closed;
} store = {.member = {true, true, true, true, true}, .size = NODES};

static const char *const settings[] = {"retention", "log-level", "region", "cache-size", "motd"};
#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

static void on_ack(struct thrum_loop *loop, void *value, void *data)
{
	struct entry *entry = data;

	(void)loop;
	(void)value;
	if (++entry->acks == entry->needed)
		thrum_resolver_resolve(entry->majority, thrum_value_none());
}

/* Sends an entry to all nodes, and returns a promise for most of their answers. */
static struct thrum_promise *replicate(struct thrum_loop *loop)
{
	struct entry *entry = &store.log[store.entries++];
	struct thrum_promise *majority = thrum_promise_wait(loop, NULL, &entry->majority);

	entry->number = store.entries;
	entry->needed = store.size / 2 + 1;
	thrum_promise_labelf(majority, "majority of entry %d", entry->number);
	for (int i = 0; i < NODES; i++)
		if (store.member[i]) {
			/* The nodes are played by timers. */
			struct thrum_promise *ack = thrum_sleep(loop, (uint64_t)(3 + 2 * i));

			thrum_promise_labelf(ack, "node %c stores entry %d", 'a' + i,
				entry->number);
			thrum_promise_on_success(ack, on_ack, entry, NULL);
		}
	return majority;
}

static void remove_node(int node)
{
	store.member[node] = false;
	if (!store.broken)
		store.size--;
}

static struct thrum_promise *apply(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_sleep(loop, 2); /* writes the file of settings */
}

static struct thrum_promise *set(struct thrum_loop *loop, const char *setting)
{
	struct thrum_promise *applied = thrum_promise_bind(replicate(loop), apply, NULL, NULL);

	return thrum_promise_labelf(applied, "set %s", setting);
}

static struct thrum_promise *set_next(struct thrum_loop *loop, void *value, void *data)
{
	size_t *next = data;
	size_t number = (*next)++;

	(void)value;
	if (number == SETTINGS)
		return thrum_promise_return(loop, thrum_value_none());
	if (number == 3) /* the second data centre is given up */
		for (int node = 2; node < NODES; node++)
			remove_node(node);
	return thrum_promise_bind(set(loop, settings[number]), set_next, next, NULL);
}

static struct thrum_promise *beat(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	if (store.closed)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 50), beat, NULL, NULL);
}

static struct thrum_promise *heartbeat(struct thrum_loop *loop, void *data)
{
	return beat(loop, NULL, data);
}

int main(int argc, char **argv)
{
	uv_loop_t *uv = uv_default_loop();
	struct thrum_promise *setup;
	struct thrum_loop *loop;
	size_t next = 0;
	int error;

	store.broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv, &loop))
		return 1;
	thrum_promise_async(loop, "heartbeat", heartbeat, NULL, NULL);
	setup = thrum_promise_label(set_next(loop, NULL, &next), "setup");
	error = thrum_promise_run(thrum_promise_should_resolve(setup));
	printf("%d entries: %s\n", store.entries, thrum_promise_error_message(error));
	store.closed = true;
	uv_run(uv, UV_RUN_DEFAULT);
	thrum_stop();
	thrum_loop_destroy(loop);
	uv_run(uv, UV_RUN_DEFAULT);
	uv_loop_close(uv);
	return error != 0;
}
