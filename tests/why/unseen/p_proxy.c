/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: The upstream closes the connection instead of answering the third request. The upstream reader sees the end of the input and just ends: it doesn't fail the reply that is outstanding, so GET /items/3 and the session hang.
 *   culprit: upstream|on_bytes|read_more
 *   victim: GET /items/3|session
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* proxy: forwards requests one by one over a persistent connection */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

static struct thrum_loop *loop;
static bool broken;
static struct thrum_connection *to_upstream;
static struct thrum_resolver *outstanding; /* of the request that was sent last */
static int asked;

/* ---- the origin server, which drops the connection at times ---- */

static struct thrum_connection *at_origin;
static int served;

static struct thrum_promise *origin_read(void);

static struct thrum_promise *origin_wrote(struct thrum_loop *l, void *value, void *data)
{
	return origin_read();
}

static struct thrum_promise *origin_request(struct thrum_loop *l, void *value, void *data)
{
	if (!value || ++served == 3) {
		thrum_promise_unref(thrum_connection_close(at_origin));
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_bind(thrum_connection_write(at_origin, thrum_value_static("200 OK\n"),
					  7),
		origin_wrote, NULL, NULL);
}

static struct thrum_promise *origin_read(void)
{
	return thrum_promise_bind(thrum_connection_read(at_origin), origin_request, NULL, NULL);
}

static struct thrum_promise *origin_accepted(struct thrum_loop *l, void *value, void *data)
{
	struct thrum_value taken;

	if (!thrum_loop_take(loop, &taken))
		return thrum_promise_fail(loop, 1, "connection is shared");
	at_origin = taken.data;
	return origin_read();
}

/* ---- the proxy ---- */

static struct thrum_promise *read_more(void);

static struct thrum_promise *on_bytes(struct thrum_loop *l, void *value, void *data)
{
	struct thrum_resolver *resolver = outstanding;

	if (!value) {
		printf("proxy: upstream closed\n");
		if (!broken && resolver) {
			outstanding = NULL;
			thrum_resolver_fail(resolver, -ECONNRESET, NULL);
		}
		return thrum_promise_return(loop, thrum_value_none());
	}
	outstanding = NULL;
	thrum_resolver_resolve(resolver, thrum_value_static("200"));
	return read_more();
}

static struct thrum_promise *read_more(void)
{
	return thrum_promise_label(thrum_promise_bind(thrum_connection_read(to_upstream), on_bytes,
					   NULL, NULL),
		"upstream reader");
}

static struct thrum_promise *start_reader(struct thrum_loop *l, void *data)
{
	return read_more();
}

static struct thrum_promise *next_request(struct thrum_loop *l, void *value, void *data);

static struct thrum_promise *bad_gateway(struct thrum_loop *l, const struct thrum_failure *failure,
	void *data)
{
	printf("proxy: 502: %s\n", failure->message);
	asked = 4;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *next_request(struct thrum_loop *l, void *value, void *data)
{
	struct thrum_promise *reply;

	if (asked == 4)
		return thrum_promise_return(loop, thrum_value_none());
	asked++;
	reply = thrum_promise_task(loop, NULL, &outstanding);
	reply = thrum_promise_labelf(reply, "GET /items/%d", asked);
	thrum_promise_unref(thrum_connection_write(to_upstream, thrum_value_static("GET\n"), 4));
	return thrum_promise_bind(thrum_promise_catch(reply, bad_gateway, NULL, NULL), next_request,
		NULL, NULL);
}

static struct thrum_promise *connected(struct thrum_loop *l, void *value, void *data)
{
	struct thrum_value taken;

	if (!thrum_loop_take(loop, &taken))
		return thrum_promise_fail(loop, 1, "connection is shared");
	to_upstream = taken.data;
	thrum_promise_async(loop, "upstream reader", start_reader, NULL, NULL);
	return next_request(loop, NULL, NULL);
}

static struct thrum_promise *heartbeat(struct thrum_loop *l, void *value, void *data)
{
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 50), "heartbeat"),
		heartbeat, NULL, NULL);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct thrum_listener *listener;
	struct thrum_promise *session;
	uv_loop_t uv;
	int result;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 2;
	if (thrum_tcp_listen(loop, (struct sockaddr *)&address, 4, &listener))
		return 2;
	address.sin_port = htons(thrum_listener_port(listener));
	thrum_promise_ignore_result(
		thrum_promise_bind(thrum_listener_accept(listener), origin_accepted, NULL, NULL));
	thrum_promise_ignore_result(heartbeat(loop, NULL, NULL));
	session = thrum_promise_bind(thrum_tcp_connect(loop, (struct sockaddr *)&address),
		connected, NULL, NULL);
	thrum_promise_should_resolve(thrum_promise_label(session, "session"));
	result = thrum_promise_run(session);
	printf("proxy: done: %d\n", result);
	thrum_stop();
	return 0;
}
