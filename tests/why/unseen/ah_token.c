/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the refresh of the token is refused; store_token, which ends "refresh token", then fails its own
 *     promise only: `refreshing` stays set, and nobody ever resolves the promises "new token" of those
 *     who subscribed. All GETs that saw a 401 hang behind them.
 *   culprit: new token|refresh[ _]token|store_token
 *   victim: GET /
 * case: healthy
 *   args: healthy
 *   run: self kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* A client of a web service, with the service beside it: when its token has expired, the first request
 * that sees 401 refreshes it, and all others wait for the new one and try again. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

#include <thrum/promise.h>

#define LINE 96

struct subscriber {
	struct subscriber *next;
	struct thrum_resolver *resolver;
};

struct session {
	struct thrum_loop *loop;
	struct sockaddr_in service;
	const char *grant;
	char token[32];
	bool refreshing;
	struct subscriber *subscribers;
};

/* ---- The service ----------------------------------------------------------------------------- */

static struct thrum_listener *listener;

struct call {
	struct thrum_connection *connection;
	char line[LINE], reply[LINE];
};

static struct thrum_promise *hang_up(struct thrum_loop *loop, void *data)
{
	struct call *call = data;

	if (call->connection)
		thrum_promise_unref(thrum_connection_close(call->connection));
	call->connection = NULL;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *send_reply(struct thrum_loop *loop, void *value, void *data)
{
	struct call *call = data;

	(void)loop, (void)value;
	return thrum_connection_write(call->connection, thrum_value_static(call->reply),
		strlen(call->reply));
}

static void decide(struct call *call)
{
	char text[LINE] = "";

	if (sscanf(call->line, "REFRESH %90s", text) == 1)
		snprintf(call->reply, LINE, "%s\n",
			strcmp(text, "grant-2024") == 0 ? "OK t2" : "ERROR invalid_grant");
	else if (sscanf(call->line, "GET %*s %90s", text) == 1 && strcmp(text, "t2") == 0)
		snprintf(call->reply, LINE, "200 fine\n");
	else
		snprintf(call->reply, LINE, "401 token expired\n");
}

static struct thrum_promise *answer(struct thrum_loop *loop, void *value, void *data)
{
	const struct thrum_bytes *bytes = value;
	struct call *call = data;

	if (!bytes)
		return thrum_promise_return(loop, thrum_value_none());
	snprintf(call->line, LINE, "%.*s", (int)bytes->size, bytes->data);
	decide(call);
	return thrum_promise_bind(thrum_sleep(loop, 40), send_reply, call, NULL);
}

static struct thrum_promise *serve(struct thrum_loop *loop, void *data)
{
	struct call *call = data;
	struct thrum_promise *done;

	(void)loop;
	done = thrum_promise_bind(thrum_connection_read(call->connection), answer, call, NULL);
	return thrum_promise_finalize(done, hang_up, call, free);
}

static struct thrum_promise *accept_next(struct thrum_loop *loop, void *data);

static struct thrum_promise *accepted(struct thrum_loop *loop, void *value, void *data)
{
	struct call *call = calloc(1, sizeof *call);
	struct thrum_value taken;

	(void)value;
	if (call && thrum_loop_take(loop, &taken)) {
		call->connection = taken.data;
		thrum_promise_async(loop, "serve", serve, call, NULL);
	}
	return accept_next(loop, data);
}

static struct thrum_promise *accept_next(struct thrum_loop *loop, void *data)
{
	(void)loop;
	return thrum_promise_bind(thrum_listener_accept(listener), accepted, data, NULL);
}

/* ---- Asking the service ---------------------------------------------------------------------- */

static struct thrum_value to_line(struct thrum_loop *loop, void *value, void *data)
{
	const struct thrum_bytes *bytes = value;

	(void)loop, (void)data;
	return thrum_value_own(bytes ? strndup(bytes->data, bytes->size) : strdup(""), free);
}

static struct thrum_promise *read_reply(struct thrum_loop *loop, void *value, void *data)
{
	struct call *call = data;

	(void)loop, (void)value;
	return thrum_promise_map(thrum_connection_read(call->connection), to_line, NULL, NULL);
}

static struct thrum_promise *connected(struct thrum_loop *loop, void *value, void *data)
{
	struct call *call = data;
	struct thrum_value taken;

	(void)value;
	if (!thrum_loop_take(loop, &taken))
		return thrum_promise_fail(loop, -EBUSY, NULL);
	call->connection = taken.data;
	return thrum_promise_bind(thrum_connection_write(call->connection,
					  thrum_value_static(call->line), strlen(call->line)),
		read_reply, call, NULL);
}

static struct thrum_promise *ask(struct session *session, const char *verb, const char *text)
{
	struct call *call = calloc(1, sizeof *call);
	struct thrum_promise *reply;

	if (!call)
		return thrum_promise_fail(session->loop, -ENOMEM, NULL);
	snprintf(call->line, LINE, "%s %s\n", verb, text);
	reply = thrum_promise_bind(thrum_tcp_connect(session->loop,
					   (struct sockaddr *)&session->service),
		connected, call, NULL);
	return thrum_promise_finalize(reply, hang_up, call, free);
}

/* ---- The token ------------------------------------------------------------------------------- */

static void tell_subscribers(struct session *session)
{
	struct subscriber *subscriber;

	while ((subscriber = session->subscribers)) {
		session->subscribers = subscriber->next;
		thrum_resolver_resolve(subscriber->resolver, thrum_value_none());
		free(subscriber);
	}
}

static struct thrum_promise *store_token(struct thrum_loop *loop, void *reply, void *data)
{
	struct session *session = data;

	if (sscanf(reply, "OK %31s", session->token) != 1)
		return thrum_promise_fail(loop, EACCES, "refresh: %.*s", (int)strcspn(reply, "\n"),
			(char *)reply);
	session->refreshing = false;
	tell_subscribers(session);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *refresh_token(struct thrum_loop *loop, void *data)
{
	struct session *session = data;

	(void)loop;
	return thrum_promise_bind(ask(session, "REFRESH", session->grant), store_token, session,
		NULL);
}

static struct thrum_promise *subscribe(struct session *session)
{
	struct subscriber *subscriber = calloc(1, sizeof *subscriber);
	struct thrum_promise *promise;

	if (!subscriber)
		return thrum_promise_fail(session->loop, -ENOMEM, NULL);
	promise = thrum_promise_task(session->loop, "new token", &subscriber->resolver);
	subscriber->next = session->subscribers;
	session->subscribers = subscriber;
	if (!session->refreshing) {
		session->refreshing = true;
		thrum_promise_async(session->loop, "refresh token", refresh_token, session, NULL);
	}
	return promise;
}

/* ---- Requests -------------------------------------------------------------------------------- */

struct request {
	struct session *session;
	const char *path;
};

static struct thrum_promise *get(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *check(struct thrum_loop *loop, void *reply, void *data)
{
	struct request *request = data;

	if (strncmp(reply, "401", 3) == 0)
		return thrum_promise_bind(subscribe(request->session), get, request, NULL);
	printf("%s: %s", request->path, (char *)reply);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *get(struct thrum_loop *loop, void *value, void *data)
{
	struct request *request = data;
	char text[LINE];

	(void)loop, (void)value;
	snprintf(text, sizeof text, "%.40s %s", request->path, request->session->token);
	return thrum_promise_bind(ask(request->session, "GET", text), check, request, NULL);
}

static void on_unhandled(struct thrum_loop *loop, const struct thrum_failure *failure, void *data)
{
	(void)loop, (void)data;
	if (failure->code != THRUM_CANCELED)
		fprintf(stderr, "warning: %s\n", failure->message);
}

int main(int count, char **arguments)
{
	bool healthy = count > 1 && strcmp(arguments[1], "healthy") == 0;
	struct session session = {.token = "t1", .grant = healthy ? "grant-2024" : "grant-2019"};
	struct request requests[] = {{&session, "/inbox"}, {&session, "/contacts"},
		{&session, "/calendar"}};
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct thrum_promise *all[3];
	uv_loop_t uv;
	int status;

	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &session.loop))
		return 2;
	thrum_loop_on_unhandled(session.loop, on_unhandled, NULL);
	if (thrum_tcp_listen(session.loop, (struct sockaddr *)&any, 16, &listener))
		return 2;
	session.service = any;
	session.service.sin_port = htons((uint16_t)thrum_listener_port(listener));
	thrum_promise_async(session.loop, "accept", accept_next, NULL, NULL);

	for (int i = 0; i < 3; i++)
		all[i] = thrum_promise_should_resolve(
			thrum_promise_labelf(get(session.loop, NULL, &requests[i]), "GET %s",
				requests[i].path));
	status = thrum_promise_run(thrum_promise_join(session.loop, all, 3));
	thrum_stop();
	thrum_promise_unref(thrum_listener_close(listener));
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_loop_destroy(session.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	return uv_loop_close(&uv) || status ? 1 : 0;
}
