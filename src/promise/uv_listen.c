/* SPDX-License-Identifier: ISC */
/* Listening and accepting. A connection that nobody waits for stays in libuv until somebody does.
 */
#include "promise/uv_stream.h"
#include <stdio.h>

struct thrum_listener {
	struct thrum__held held; /* its resolver: of who closed it */
	union thrum__socket uv;
	bool is_pipe, has_next;
	struct thrum__line accepters;
	char label[THRUM__LABEL_SIZE]; /* of an accept, when recording */
};

static void stop(struct thrum__held *held)
{
	struct thrum_listener *listener = (struct thrum_listener *)held;

	thrum__uv_close(&listener->uv.handle);
	thrum__line_break(&listener->accepters, -ECANCELED);
}

/* ---- Accepting ---------------------------------------------------------------------------------
 */

static int accept_one(struct thrum_listener *listener, struct thrum_site *site,
	struct thrum_value *value)
{
	struct thrum_connection *connection;
	int code = thrum__connection_create(listener->held.loop, listener->is_pipe, &connection);

	if (code != 0)
		return code;
	listener->has_next = false;
	code = uv_accept(&listener->uv.stream, &connection->uv.stream);
	if (code == 0) {
		thrum__connection_trace(connection, site);
		*value = thrum__connection_value(connection);
	} else {
		thrum__connection_drop(connection);
	}
	return code;
}

static void accept_for(struct thrum_listener *listener, struct thrum_resolver *resolver)
{
	thrum_task before = thrum__trace_enter(thrum__resolver_task(resolver));
	struct thrum_value value;
	int code = accept_one(listener, listener->held.site, &value);

	thrum__trace_leave(before);
	if (code == 0)
		thrum__uv_resolve(&resolver, value);
	else
		thrum__uv_fail(&resolver, listener->held.site, code);
}

static void has_connection(uv_stream_t *stream, int status)
{
	struct thrum_listener *listener = stream->data;
	struct thrum_resolver *resolver;

	thrum__loop_resume(listener->held.loop);
	if (status == 0)
		listener->has_next = true;
	resolver = thrum__line_serve(&listener->accepters, NULL);
	if (!resolver)
		return;
	if (status == 0)
		accept_for(listener, resolver);
	else
		thrum__uv_fail(&resolver, listener->held.site, status);
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
		return thrum__line_join(site, &listener->accepters, THRUM_KIND_REQUEST,
			listener->label[0] ? listener->label : "accept", thrum_value_none());
	code = accept_one(listener, site, &value);
	return code == 0 ? thrum_promise_return(listener->held.loop, value)
			 : thrum__promise_fail_code(site, listener->held.loop, code);
}

/* ---- Listening ---------------------------------------------------------------------------------
 */

static int create(struct thrum_site *site, struct thrum_loop *loop, bool is_pipe,
	struct thrum_listener **made)
{
	struct thrum_listener *listener = thrum__hold(loop, sizeof(*listener), stop);
	int code;

	if (!listener)
		return -ENOMEM;
	listener->held.site = site;
	listener->is_pipe = is_pipe;
	listener->accepters = thrum__line_of(loop, THRUM_TASK_NONE);
	code = thrum__socket_init(&listener->uv, &listener->held, is_pipe);
	if (code == 0)
		*made = listener;
	else
		thrum__held_end(&listener->held);
	return code;
}

/* It is bound: listens, under a name. */
static int begin(struct thrum_listener *listener, int backlog, const char *name)
{
	char label[THRUM__LABEL_SIZE];
	int code = uv_listen(&listener->uv.stream, backlog, has_connection);

	if (code != 0 || !thrum_enabled())
		return code;
	thrum__uv_label(label, sizeof(label), "%s listen %s", listener->is_pipe ? "pipe" : "tcp",
		name);
	thrum__uv_label(listener->label, sizeof(listener->label), "%s accept %s",
		listener->is_pipe ? "pipe" : "tcp", name);
	listener->accepters.task = thrum__trace_create(listener->held.site, THRUM_KIND_HANDLE,
		label);
	return 0;
}

static bool has_address(const struct thrum_listener *listener, struct sockaddr_storage *address)
{
	int size = sizeof(*address);

	return !listener->is_pipe &&
		uv_tcp_getsockname(&listener->uv.tcp, (struct sockaddr *)address, &size) == 0;
}

static int listen_tcp(struct thrum_listener *listener, const struct sockaddr *address, int backlog)
{
	char name[THRUM__ADDRESS_SIZE] = "";
	struct sockaddr_storage bound;
	int code = uv_tcp_bind(&listener->uv.tcp, address, 0);

	if (code != 0)
		return code;
	/* With the port that it was given, if it was to be any. */
	if (thrum_enabled() && has_address(listener, &bound))
		thrum__address_name((struct sockaddr *)&bound, name, sizeof(name));
	return begin(listener, backlog, name);
}

static int finish(struct thrum_listener *listener, int code, struct thrum_listener **made)
{
	if (code == 0)
		*made = listener;
	else
		stop(&listener->held);
	return code;
}

int thrum__tcp_listen(struct thrum_site *site, struct thrum_loop *loop,
	const struct sockaddr *address, int backlog, struct thrum_listener **made)
{
	struct thrum_listener *listener;
	int code;

	if (!loop || !address || !made)
		return -EINVAL;
	code = create(site, loop, false, &listener);
	return code == 0 ? finish(listener, listen_tcp(listener, address, backlog), made) : code;
}

int thrum__pipe_listen(struct thrum_site *site, struct thrum_loop *loop, const char *path,
	int backlog, struct thrum_listener **made)
{
	struct thrum_listener *listener;
	int code;

	if (!loop || !path || !made)
		return -EINVAL;
	if (!thrum__pipe_path_fits(path))
		return -ENAMETOOLONG;
	code = create(site, loop, true, &listener);
	if (code != 0)
		return code;
	code = uv_pipe_bind(&listener->uv.pipe, path);
	return finish(listener, code == 0 ? begin(listener, backlog, path) : code, made);
}

/* ---- Listeners ---------------------------------------------------------------------------------
 */

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
	stop(&listener->held);
	return promise;
}

struct uv_stream_s *thrum_listener_uv(const struct thrum_listener *listener)
{
	return listener ? (uv_stream_t *)(uintptr_t)&listener->uv.stream : NULL;
}

unsigned thrum_listener_port(const struct thrum_listener *listener)
{
	struct sockaddr_storage address;

	if (!listener || !has_address(listener, &address))
		return 0;
	if (address.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
	return ntohs(((struct sockaddr_in *)&address)->sin_port);
}
