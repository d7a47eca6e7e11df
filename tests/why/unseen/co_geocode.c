/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: Places are looked up in the cache by the spelling that tidy makes, but remember keeps them by the
 *     raw text of the customer. So the cache hardly ever knows a place, and nearly each of the 48 orders asks the provider
 *     ("ask provider"), instead of one order for each of the 8 places. The orders queue for the provider's two connections.
 *   culprit: ask provider|ask_provider
 *   victim: locate
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A delivery service locates the addresses of its orders: by a cache, else by a provider that is slow. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define ORDERS 48
#define PLACES 8
#define CACHE_MAX 64
#define TEXT_MAX 48

struct order {
	int number;
	char text[TEXT_MAX]; /* as the customer wrote it */
	char key[TEXT_MAX];
	int found;
};

static const char *const places[PLACES] = {
	"Mill Lane 4",
	"Station Road 12",
	"High Street 1",
	"Church Hill 7",
	"Harbour 3",
	"Oak Avenue 22",
	"Kingsway 9",
	"Bridge Street 15",
};

static struct {
	char key[TEXT_MAX];
	int position;
} cache[CACHE_MAX];
static int cached;

static struct order orders[ORDERS];
static struct thrum_semaphore *provider;
static unsigned asked, located;
static bool broken;

/* Different spellings of a place are the same. */
static void tidy(char *to, const char *from)
{
	while (*from == ' ')
		from++;
	for (; *from; from++)
		*to++ = (char)tolower((unsigned char)*from);
	while (to[-1] == ' ')
		to--;
	*to = '\0';
}

static const int *find_place(const char *key)
{
	for (int i = 0; i < cached; i++)
		if (!strcmp(cache[i].key, key))
			return &cache[i].position;
	return NULL;
}

static void remember(const struct order *order)
{
	const char *key = broken ? order->text : order->key;

	if (cached == CACHE_MAX || find_place(key))
		return;
	snprintf(cache[cached].key, TEXT_MAX, "%s", key);
	cache[cached++].position = order->found;
}

static struct thrum_value on_answer(struct thrum_loop *loop, void *value, void *data)
{
	struct order *order = data;

	(void)loop;
	(void)value;
	order->found = 100 + (int)strlen(order->key) * 3;
	remember(order);
	return thrum_value_none();
}

static struct thrum_promise *ask_provider(struct thrum_loop *loop, void *data)
{
	struct thrum_promise *answer;

	asked++;
	answer = thrum_promise_map(thrum_sleep(loop, 14), on_answer, data, NULL);
	return thrum_promise_label(answer, "ask provider");
}

static struct thrum_promise *look_up(struct thrum_loop *loop, struct order *order)
{
	const int *position = find_place(order->key);

	if (position) {
		order->found = *position;
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_semaphore_with(provider, ask_provider, order, NULL);
}

static struct thrum_value plan_route(struct thrum_loop *loop, void *value, void *data)
{
	struct order *order = data;

	(void)loop;
	(void)value;
	if (order->found)
		located++;
	return thrum_value_none();
}

static struct thrum_promise *locate(struct thrum_loop *loop, void *value, void *data)
{
	struct order *order = data;

	(void)value;
	tidy(order->key, order->text);
	return look_up(loop, order);
}

/* Orders come every few milliseconds, and customers write as they like. */
static struct thrum_promise *take_order(struct thrum_loop *loop, int number)
{
	static const char *const before[] = {"", " ", "", "  "};
	struct order *order = &orders[number];
	struct thrum_promise *come, *done;
	char text[TEXT_MAX - 4];

	order->number = number;
	snprintf(text, sizeof text, "%s", places[number % PLACES]);
	if (number % 3 == 0)
		text[0] = (char)tolower((unsigned char)text[0]);
	snprintf(order->text, TEXT_MAX, "%s%s%s", before[number % 4], text,
		number % 4 == 2 ? " " : "");
	come = thrum_sleep(loop, (uint64_t)number * 6);
	done = thrum_promise_bind(come, locate, order, NULL);
	done = thrum_promise_map(done, plan_route, order, NULL);
	return thrum_promise_should_resolve(thrum_promise_labelf(done, "locate order %d", number));
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[ORDERS];
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	provider = thrum_semaphore_create(loop, "provider", 2);
	for (int number = 0; number < ORDERS; number++)
		all[number] = take_order(loop, number);
	error = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(loop, all, ORDERS), "main"));
	printf("%u orders located, the provider was asked %u times: %s\n", located, asked,
		thrum_promise_error_message(error));
	thrum_stop();
	thrum_semaphore_destroy(provider);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	return uv_loop_close(&uv) != 0;
}
