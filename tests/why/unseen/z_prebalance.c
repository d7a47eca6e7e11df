/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=poll clicks
 *   truth: A new consumer starts a rebalance of the group, which ends when all members have joined again. Consumer "audit" joins only after its whole batch, 260 ms later ("process batch audit" doesn't look at the group in between); until then the polls of the others wait for "rebalance".
 *   culprit: process batch audit|join group audit|on_batch_step
 *   victim: join group (mailer|search)|fetch clicks
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Three consumers of a topic share its partitions; a fourth one comes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	MEMBERS = 3,
	POLLS = 40,
	BATCH = 52 /* steps of 5 ms */
};

struct member {
	const char *name;
	int polls, generation, step;
};

static struct {
	struct thrum_promise *rebalance; /* NULL: none is under way */
	struct thrum_resolver *resolver;
	int generation, joined;
} group;

static struct member members[MEMBERS] = {{"mailer", POLLS, 0, 0}, {"search", POLLS, 0, 0},
	{"audit", 2, 0, 0}};
static int broken, fetched;

static void start_rebalance(struct thrum_loop *loop)
{
	group.generation++;
	group.joined = 0;
	group.rebalance = thrum_promise_task(loop, "rebalance", &group.resolver);
}

/* Joins the new generation. The last one to join ends the rebalance. Returns a promise for that end. */
static struct thrum_promise *join_group(struct thrum_loop *loop, struct member *member)
{
	struct thrum_promise *end;

	if (!group.rebalance || member->generation == group.generation)
		return thrum_promise_return(loop, thrum_value_none());
	member->generation = group.generation;
	end = thrum_promise_ref(group.rebalance);
	if (++group.joined == MEMBERS) {
		thrum_promise_unref(group.rebalance);
		group.rebalance = NULL;
		thrum_resolver_resolve(group.resolver, thrum_value_none());
	}
	return thrum_promise_labelf(thrum_promise_protected(end), "join group %s", member->name);
}

static struct thrum_promise *fetch(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	fetched++;
	return thrum_promise_label(thrum_sleep(loop, 3), "fetch clicks");
}

static struct thrum_promise *poll_topic(struct thrum_loop *loop, struct member *member)
{
	return thrum_promise_label(thrum_promise_should_resolve(
					   thrum_promise_bind(join_group(loop, member), fetch,
						   member, NULL)),
		"poll clicks");
}

static struct thrum_promise *consume(struct thrum_loop *loop, void *value, void *data)
{
	struct member *member = data;

	(void)value;
	if (member->polls-- == 0)
		return join_group(loop, member);
	return thrum_promise_bind(poll_topic(loop, member), consume, member, NULL);
}

/* The auditor works through a batch and then takes part in the group again. */
static struct thrum_promise *on_batch_step(struct thrum_loop *loop, void *value, void *data)
{
	struct member *member = data;

	(void)value;
	if (member->step++ == BATCH)
		return thrum_promise_return(loop, thrum_value_none());
	/* The healthy one answers for the group in the middle of a batch. */
	if (!broken)
		thrum_promise_unref(join_group(loop, member));
	return thrum_promise_bind(thrum_sleep(loop, 5), on_batch_step, member, NULL);
}

static struct thrum_promise *audit(struct thrum_loop *loop, void *data)
{
	struct member *member = data;
	struct thrum_promise *batch = thrum_promise_labelf(on_batch_step(loop, NULL, member),
		"process batch %s", member->name);

	return thrum_promise_bind(batch, consume, member, NULL);
}

/* A fourth consumer subscribes. */
static struct thrum_promise *on_subscribe(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	start_rebalance(loop);
	return thrum_promise_return(loop, thrum_value_none());
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[4];
	struct thrum_loop *loop;
	int result;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	all[0] = thrum_promise_label(consume(loop, NULL, &members[0]), "mailer");
	all[1] = thrum_promise_label(consume(loop, NULL, &members[1]), "search");
	all[2] = thrum_promise_label(audit(loop, &members[2]), "audit");
	all[3] = thrum_promise_bind(thrum_sleep(loop, 35), on_subscribe, NULL, NULL);
	result = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(loop, all, 4), "consumers"));
	printf("%d fetched, generation %d\n", fetched, group.generation);
	thrum_stop();
	return result != 0;
}
