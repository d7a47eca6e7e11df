/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: client 1 leads the rendering of cat.png and loses patience; its timeout cancels “render cat.png”, on
 *     which clients 2 and 3 have joined. publish() runs only when a rendering succeeds, so nobody tells them.
 *   culprit: render cat\.png|client 1
 *   victim: client [23]|share of cat\.png
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A server of thumbnails: those who want the same picture at the same time share one rendering. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include <thrum/promise.h>

#define RENDER_MS 500
#define FLIGHTS 4

/* One who joined a rendering that was under way. */
struct follower {
	struct follower *next;
	struct thrum_resolver *resolver;
};

/* A rendering that is under way. */
struct flight {
	const char *picture; /* NULL: free */
	struct thrum_promise *render;
	struct follower *followers;
};

struct client {
	int number;
	const char *picture;
	uint64_t comes_after, patience;
};

static struct flight flights[FLIGHTS];
static unsigned served, given_up;

/* ---- Rendering ------------------------------------------------------------------------------- */

static struct thrum_value encode(struct thrum_loop *loop, void *value, void *data)
{
	const struct flight *flight = data;
	char text[64];

	(void)loop, (void)value;
	snprintf(text, sizeof text, "thumbnail of %s", flight->picture);
	return thrum_value_own(strdup(text), free);
}

static struct thrum_promise *scale(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_map(thrum_sleep(loop, RENDER_MS - 20), encode, data, NULL);
}

static __attribute__((noinline)) struct thrum_promise *render(struct thrum_loop *loop,
	struct flight *flight)
{
	struct thrum_promise *decoded = thrum_promise_label(thrum_sleep(loop, 20), "decode");

	return thrum_promise_labelf(thrum_promise_bind(decoded, scale, flight, NULL), "render %s",
		flight->picture);
}

/* ---- Sharing --------------------------------------------------------------------------------- */

static struct flight *find_flight(const char *picture)
{
	for (int i = 0; i < FLIGHTS; i++)
		if (flights[i].picture && strcmp(flights[i].picture, picture) == 0)
			return &flights[i];
	return NULL;
}

/* The picture is there: gives it to all that joined, and lands. */
static void publish(struct thrum_loop *loop, void *value, void *data)
{
	struct flight *flight = data;
	struct follower *follower = flight->followers;

	(void)loop;
	flight->followers = NULL;
	flight->picture = NULL;
	thrum_promise_unref(flight->render);
	flight->render = NULL;
	while (follower) {
		struct follower *next = follower->next;

		thrum_resolver_resolve(follower->resolver, thrum_value_own(strdup(value), free));
		free(follower);
		follower = next;
	}
}

static __attribute__((noinline)) struct thrum_promise *lead(struct thrum_loop *loop,
	const char *picture)
{
	struct flight *flight = flights;

	while (flight->picture)
		flight++;
	flight->picture = picture;
	flight->render = render(loop, flight);
	thrum_promise_on_success(thrum_promise_ref(flight->render), publish, flight, NULL);
	return thrum_promise_ref(flight->render);
}

static __attribute__((noinline)) struct thrum_promise *join_flight(struct thrum_loop *loop,
	struct flight *flight)
{
	struct follower *follower = calloc(1, sizeof *follower);
	struct thrum_promise *share;

	if (!follower)
		return thrum_promise_fail(loop, -ENOMEM, NULL);
	share = thrum_promise_task(loop, NULL, &follower->resolver);
	thrum_promise_labelf(share, "share of %s", flight->picture);
	thrum_task_wait(thrum_promise_task_id(share), thrum_promise_task_id(flight->render));
	follower->next = flight->followers;
	flight->followers = follower;
	return share;
}

static struct thrum_promise *get_thumbnail(struct thrum_loop *loop, const char *picture)
{
	struct flight *flight = find_flight(picture);

	return flight ? join_flight(loop, flight) : lead(loop, picture);
}

/* ---- Clients --------------------------------------------------------------------------------- */

static struct thrum_promise *answer(struct thrum_loop *loop, void *value, void *data)
{
	const struct client *client = data;

	printf("client %d: %s\n", client->number, (const char *)value);
	served++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *answer_busy(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	const struct client *client = data;

	printf("client %d: 503 %s\n", client->number, failure->message);
	given_up++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *serve_client(struct thrum_loop *loop, void *value, void *data)
{
	const struct client *client = data;
	struct thrum_promise *thumbnail = get_thumbnail(loop, client->picture);

	(void)value;
	/* A browser says how long it wants to wait. Most don't. */
	if (client->patience)
		thumbnail = thrum_timeout(thumbnail, client->patience);
	return thrum_promise_try_bind(thumbnail, answer, answer_busy, data, NULL);
}

static struct thrum_promise *come(struct thrum_loop *loop, struct client *client)
{
	return thrum_promise_labelf(thrum_promise_bind(thrum_sleep(loop, client->comes_after),
					    serve_client, client, NULL),
		"client %d: GET %s", client->number, client->picture);
}

int main(int count, char **arguments)
{
	bool broken = count > 1 && strcmp(arguments[1], "broken") == 0;
	struct client clients[] = {
		{1, "cat.png", 1, broken ? 250 : 1200},
		{2, "cat.png", 40, 0},
		{3, "cat.png", 60, 0},
		{4, "dog.png", 50, 0},
	};
	struct thrum_promise *coming[4], *all, *terminate;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int status;

	if (thrum_start(NULL) || uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 2;
	/* A server lives until somebody ends it. */
	terminate = thrum_signal_wait(loop, SIGTERM);
	for (int i = 0; i < 4; i++)
		coming[i] = come(loop, &clients[i]);
	all = thrum_promise_label(thrum_promise_join(loop, coming, 4), "main");
	status = thrum_promise_run(thrum_promise_should_resolve(all));
	printf("served %u, gave up %u\n", served, given_up);

	thrum_stop();
	thrum_promise_cancel(terminate);
	thrum_promise_unref(terminate);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return status == 0 ? 0 : 1;
}
