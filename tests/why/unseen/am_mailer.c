/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: defer_letter() moves the letter to the lane for retries before its place is given back, so the place
 *     of “bulk slots” goes to “urgent slots”. From then on all bulk letters go through one place less.
 *   culprit: bulk slots|urgent slots|defer_letter
 *   victim: bulk letter
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Sends a queue of letters over two lanes, each with a number of connections. A busy host is tried again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include <thrum/promise.h>

#define BULK 9
#define URGENT 2
#define SEND_MS 80

struct lane {
	const char *name;
	struct thrum_semaphore *slots;
};

struct letter {
	int number;
	struct lane *lane;
	bool host_is_busy; /* at the first try */
	unsigned tries;
};

static struct lane bulk = {.name = "bulk"}, urgent = {.name = "urgent"};
static struct lane *retry_lane; /* the option retry-lane; NULL: the letter's own */
static unsigned sent;

static struct thrum_promise *deliver(struct thrum_loop *loop, struct letter *letter);

/* ---- One try --------------------------------------------------------------------------------- */

static struct thrum_promise *hear_reply(struct thrum_loop *loop, void *value, void *data)
{
	struct letter *letter = data;

	(void)value;
	if (letter->host_is_busy && letter->tries == 1)
		return thrum_promise_fail(loop, 421, "421 busy, try again");
	return thrum_promise_return(loop, thrum_value_none());
}

static __attribute__((noinline)) struct thrum_promise *transmit(struct thrum_loop *loop,
	struct letter *letter)
{
	letter->tries++;
	return thrum_promise_labelf(thrum_promise_bind(thrum_sleep(loop, SEND_MS), hear_reply,
					    letter, NULL),
		"transmit %s %d", letter->lane->name, letter->number);
}

/* ---- The lanes ------------------------------------------------------------------------------- */

static __attribute__((noinline)) void give_slot_back(struct letter *letter)
{
	thrum_semaphore_release(letter->lane->slots);
}

static struct thrum_promise *is_sent(struct thrum_loop *loop, void *value, void *data)
{
	struct letter *letter = data;

	(void)value;
	give_slot_back(letter);
	sent++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *try_later(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return deliver(loop, data);
}

/* A busy host gets the letter a little later. */
static struct thrum_promise *defer_letter(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct letter *letter = data;

	if (failure->code != 421)
		return thrum_promise_fail_again(loop, failure);
	if (retry_lane)
		letter->lane = retry_lane;
	give_slot_back(letter);
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 20), "back off"), try_later,
		letter, NULL);
}

static struct thrum_promise *has_slot(struct thrum_loop *loop, void *value, void *data)
{
	struct letter *letter = data;

	(void)value;
	return thrum_promise_try_bind(transmit(loop, letter), is_sent, defer_letter, letter, NULL);
}

static struct thrum_promise *deliver(struct thrum_loop *loop, struct letter *letter)
{
	(void)loop;
	return thrum_promise_bind(thrum_semaphore_acquire(letter->lane->slots), has_slot, letter,
		NULL);
}

static struct thrum_promise *post_letter(struct thrum_loop *loop, struct letter *letter, int number,
	struct lane *lane)
{
	*letter = (struct letter){number, lane, lane == &bulk && number == 1, 0};
	return thrum_promise_labelf(deliver(loop, letter), "%s letter %d", lane->name, number);
}

int main(int count, char **arguments)
{
	bool broken = count > 1 && strcmp(arguments[1], "broken") == 0;
	struct thrum_promise *posted[BULK + URGENT], *all;
	struct letter letters[BULK + URGENT];
	struct thrum_loop *loop;
	uv_loop_t uv;
	int status;

	if (thrum_start(NULL) || uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 2;
	bulk.slots = thrum_semaphore_create(loop, "bulk slots", 2);
	urgent.slots = thrum_semaphore_create(loop, "urgent slots", 2);
	if (broken)
		retry_lane = &urgent;
	for (int i = 0; i < URGENT; i++)
		posted[i] = post_letter(loop, &letters[i], i + 1, &urgent);
	for (int i = 0; i < BULK; i++)
		posted[URGENT + i] = post_letter(loop, &letters[URGENT + i], i + 1, &bulk);
	all = thrum_promise_join(loop, posted, BULK + URGENT);
	all = thrum_promise_should_resolve(thrum_promise_label(all, "queue run"));
	status = thrum_promise_run(all);
	printf("sent %u letters\n", sent);

	thrum_stop();
	thrum_semaphore_destroy(bulk.slots);
	thrum_semaphore_destroy(urgent.slots);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return status == 0 ? 0 : 1;
}
