/* SPDX-License-Identifier: ISC */
/* Listening and accepting. A connection that nobody accepts waits inside libuv. */
#include "promise/uv/connection.h"
#include <stdio.h>

struct thrum_listener {
	struct thrum__promise_held held; /* its resolver ends the promise of the close */
	union thrum__promise_socket uv;
	bool is_pipe, has_next;
	struct thrum__promise_wait_queue accepters;
	char label
		[THRUM__PROMISE_LABEL_SIZE]; /* of a promise from accept, made only when recording */
};

static void stop_listener(struct thrum__promise_held *held)
{
	struct thrum_listener *listener = (struct thrum_listener *)held;

	thrum__promise_uv_close(&listener->uv.handle);
	thrum__promise_wait_queue_close(&listener->accepters, -ECANCELED);
}

/* ---- Accepting ------------------------------------------------------------------------------- */

static int accept_connection(struct thrum_listener *listener, struct thrum_site *site,
	struct thrum_value *value)
{
	struct thrum_connection *connection;
	int code = thrum__promise_connection_create(listener->held.loop, listener->is_pipe,
		&connection);

	if (code != 0)
		return code;
	listener->has_next = false;
	code = uv_accept(&listener->uv.stream, &connection->uv.stream);
	if (code == 0) {
		thrum__promise_connection_trace(connection, site);
		*value = thrum__promise_connection_value(connection);
	} else {
		thrum__promise_connection_drop(connection);
	}
	return code;
}

static void accept_for(struct thrum_listener *listener, struct thrum_resolver *resolver)
{
	thrum_task before = thrum__promise_trace_enter(thrum__promise_resolver_task(resolver));
	struct thrum_value value;
	int code = accept_connection(listener, listener->held.site, &value);

	thrum__promise_trace_leave(before);
	if (code == 0)
		thrum__promise_uv_resolve(&resolver, value);
	else
		thrum__promise_uv_fail(&resolver, listener->held.site, code);
}

static void connection_came(uv_stream_t *stream, int status)
{
	struct thrum_listener *listener = stream->data;
	struct thrum_resolver *resolver;

	thrum__promise_loop_resume(listener->held.loop);
	if (status == 0)
		listener->has_next = true;
	resolver = thrum__promise_wait_queue_pop(&listener->accepters, NULL);
	if (!resolver)
		return;
	if (status == 0)
		accept_for(listener, resolver);
	else
		thrum__promise_uv_fail(&resolver, listener->held.site, status);
}

struct thrum_promise *thrum__listener_accept(struct thrum_site *site,
	struct thrum_listener *listener)
{
	struct thrum_value value;
	int code;

	if (!listener)
		return NULL;
	if (uv_is_closing(&listener->uv.handle))
		return thrum__promise_fail_code(site, listener->held.loop, -ECANCELED);
	if (!listener->has_next)
		return thrum__promise_wait_queue_join(site, &listener->accepters,
			THRUM_KIND_REQUEST, listener->label[0] ? listener->label : "accept",
			thrum_value_none());
	code = accept_connection(listener, site, &value);
	return code == 0 ? thrum_promise_return(listener->held.loop, value)
			 : thrum__promise_fail_code(site, listener->held.loop, code);
}

/* ---- Listening ------------------------------------------------------------------------------- */

static int create_listener(struct thrum_site *site, struct thrum_loop *loop, bool is_pipe,
	struct thrum_listener **made)
{
	struct thrum_listener *listener = thrum__promise_hold(loop, sizeof(*listener),
		stop_listener);
	int code;

	if (!listener)
		return -ENOMEM;
	listener->held.site = site;
	listener->is_pipe = is_pipe;
	thrum__promise_wait_queue_init(&listener->accepters, loop, THRUM_TASK_NONE);
	code = thrum__promise_socket_init(&listener->uv, &listener->held, is_pipe);
	if (code == 0)
		*made = listener;
	else
		thrum__promise_held_end(&listener->held);
	return code;
}

/* Makes a bound socket listen, and gives it a task with the name. */
static int begin_listening(struct thrum_listener *listener, int backlog, const char *name)
{
	char label[THRUM__PROMISE_LABEL_SIZE];
	int code = uv_listen(&listener->uv.stream, backlog, connection_came);

	if (code != 0 || !thrum_enabled())
		return code;
	thrum__promise_uv_label(label, sizeof(label), "%s listen %s",
		listener->is_pipe ? "pipe" : "tcp", name);
	thrum__promise_uv_label(listener->label, sizeof(listener->label), "%s accept %s",
		listener->is_pipe ? "pipe" : "tcp", name);
	listener->accepters.task = thrum__promise_trace_create(listener->held.site,
		THRUM_KIND_HANDLE, label);
	return 0;
}

static bool get_bound_address(const struct thrum_listener *listener,
	struct sockaddr_storage *address)
{
	int size = sizeof(*address);

	return !listener->is_pipe &&
		uv_tcp_getsockname(&listener->uv.tcp, (struct sockaddr *)address, &size) == 0;
}

static int listen_tcp(struct thrum_listener *listener, const struct sockaddr *address, int backlog)
{
	char name[THRUM__PROMISE_ADDRESS_SIZE] = "";
	struct sockaddr_storage bound;
	int code = uv_tcp_bind(&listener->uv.tcp, address, 0);

	if (code != 0)
		return code;
	/* The name has the port that the system chose, if the caller asked for any. */
	if (thrum_enabled() && get_bound_address(listener, &bound))
		thrum__promise_address_name((struct sockaddr *)&bound, name, sizeof(name));
	return begin_listening(listener, backlog, name);
}

static int finish_listening(struct thrum_listener *listener, int code, struct thrum_listener **made)
{
	if (code == 0)
		*made = listener;
	else
		stop_listener(&listener->held);
	return code;
}

int thrum__tcp_listen(struct thrum_site *site, struct thrum_loop *loop,
	const struct sockaddr *address, int backlog, struct thrum_listener **made)
{
	struct thrum_listener *listener;
	int code;

	if (!loop || !address || !made)
		return -EINVAL;
	code = create_listener(site, loop, false, &listener);
	return code == 0 ? finish_listening(listener, listen_tcp(listener, address, backlog), made)
			 : code;
}

int thrum__pipe_listen(struct thrum_site *site, struct thrum_loop *loop, const char *path,
	int backlog, struct thrum_listener **made)
{
	struct thrum_listener *listener;
	int code;

	if (!loop || !path || !made)
		return -EINVAL;
	if (!thrum__promise_pipe_path_fits(path))
		return -ENAMETOOLONG;
	code = create_listener(site, loop, true, &listener);
	if (code != 0)
		return code;
	code = uv_pipe_bind(&listener->uv.pipe, path);
	return finish_listening(listener,
		code == 0 ? begin_listening(listener, backlog, path) : code, made);
}

/* ---- Listeners ------------------------------------------------------------------------------- */

struct thrum_promise *thrum__listener_close(struct thrum_site *site,
	struct thrum_listener *listener)
{
	struct thrum_promise *promise;

	if (!listener)
		return NULL;
	if (uv_is_closing(&listener->uv.handle))
		return thrum__promise_fail_code(site, listener->held.loop, -EALREADY);
	promise = thrum__promise_request(site, listener->held.loop, THRUM_KIND_REQUEST, "close",
		NULL, NULL, &listener->held.resolver);
	thrum_task_resolve(listener->accepters.task);
	stop_listener(&listener->held);
	return promise;
}

struct uv_stream_s *thrum_listener_uv(const struct thrum_listener *listener)
{
	return listener ? (uv_stream_t *)(uintptr_t)&listener->uv.stream : NULL;
}

unsigned thrum_listener_port(const struct thrum_listener *listener)
{
	struct sockaddr_storage address;

	if (!listener || !get_bound_address(listener, &address))
		return 0;
	if (address.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
	return ntohs(((struct sockaddr_in *)&address)->sin_port);
}
