/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="query *"
 *   truth: "reload rpz" parses the whole zone in the loop's thread, 300 ms; queries that are under way get no
 *     turn.
 *   culprit: reload rpz|parse_zone|rpz
 *   victim: upstream
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about Unbound: it is slow at loading big RPZ zones, and stops answering queries while such a
 * zone is updated.
 */
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define QUERIES 40

static int answered;
static volatile unsigned entries;
static bool healthy;

static void parse_zone(void)
{
	uint64_t begin = uv_hrtime();

	while (uv_hrtime() - begin < 300000000) {
		for (int i = 0; i < 5000; i++)
			entries = entries * 31 + 7;
	}
}

static int parse_in_thread(void *data, struct thrum_value *result)
{
	(void)data;
	(void)result;
	parse_zone();
	return 0;
}

static struct thrum_promise *transfer_done(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	if (healthy)
		return thrum_work(loop, "parse rpz", parse_in_thread, NULL, NULL);
	parse_zone();
	return thrum_promise_return(loop, thrum_value_none());
}

/* The zone comes from its master, and is then loaded. */
static struct thrum_promise *reload_zone(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *transfer = thrum_promise_label(thrum_sleep(loop, 100),
		"zone transfer");

	return thrum_promise_label(thrum_promise_bind(transfer, transfer_done, data, NULL),
		"reload rpz");
}

static struct thrum_promise *answer(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	answered++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *resolve_name(struct thrum_loop *loop, int number)
{
	struct thrum_promise *reply = thrum_promise_label(thrum_sleep(loop, 12), "upstream reply");
	struct thrum_promise *query = thrum_promise_bind(reply, answer, NULL, NULL);

	return thrum_promise_labelf(query, "query %d", number);
}

static struct thrum_promise *next_query(struct thrum_loop *loop, void *value, void *data)
{
	int number = (int)(intptr_t)data;
	struct thrum_promise *both[2];

	(void)value;
	both[0] = resolve_name(loop, number);
	if (number == QUERIES)
		return both[0];
	both[1] = thrum_promise_bind(thrum_sleep(loop, 8), next_query,
		(void *)(intptr_t)(number + 1), NULL);
	return thrum_promise_join(loop, both, 2);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[2], *served;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	all[0] = reload_zone(loop, NULL);
	all[1] = next_query(loop, NULL, (void *)1);
	served = thrum_promise_label(thrum_promise_join(loop, all, 2), "main");
	error = thrum_promise_run(thrum_promise_should_resolve(served));
	thrum_stop();
	printf("%d answered, %d\n", answered, error);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error != 0;
}
