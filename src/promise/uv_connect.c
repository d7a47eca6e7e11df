/* SPDX-License-Identifier: ISC */
/* Connecting. */
#include "promise/uv_stream.h"

struct connecting {
	struct thrum__held held;
	uv_connect_t request;
	struct thrum_connection *connection;
};

/* Closing makes libuv give the request back. */
static void canceled(struct thrum_resolver *resolver, void *data)
{
	struct connecting *connecting = data;

	thrum__connection_drop(connecting->connection);
}

static void connected(uv_connect_t *request, int status)
{
	struct connecting *connecting = request->data;
	struct thrum_connection *connection = connecting->connection;
	struct thrum_value value = thrum__connection_value(connection);
	thrum_task before;

	if (status == 0 && thrum_resolver_wanted(connecting->held.resolver)) {
		thrum__loop_resume(connecting->held.loop);
		before = thrum__trace_enter(thrum__resolver_task(connecting->held.resolver));
		thrum__connection_trace(connection, connecting->held.site);
		thrum__trace_leave(before);
	}
	thrum__uv_end(&connecting->held, status, value);
}

/* A connection and a promise for it; NULL: `promise` has failed. */
static struct connecting *begin(struct thrum_site *site, struct thrum_loop *loop, bool is_pipe,
	const char *label, struct thrum_promise **promise)
{
	struct connecting *connecting = thrum__hold(loop, sizeof(*connecting), NULL);
	bool began;
	int code;

	if (!connecting) {
		*promise = thrum__promise_no_memory(loop);
		return NULL;
	}
	*promise = thrum__uv_begin(&connecting->held, site, THRUM_KIND_REQUEST, label, canceled,
		&began);
	if (!began)
		return NULL;
	code = thrum__connection_create(loop, is_pipe, &connecting->connection);
	if (code != 0) {
		thrum__uv_end(&connecting->held, code, thrum_value_none());
		return NULL;
	}
	connecting->request.data = connecting;
	return connecting;
}

static struct thrum_promise *refused(struct connecting *connecting, struct thrum_promise *promise,
	int code)
{
	thrum__connection_drop(connecting->connection);
	return thrum__uv_refused(&connecting->held, promise, code);
}

struct thrum_promise *thrum__tcp_connect(struct thrum_site *site, struct thrum_loop *loop,
	const struct sockaddr *address)
{
	char name[THRUM__ADDRESS_SIZE], label[THRUM__LABEL_SIZE];
	struct connecting *connecting;
	struct thrum_promise *promise;
	int code;

	if (!loop || !address)
		return thrum__promise_fail_code(site, loop, -EINVAL);
	if (thrum_enabled())
		thrum__address_name(address, name, sizeof(name));
	connecting = begin(site, loop, false,
		thrum__uv_label(label, sizeof(label), "tcp connect %s", name), &promise);
	if (!connecting)
		return promise;
	code = uv_tcp_connect(&connecting->request, &connecting->connection->uv.tcp, address,
		connected);
	return code == 0 ? promise : refused(connecting, promise, code);
}

struct thrum_promise *thrum__pipe_connect(struct thrum_site *site, struct thrum_loop *loop,
	const char *path)
{
	char label[THRUM__LABEL_SIZE];
	struct connecting *connecting;
	struct thrum_promise *promise;

	if (!loop || !path)
		return thrum__promise_fail_code(site, loop, -EINVAL);
	if (!thrum__pipe_path_fits(path))
		return thrum__promise_fail_code(site, loop, -ENAMETOOLONG);
	connecting = begin(site, loop, true,
		thrum__uv_label(label, sizeof(label), "pipe connect %s", path), &promise);
	if (!connecting)
		return promise;
	uv_pipe_connect(&connecting->request, &connecting->connection->uv.pipe, path, connected);
	return promise;
}
