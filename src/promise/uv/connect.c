/* SPDX-License-Identifier: ISC */
/* Connecting. */
#include "promise/uv/connection.h"

struct connecting {
	struct thrum__promise_held held;
	uv_connect_t request;
	struct thrum_connection *connection;
};

/* Closing the connection makes libuv give the request back. */
static void connect_canceled(struct thrum_resolver *resolver, void *data)
{
	struct connecting *connecting = data;

	thrum__promise_connection_drop(connecting->connection);
}

static void connect_done(uv_connect_t *request, int status)
{
	struct connecting *connecting = request->data;
	struct thrum_connection *connection = connecting->connection;
	struct thrum_value value = thrum__promise_connection_value(connection);
	thrum_task before;

	if (status == 0 && thrum_resolver_wanted(connecting->held.resolver)) {
		thrum__promise_loop_resume(connecting->held.loop);
		before = thrum__promise_trace_enter(
			thrum__promise_resolver_task(connecting->held.resolver));
		thrum__promise_connection_trace(connection, connecting->held.site);
		thrum__promise_trace_leave(before);
	}
	thrum__promise_uv_end(&connecting->held, status, value);
}

/* Makes a connection and the promise for it. Returns NULL if that failed; `promise` has then
 * failed too. */
static struct connecting *begin_connect(struct thrum_site *site, struct thrum_loop *loop,
	bool is_pipe, const char *label, struct thrum_promise **promise)
{
	struct connecting *connecting = thrum__promise_hold(loop, sizeof(*connecting), NULL);
	bool began;
	int code;

	if (!connecting) {
		*promise = thrum__promise_no_memory(loop);
		return NULL;
	}
	*promise = thrum__promise_uv_begin(&connecting->held, site, THRUM_KIND_REQUEST, label,
		connect_canceled, &began);
	if (!began)
		return NULL;
	code = thrum__promise_connection_create(loop, is_pipe, &connecting->connection);
	if (code != 0) {
		thrum__promise_uv_end(&connecting->held, code, thrum_value_none());
		return NULL;
	}
	connecting->request.data = connecting;
	return connecting;
}

static struct thrum_promise *connect_refused(struct connecting *connecting,
	struct thrum_promise *promise, int code)
{
	thrum__promise_connection_drop(connecting->connection);
	return thrum__promise_uv_refused(&connecting->held, promise, code);
}

struct thrum_promise *thrum__tcp_connect(struct thrum_site *site, struct thrum_loop *loop,
	const struct sockaddr *address)
{
	char name[THRUM__PROMISE_ADDRESS_SIZE], label[THRUM__PROMISE_LABEL_SIZE];
	struct connecting *connecting;
	struct thrum_promise *promise;
	int code;

	if (!loop || !address)
		return thrum__promise_fail_code(site, loop, -EINVAL);
	if (thrum_enabled())
		thrum__promise_address_name(address, name, sizeof(name));
	connecting = begin_connect(site, loop, false,
		thrum__promise_uv_label(label, sizeof(label), "tcp connect %s", name), &promise);
	if (!connecting)
		return promise;
	code = uv_tcp_connect(&connecting->request, &connecting->connection->uv.tcp, address,
		connect_done);
	return code == 0 ? promise : connect_refused(connecting, promise, code);
}

struct thrum_promise *thrum__pipe_connect(struct thrum_site *site, struct thrum_loop *loop,
	const char *path)
{
	char label[THRUM__PROMISE_LABEL_SIZE];
	struct connecting *connecting;
	struct thrum_promise *promise;

	if (!loop || !path)
		return thrum__promise_fail_code(site, loop, -EINVAL);
	if (!thrum__promise_pipe_path_fits(path))
		return thrum__promise_fail_code(site, loop, -ENAMETOOLONG);
	connecting = begin_connect(site, loop, true,
		thrum__promise_uv_label(label, sizeof(label), "pipe connect %s", path), &promise);
	if (!connecting)
		return promise;
	uv_pipe_connect(&connecting->request, &connecting->connection->uv.pipe, path, connect_done);
	return promise;
}
