/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=GET /basket
 *   truth: Some requests GET /basket are slow because they wait for the mutex "baskets", which "save baskets"
 *     holds while it writes them to the slow backup, 120 ms each time, instead of only while it copies them.
 *   culprit: save baskets|save_begin|save_locked|write backup|"?baskets\b
 *   victim: client \d|main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A shop keeps baskets in memory; requests read and change them under a mutex, and a saver writes them to a backup. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define CLIENTS 3
#define SAVES 5

struct client {
	int number;
	int rounds;
	unsigned pause_ms;
};

static struct thrum_mutex *baskets;
static struct thrum_semaphore *workers;
static int amounts[8];
static int copy[8];
static int saves;
static int gets;
static int adds;
static bool copy_only;

static struct thrum_promise *pause_then(struct thrum_loop *loop, unsigned ms, const char *label)
{
	return thrum_promise_label(thrum_sleep(loop, ms), label);
}

/* ---- requests ---- */

static struct thrum_promise *read_basket(struct thrum_loop *loop, void *data)
{
	const struct client *client = data;

	gets += amounts[client->number % 8] >= 0;
	return pause_then(loop, 1, "sum up");
}

static struct thrum_promise *change_basket(struct thrum_loop *loop, void *data)
{
	const struct client *client = data;

	amounts[client->number % 8]++;
	adds++;
	return pause_then(loop, 1, "reckon discount");
}

static struct thrum_promise *with_basket(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_mutex_with(baskets, read_basket, data, NULL);
}

static struct thrum_promise *get_basket(struct thrum_loop *loop, struct client *client)
{
	struct thrum_promise *answer;

	answer = thrum_promise_bind(pause_then(loop, 2, "check token"), with_basket, client, NULL);
	return thrum_promise_labelf(answer, "GET /basket/%d", client->number);
}

static struct thrum_promise *get_article(struct thrum_loop *loop, void *data)
{
	(void)data;
	return pause_then(loop, 4, "look up article");
}

static struct thrum_promise *add_article(struct thrum_loop *loop, struct client *client)
{
	(void)loop;
	return thrum_promise_labelf(thrum_mutex_with(baskets, change_basket, client, NULL),
		"PUT /basket/%d", client->number);
}

/* ---- clients ---- */

static struct thrum_promise *client_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *client_ask(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;
	struct thrum_promise *answer;

	(void)value;
	if (client->rounds % 4 == 0)
		answer = add_article(loop, client);
	else if (client->rounds % 4 == 1)
		answer = thrum_promise_labelf(thrum_semaphore_with(workers, get_article, NULL,
						      NULL),
			"GET /article/%d", client->rounds);
	else
		answer = get_basket(loop, client);
	return thrum_promise_bind(answer, client_next, client, NULL);
}

static struct thrum_promise *client_next(struct thrum_loop *loop, void *value, void *data)
{
	struct client *client = data;

	(void)value;
	if (client->rounds-- == 0)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(pause_then(loop, client->pause_ms, "think"), client_ask, client,
		NULL);
}

/* ---- the saver ---- */

static struct thrum_promise *saver_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *write_backup(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	saves++;
	return pause_then(loop, 120, "write backup");
}

static struct thrum_promise *save_locked(struct thrum_loop *loop, void *data)
{
	memcpy(copy, amounts, sizeof copy);
	if (copy_only)
		return thrum_promise_return(loop, thrum_value_none());
	return write_backup(loop, NULL, data);
}

static struct thrum_promise *save_begin(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *saved = thrum_mutex_with(baskets, save_locked, data, NULL);

	(void)loop;
	(void)value;
	if (copy_only)
		saved = thrum_promise_bind(saved, write_backup, data, NULL);
	saved = thrum_promise_label(saved, "save baskets");
	return thrum_promise_bind(saved, saver_next, data, NULL);
}

static struct thrum_promise *saver_next(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (saves == SAVES)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 100), save_begin, data, NULL);
}

int main(int argc, char **argv)
{
	static struct client clients[CLIENTS] = {{1, 60, 7}, {2, 60, 9}, {3, 60, 11}};
	struct thrum_promise *all[CLIENTS + 1];
	struct thrum_loop *loop;
	uv_loop_t uv;
	int code;

	if (argc < 2)
		return 2;
	copy_only = !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	baskets = thrum_mutex_create(loop, "baskets");
	workers = thrum_semaphore_create(loop, "workers", 2);
	for (int i = 0; i < CLIENTS; i++)
		all[i] = thrum_promise_labelf(client_next(loop, NULL, &clients[i]), "client %d",
			i + 1);
	all[CLIENTS] = thrum_promise_label(saver_next(loop, NULL, NULL), "saver");
	code = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(loop, all, CLIENTS + 1), "main"));
	printf("%d gets, %d adds, %d saves\n", gets, adds, saves);
	thrum_stop();
	thrum_semaphore_destroy(workers);
	thrum_mutex_destroy(baskets);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return code ? 1 : 0;
}
