/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: Lookups of the same host share one promise ("flight cdn.example"), kept in a table. "query cdn.example"
 *     times out, but only its success ends the flight: the failure is handled by nobody, the dead flight stays in the
 *     table, and all requests for cdn.example (GET /logo.png, GET /app.js, GET /app.css) wait for it for ever.
 *   culprit: (flight|query) cdn\.example
 *   victim: GET /|load page
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A page loader: names are looked up once, however many requests need them. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

struct flight {
	const char *host;
	struct thrum_promise *answer;
	struct thrum_resolver *resolver;
	int tries;
};

static struct flight table[4];
static int flights;
static bool careless;
static int loaded;

static void on_answer(struct thrum_loop *loop, void *value, void *data)
{
	struct flight *flight = data;

	(void)loop;
	thrum_resolver_resolve(flight->resolver, thrum_value_int(thrum_int(value)));
	flight->resolver = NULL;
}

static struct thrum_value to_address(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	return thrum_value_int(0x5db8d822);
}

/* Asks the name server; it doesn't answer the first question about cdn.example. */
static struct thrum_promise *query(struct thrum_loop *loop, struct flight *flight)
{
	bool mute = !strcmp(flight->host, "cdn.example") && flight->tries++ == 0;
	struct thrum_promise *reply = thrum_promise_map(thrum_sleep(loop, mute ? 5000 : 12),
		to_address, NULL, NULL);

	return thrum_promise_labelf(thrum_timeout(reply, 80), "query %s", flight->host);
}

static void on_no_answer(struct thrum_loop *loop, const struct thrum_failure *failure, void *data)
{
	struct flight *flight = data;

	(void)failure;
	thrum_promise_on_any(query(loop, flight), on_answer, NULL, flight, NULL);
}

static struct thrum_promise *lookup(struct thrum_loop *loop, const char *host)
{
	struct thrum_promise *asked;
	struct flight *flight;

	for (int i = 0; i < flights; i++)
		if (!strcmp(table[i].host, host))
			return thrum_promise_ref(table[i].answer);
	flight = &table[flights++];
	flight->host = host;
	flight->answer = thrum_promise_wait(loop, NULL, &flight->resolver);
	thrum_promise_labelf(flight->answer, "flight %s", host);
	asked = query(loop, flight);
	if (careless)
		thrum_promise_on_success(asked, on_answer, flight, NULL);
	else
		thrum_promise_on_any(asked, on_answer, on_no_answer, flight, NULL);
	return thrum_promise_ref(flight->answer);
}

static struct thrum_promise *fetch(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_sleep(loop, 20);
}

static struct thrum_value count(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	loaded++;
	return thrum_value_none();
}

static struct thrum_promise *get(struct thrum_loop *loop, const char *host, const char *path)
{
	struct thrum_promise *body = thrum_promise_bind(lookup(loop, host), fetch, NULL, NULL);

	return thrum_promise_labelf(thrum_promise_map(body, count, NULL, NULL), "GET %s", path);
}

static struct thrum_promise *parse(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *parts[5];

	(void)value;
	(void)data;
	parts[0] = get(loop, "cdn.example", "/logo.png");
	parts[1] = get(loop, "cdn.example", "/app.js");
	parts[2] = get(loop, "www.example", "/news.json");
	parts[3] = get(loop, "cdn.example", "/app.css");
	parts[4] = get(loop, "ads.example", "/banner");
	return thrum_promise_join(loop, parts, 5);
}

static void draw_progress(uv_timer_t *timer)
{
	(void)timer;
}

int main(int argc, char **argv)
{
	struct thrum_promise *page;
	struct thrum_loop *loop;
	uv_timer_t progress;
	uv_loop_t uv;
	int result;

	careless = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	uv_timer_init(&uv, &progress);
	uv_timer_start(&progress, draw_progress, 50, 50);
	page = thrum_promise_bind(get(loop, "www.example", "/index.html"), parse, NULL, NULL);
	thrum_promise_should_resolve(thrum_promise_label(page, "load page"));
	result = thrum_promise_run(page);
	thrum_stop();
	uv_close((uv_handle_t *)&progress, NULL);
	for (int i = 0; i < flights; i++)
		thrum_promise_unref(table[i].answer);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	printf("%d parts, result %d\n", loaded, result);
	return result != 0;
}
