/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the first request for skyline.jpg (the leader) gives up its fetch after 200 ms, and publish_thumb runs
 *     only when a fetch succeeds: the entry stays in the table, and those who joined the fetch by join_fetch
 *     ("joined skyline.jpg") are never told, nor are later ones.
 *   culprit: joined skyline\.jpg|join_fetch|fetch skyline\.jpg
 *   victim: GET /skyline\.jpg|all visits
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A caching proxy for thumbnails on promises over libuv. Requests for a picture that is being fetched share that fetch. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <thrum/promise.h>
#include <uv.h>

#define PATIENCE_MS 200

/* ---- The origin: a server that scales pictures ------------------------------------------------ */

static struct thrum_listener *origin;
static struct sockaddr_in origin_address;

struct answer {
	struct thrum_connection *connection;
	char text[48];
	size_t size;
};

static struct thrum_promise *answer_close(struct thrum_loop *loop, void *data)
{
	struct answer *answer = data;

	(void)loop;
	return thrum_connection_close(answer->connection);
}

static struct thrum_promise *answer_write(struct thrum_loop *loop, void *value, void *data)
{
	struct answer *answer = data;

	(void)loop;
	(void)value;
	return thrum_connection_write(answer->connection, thrum_value_static(answer->text),
		answer->size);
}

/* A picture with a big original takes long to scale. */
static struct thrum_promise *scale_picture(struct thrum_loop *loop, void *value, void *data)
{
	const struct thrum_bytes *bytes = value;
	struct answer *answer = data;
	bool is_big;

	if (!bytes)
		return thrum_promise_fail(loop, -EPIPE, NULL);
	is_big = bytes->size >= 7 && !memcmp(bytes->data, "skyline", 7);
	answer->size = (size_t)snprintf(answer->text, sizeof(answer->text), "thumb of %.*s",
		(int)bytes->size, bytes->data);
	return thrum_promise_bind(thrum_sleep(loop, is_big ? 5000 : 15), answer_write, answer,
		NULL);
}

static struct thrum_promise *origin_serve(struct thrum_loop *loop, void *data)
{
	struct answer *answer = data;
	struct thrum_promise *served;

	(void)loop;
	served = thrum_promise_bind(thrum_connection_read(answer->connection), scale_picture,
		answer, NULL);
	return thrum_promise_finalize(served, answer_close, answer, free);
}

static void origin_accept(struct thrum_loop *loop);

static void origin_accepted(struct thrum_loop *loop, void *value, void *data)
{
	struct answer *answer = calloc(1, sizeof(*answer));
	struct thrum_value taken;

	(void)data;
	if (!answer || !thrum_loop_take(loop, &taken))
		abort();
	answer->connection = value;
	thrum_promise_async(loop, "origin", origin_serve, answer, NULL);
	origin_accept(loop);
}

static void origin_accept(struct thrum_loop *loop)
{
	(void)loop;
	thrum_promise_on_success(thrum_listener_accept(origin), origin_accepted, NULL, NULL);
}

/* ---- One fetch from the origin ------------------------------------------------------------------ */

struct ask {
	struct thrum_connection *connection;
	char name[32];
};

static struct thrum_promise *ask_close(struct thrum_loop *loop, void *data)
{
	struct ask *ask = data;

	if (!ask->connection)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_connection_close(ask->connection);
}

static struct thrum_promise *ask_read(struct thrum_loop *loop, void *value, void *data)
{
	struct ask *ask = data;

	(void)loop;
	(void)value;
	return thrum_connection_read(ask->connection);
}

static struct thrum_promise *ask_send(struct thrum_loop *loop, void *value, void *data)
{
	struct ask *ask = data;
	struct thrum_value taken;

	if (!thrum_loop_take(loop, &taken))
		return thrum_promise_fail(loop, -EIO, NULL);
	ask->connection = value;
	return thrum_promise_bind(thrum_connection_write(ask->connection,
					  thrum_value_static(ask->name), strlen(ask->name)),
		ask_read, ask, NULL);
}

static struct thrum_value ask_size(struct thrum_loop *loop, void *value, void *data)
{
	const struct thrum_bytes *bytes = value;

	(void)loop;
	(void)data;
	return thrum_value_int(bytes ? (intptr_t)bytes->size : 0);
}

static struct thrum_promise *fetch_thumb(struct thrum_loop *loop, const char *name)
{
	struct ask *ask = calloc(1, sizeof(*ask));
	struct thrum_promise *got;

	snprintf(ask->name, sizeof(ask->name), "%s", name);
	got = thrum_promise_bind(thrum_tcp_connect(loop, (struct sockaddr *)&origin_address),
		ask_send, ask, NULL);
	got = thrum_promise_map(got, ask_size, NULL, NULL);
	got = thrum_promise_finalize(got, ask_close, ask, free);
	return thrum_promise_labelf(thrum_timeout(got, PATIENCE_MS), "fetch %s", name);
}

/* ---- The proxy ------------------------------------------------------------------------------------ */

#define JOINED_MAX 8

struct fetch {
	struct fetch *next;
	char name[32];
	struct thrum_resolver *joined[JOINED_MAX];
	unsigned count;
};

static struct fetch *fetches;

static void publish_thumb(struct thrum_loop *loop, void *value, void *data)
{
	struct fetch *fetch = data, **link = &fetches;

	(void)loop;
	while (*link != fetch)
		link = &(*link)->next;
	*link = fetch->next;
	for (unsigned i = 0; i < fetch->count; i++)
		thrum_resolver_resolve(fetch->joined[i], thrum_value_int(thrum_int(value)));
	free(fetch);
}

static struct thrum_promise *join_fetch(struct thrum_loop *loop, struct fetch *fetch)
{
	struct thrum_promise *promise;

	if (fetch->count == JOINED_MAX)
		return thrum_promise_fail(loop, -EBUSY, "too many want %s", fetch->name);
	promise = thrum_promise_wait(loop, NULL, &fetch->joined[fetch->count]);
	fetch->count++;
	return thrum_promise_labelf(promise, "joined %s", fetch->name);
}

static struct thrum_promise *get_thumb(struct thrum_loop *loop, const char *name)
{
	struct thrum_promise *got;
	struct fetch *fetch;

	for (fetch = fetches; fetch; fetch = fetch->next)
		if (!strcmp(fetch->name, name))
			return join_fetch(loop, fetch);
	fetch = calloc(1, sizeof(*fetch));
	snprintf(fetch->name, sizeof(fetch->name), "%s", name);
	fetch->next = fetches;
	fetches = fetch;
	got = fetch_thumb(loop, name);
	thrum_promise_on_success(thrum_promise_ref(got), publish_thumb, fetch, NULL);
	return got;
}

/* ---- Visitors ------------------------------------------------------------------------------------- */

struct visit {
	const char *name;
	unsigned at_ms;
};

static unsigned errors;

static struct thrum_promise *reply_error(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	const struct visit *visit = data;

	fprintf(stderr, "504 %s: %s\n", visit->name, failure->message);
	errors++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *visit_get(struct thrum_loop *loop, void *value, void *data)
{
	const struct visit *visit = data;

	(void)value;
	return thrum_promise_catch(get_thumb(loop, visit->name), reply_error, data, NULL);
}

int main(int argc, char **argv)
{
	static struct visit morning[] = {{"cat.jpg", 0}, {"tree.jpg", 5}, {"cat.jpg", 8},
		{"boat.jpg", 20}, {"boat.jpg", 25}, {"tree.jpg", 60}, {"lake.jpg", 80}};
	static struct visit evening[] = {{"cat.jpg", 0}, {"tree.jpg", 5}, {"cat.jpg", 8},
		{"skyline.jpg", 20}, {"skyline.jpg", 25}, {"boat.jpg", 60}, {"skyline.jpg", 420}};
	bool is_evening = argc > 1 && !strcmp(argv[1], "broken");
	struct thrum_promise *visits[7], *all;
	struct visit *plan = is_evening ? evening : morning;
	struct thrum_loop *loop;
	struct sockaddr_in any = {.sin_family = AF_INET};
	int result;

	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (thrum_start(NULL) || thrum_loop_create(uv_default_loop(), &loop) ||
		thrum_tcp_listen(loop, (struct sockaddr *)&any, 16, &origin))
		return 2;
	origin_address = any;
	origin_address.sin_port = htons((uint16_t)thrum_listener_port(origin));
	origin_accept(loop);
	for (int i = 0; i < 7; i++) {
		visits[i] = thrum_promise_bind(thrum_sleep(loop, plan[i].at_ms), visit_get,
			&plan[i], NULL);
		visits[i] = thrum_promise_labelf(thrum_promise_should_resolve(visits[i]), "GET /%s",
			plan[i].name);
	}
	all = thrum_promise_label(thrum_promise_join(loop, visits, 7), "all visits");
	result = thrum_promise_run(thrum_promise_should_resolve(all));
	thrum_stop();
	thrum_listener_close(origin);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return result || errors ? 1 : 0;
}
