/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: on_map_failed takes a disk error (-EIO) for a split that can't be parsed, and skips it instead of mapping it
 *     again. These splits are never shuffled, and their words are missing in the result.
 *   culprit: on_map_failed|map again|shuffle
 *   victim: total
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define SPLITS 24
#define REDUCERS 3

struct split {
	int number, attempt;
	long words;
};

struct reducer {
	int number;
	long words;
};

static struct split splits[SPLITS];
static struct reducer reducers[REDUCERS];
static bool healthy;

static struct thrum_promise *map_split(struct thrum_loop *loop, struct split *split);

static struct thrum_promise *deliver(struct thrum_loop *loop, void *value, void *data)
{
	struct split *split = data;

	(void)value;
	reducers[split->number % REDUCERS].words += split->words;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *shuffle(struct thrum_loop *loop, struct split *split)
{
	struct thrum_promise *sent = thrum_sleep(loop, 3);

	return thrum_promise_labelf(thrum_promise_bind(sent, deliver, split, NULL), "shuffle %d",
		split->number);
}

static struct thrum_promise *parse(struct thrum_loop *loop, void *value, void *data)
{
	struct split *split = data;

	(void)value;
	/* The disk of one node is old. */
	if (split->number % 8 == 5 && split->attempt == 0)
		return thrum_promise_fail(loop, -EIO, "split %d", split->number);
	split->words = 1000 + split->number;
	return shuffle(loop, split);
}

static struct thrum_promise *on_map_failed(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct split *split = data;
	bool skip = healthy ? failure->code == -EINVAL : failure->code < 0;

	if (skip)
		return thrum_promise_return(loop, thrum_value_none());
	if (++split->attempt > 3)
		return thrum_promise_fail_again(loop, failure);
	return thrum_promise_labelf(map_split(loop, split), "map again %d", split->number);
}

static struct thrum_promise *map_split(struct thrum_loop *loop, struct split *split)
{
	struct thrum_promise *mapped;

	mapped = thrum_promise_label(thrum_sleep(loop, 8 + split->number % 5), "read block");
	mapped = thrum_promise_bind(mapped, parse, split, NULL);
	return thrum_promise_catch(mapped, on_map_failed, split, NULL);
}

static struct thrum_promise *write_part(struct thrum_loop *loop, void *value, void *data)
{
	struct reducer *reducer = data;

	(void)value;
	printf("part %d: %ld words\n", reducer->number, reducer->words);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *reduce_all(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *parts[REDUCERS];

	(void)value;
	(void)data;
	for (int i = 0; i < REDUCERS; i++) {
		reducers[i].number = i;
		parts[i] = thrum_promise_bind(thrum_sleep(loop, 10), write_part, &reducers[i],
			NULL);
		thrum_promise_labelf(parts[i], "reduce %d", i);
	}
	return thrum_promise_join(loop, parts, REDUCERS);
}

int main(int argc, char **argv)
{
	struct thrum_promise *maps[SPLITS], *whole;
	struct thrum_loop *loop;
	uv_loop_t uv;
	long total = 0;
	int result;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_start(NULL))
		return 1;
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	for (int i = 0; i < SPLITS; i++) {
		splits[i].number = i;
		maps[i] = thrum_promise_labelf(map_split(loop, &splits[i]), "map %d", i);
	}
	whole = thrum_promise_bind(thrum_promise_join(loop, maps, SPLITS), reduce_all, NULL, NULL);
	whole = thrum_promise_should_resolve(thrum_promise_label(whole, "total"));
	result = thrum_promise_run(whole);
	thrum_stop();
	for (int i = 0; i < REDUCERS; i++)
		total += reducers[i].words;
	printf("%ld words\n", total);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return result ? 1 : 0;
}
