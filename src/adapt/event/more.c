/* SPDX-License-Identifier: ISC */
/* Bufferevents, listeners, DNS and HTTP servers of libevent. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_compat.h>
#include <event2/bufferevent_struct.h>
#include <event2/dns.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <event2/util.h>
#include <stdlib.h>

#include "adapt/event/event.h"
#include "adapt/look/look.h"

/* ---- Bufferevents ---------------------------------------------------------------------------- */

REAL(bufferevent_new)
REAL(bufferevent_setcb)
REAL(bufferevent_getcb)
REAL(bufferevent_free)
REAL(bufferevent_get_enabled)
REAL(bufferevent_getfd)
REAL(bufferevent_socket_connect)
REAL(bufferevent_socket_connect_hostname)

enum {
	ON_READ,
	ON_WRITE,
	ON_STATE
};

static void call_reader(struct bufferevent *buffer, const struct cell *cell)
{
	bool is_there;

	thrum__adapt_event_mark_begin(buffer);
	((bufferevent_data_cb)cell->given.function[ON_READ])(buffer, cell->given.argument);
	is_there = thrum__adapt_cell_find(CELL_BUFFEREVENT, buffer) != NULL;
	thrum__adapt_event_mark_told(buffer, is_there);
	if (is_there)
		thrum__adapt_event_limit_told(buffer);
}

static void on_read(struct bufferevent *buffer, void *argument)
{
	struct cell *cell = argument;
	struct event_run run;

	if (UNLIKELY(thrum__adapt_event_limit_spins(buffer))) {
		call_reader(buffer, cell);
		return;
	}
	run = begin_run(cell, cell->given.function[ON_READ]);
	call_reader(buffer, cell);
	end_run(&run);
}

static void on_write(struct bufferevent *buffer, void *argument)
{
	struct cell *cell = argument;
	struct event_run run = begin_run(cell, cell->given.function[ON_WRITE]);

	((bufferevent_data_cb)cell->given.function[ON_WRITE])(buffer, cell->given.argument);
	thrum__adapt_event_mark_told(buffer, false);
	end_run(&run);
}

static void on_state(struct bufferevent *buffer, short what, void *argument)
{
	struct cell *cell = argument;
	struct event_run run = begin_run(cell, cell->given.function[ON_STATE]);
	thrum_task request = atomic_exchange(&cell->request, THRUM_TASK_NONE);

	if (request && what & BEV_EVENT_CONNECTED)
		thrum_task_resolve(request);
	else if (request)
		thrum_task_fail(request, what & BEV_EVENT_TIMEOUT ? "timeout" : "error");
	thrum_task_read(run.task, request);
	thrum__adapt_event_mark_begin(buffer);
	if (what & BEV_EVENT_TIMEOUT && what & BEV_EVENT_READING)
		thrum__adapt_removed_timed_out(real_bufferevent_getfd(NULL)(buffer),
			thrum__adapt_callback);
	((bufferevent_event_cb)cell->given.function[ON_STATE])(buffer, what, cell->given.argument);
	thrum__adapt_event_mark_told(buffer, false);
	end_run(&run);
}

cell_function *thrum__adapt_event_read_callback(const struct bufferevent *buffer)
{
	return buffer->readcb == on_read ? ((struct cell *)buffer->cbarg)->given.function[ON_READ]
					 : AS_FUNCTION(buffer->readcb);
}

static cell_function *first_of(const struct callbacks *given)
{
	for (int i = ON_READ; i <= ON_STATE; i++)
		if (given->function[i])
			return given->function[i];
	return NULL;
}

static void set_callbacks(struct bufferevent *buffer, bufferevent_data_cb read,
	bufferevent_data_cb write, bufferevent_event_cb state, void *argument, const void *caller)
{
	struct callbacks given = {{AS_FUNCTION(read), AS_FUNCTION(write), AS_FUNCTION(state)},
		argument};
	cell_function *first = first_of(&given);
	struct cell *before, *cell = NULL;
	thrum_task task = THRUM_TASK_NONE, request = THRUM_TASK_NONE;

	if (first && thrum__adapt_event_begin(caller)) {
		/* With other callbacks it is still the same task. */
		before = thrum__adapt_cell_find(CELL_BUFFEREVENT, buffer);
		if (before) {
			task = atomic_exchange(&before->task, THRUM_TASK_NONE);
			request = atomic_exchange(&before->request, THRUM_TASK_NONE);
		}
		cell = thrum__adapt_cell(CELL_BUFFEREVENT, buffer, &given);
	}
	if (!cell) {
		real_bufferevent_setcb(caller)(buffer, read, write, state, argument);
		return;
	}
	if (!task)
		task = thrum__adapt_create_for(caller, THRUM_KIND_HANDLE, "bufferevent", first);
	cell->request = request;
	cell->task = task;
	real_bufferevent_setcb(caller)(buffer, read ? on_read : NULL, write ? on_write : NULL,
		state ? on_state : NULL, cell);
}

STAND_IN void bufferevent_setcb(struct bufferevent *buffer, bufferevent_data_cb read,
	bufferevent_data_cb write, bufferevent_event_cb state, void *argument)
{
	bufferevent_data_cb before = NULL;

	if (!read && thrum__adapt_event_begin(CALLER))
		real_bufferevent_getcb(CALLER)(buffer, &before, NULL, NULL, NULL);
	set_callbacks(buffer, read, write, state, argument, CALLER);
	if (read && thrum__adapt_event_begin(CALLER) &&
		!(real_bufferevent_get_enabled(CALLER)(buffer) & EV_READ))
		thrum__adapt_removed_unread(real_bufferevent_getfd(NULL)(buffer),
			thrum__adapt_caller(CALLER));
	if (read || before)
		thrum__adapt_event_mark_calls(buffer, read ? NULL : thrum__adapt_caller(CHAIN));
}

STAND_IN struct bufferevent *bufferevent_new(evutil_socket_t fd, bufferevent_data_cb read,
	bufferevent_data_cb write, bufferevent_event_cb state, void *argument)
{
	struct bufferevent *buffer = real_bufferevent_new(CALLER)(fd, read, write, state, argument);

	if (buffer)
		set_callbacks(buffer, read, write, state, argument, CALLER);
	return buffer;
}

STAND_IN void bufferevent_getcb(struct bufferevent *buffer, bufferevent_data_cb *read,
	bufferevent_data_cb *write, bufferevent_event_cb *state, void **argument)
{
	bufferevent_data_cb reads, writes;
	bufferevent_event_cb changes;
	void *given;

	real_bufferevent_getcb(CALLER)(buffer, &reads, &writes, &changes, &given);
	if (reads == on_read || writes == on_write || changes == on_state) {
		const struct callbacks *known = &((struct cell *)given)->given;

		reads = (bufferevent_data_cb)known->function[ON_READ];
		writes = (bufferevent_data_cb)known->function[ON_WRITE];
		changes = (bufferevent_event_cb)known->function[ON_STATE];
		given = known->argument;
	}
	if (read)
		*read = reads;
	if (write)
		*write = writes;
	if (state)
		*state = changes;
	if (argument)
		*argument = given;
}

/* libevent may stop reading itself, as after a time-out: then this callback hears of no more. */
static void note_callback(int fd, const struct bufferevent *buffer)
{
	const void *callback = (const void *)(uintptr_t)thrum__adapt_event_read_callback(buffer);

	if (callback)
		thrum__adapt_removed_event(fd, callback);
}

/* libevent changes its watch of the descriptor then, or in its next turn. */
static void note_reading(struct bufferevent *buffer, const void *place)
{
	int fd = real_bufferevent_getfd(NULL)(buffer);

	thrum__adapt_removed_disabled(fd, place);
	if (!place) {
		thrum__adapt_removed_unread(fd, NULL);
		note_callback(fd, buffer);
	}
	thrum__adapt_event_disabled(fd, buffer, place != NULL);
}

#define CHANGES(name, place) \
	REAL(name) \
	STAND_IN int name(struct bufferevent *buffer, short events) \
	{ \
		if (thrum__adapt_event_begin(CALLER)) { \
			if (events & EV_READ) \
				note_reading(buffer, place); \
			if (events & EV_WRITE) \
				thrum__adapt_event_mark_writes(buffer, place); \
		} \
		return real_##name(CALLER)(buffer, events); \
	}
CHANGES(bufferevent_disable, thrum__adapt_caller(CHAIN))
CHANGES(bufferevent_enable, NULL)

STAND_IN void bufferevent_free(struct bufferevent *buffer)
{
	if (thrum__adapt_event_begin(CALLER))
		thrum__adapt_cell_end(CELL_BUFFEREVENT, buffer);
	thrum__adapt_event_mark_forget(buffer);
	thrum__adapt_event_limit(buffer, NULL);
	thrum__adapt_event_disabled(real_bufferevent_getfd(NULL)(buffer), buffer, false);
	thrum__adapt_removed_unread(real_bufferevent_getfd(NULL)(buffer), NULL);
	real_bufferevent_free(CALLER)(buffer);
}

/* The bufferevent connects from now on; its end is known if the program wants to know it. */
static struct cell *begin_connect(struct bufferevent *buffer, const void *caller)
{
	struct cell *cell = thrum__adapt_event_begin(caller)
		? thrum__adapt_cell_find(CELL_BUFFEREVENT, buffer)
		: NULL;

	return cell && cell->given.function[ON_STATE] ? cell : NULL;
}

static int end_connect(struct cell *cell, thrum_task task, int result)
{
	if (cell && result != 0 && atomic_compare_exchange_strong(&cell->request, &task, 0))
		thrum_task_fail(task, "error");
	return result;
}

STAND_IN int bufferevent_socket_connect(struct bufferevent *buffer, const struct sockaddr *address,
	int size)
{
	struct cell *cell = begin_connect(buffer, CALLER);
	thrum_task task = THRUM_TASK_NONE;
	char text[ADDRESS_MAX];

	/* Without an address, it is connected already. */
	if (cell && address)
		cell->request = task = thrum__adapt_request(CALLER, "connect %s",
			thrum__adapt_put_address(text, address));
	return end_connect(cell, task,
		real_bufferevent_socket_connect(CALLER)(buffer, address, size));
}

STAND_IN int bufferevent_socket_connect_hostname(struct bufferevent *buffer,
	struct evdns_base *base, int family, const char *name, int port)
{
	struct cell *cell = begin_connect(buffer, CALLER);
	thrum_task task = THRUM_TASK_NONE;

	if (cell)
		cell->request = task = thrum__adapt_request(CALLER, "connect %s:%d", name, port);
	return end_connect(cell, task,
		real_bufferevent_socket_connect_hostname(CALLER)(buffer, base, family, name, port));
}

/* ---- DNS ------------------------------------------------------------------------------------- */

static void end_request(struct cell *cell, const struct event_run *run, bool is_cancelled,
	const char *error)
{
	if (is_cancelled)
		thrum_task_cancel(run->task);
	else if (error)
		thrum_task_fail(run->task, error);
	else
		thrum_task_resolve(run->task);
	thrum_task_read(run->before, run->task);
	end_run(run);
	free(cell);
}

REAL(evdns_err_to_string)

static void on_addresses(int result, struct evutil_addrinfo *addresses, void *argument)
{
	struct cell *cell = argument;
	struct event_run run = begin_run(cell, cell->given.function[0]);

	((evdns_getaddrinfo_cb)cell->given.function[0])(result, addresses, cell->given.argument);
	end_request(cell, &run, result == EVUTIL_EAI_CANCEL, result ? gai_strerror(result) : NULL);
}

static void on_resolved(int result, char type, int count, int ttl, void *addresses, void *argument)
{
	struct cell *cell = argument;
	struct event_run run = begin_run(cell, cell->given.function[0]);

	((evdns_callback_type)cell->given.function[0])(result, type, count, ttl, addresses,
		cell->given.argument);
	end_request(cell, &run, result == DNS_ERR_CANCEL,
		result ? real_evdns_err_to_string(NULL)(result) : NULL);
}

#define ADDRESS(family, address) \
	inet_ntop(family, address, (char[INET6_ADDRSTRLEN]){""}, INET6_ADDRSTRLEN)

/* NULL may mean that the callback has run already. So the task ends there only. */
#define DNS(name, by, type, parameters, arguments, ...) \
	REAL(name) \
	STAND_IN type *name parameters \
	{ \
		const void *caller = CALLER; \
		struct cell *cell = callback && thrum__adapt_event_begin(caller) \
			? thrum__adapt_cell_once(AS_FUNCTION(callback), argument, \
				  thrum__adapt_request(caller, __VA_ARGS__)) \
			: NULL; \
\
		if (cell) { \
			callback = by; \
			argument = cell; \
		} \
		return real_##name(caller) arguments; \
	}
#define ONCE(...)

/* ---- Listeners ------------------------------------------------------------------------------- */

REAL(evconnlistener_set_cb)
REAL(evconnlistener_set_error_cb)
REAL(evconnlistener_free)

enum {
	ON_CONNECTION,
	ON_ERROR
};

static void on_connection(struct evconnlistener *listener, evutil_socket_t fd,
	struct sockaddr *address, int size, void *argument)
{
	struct cell *cell = argument;
	struct event_run run = begin_run(cell, cell->given.function[ON_CONNECTION]);

	((evconnlistener_cb)cell->given.function[ON_CONNECTION])(listener, fd, address, size,
		cell->given.argument);
	end_run(&run);
}

/* An error callback gets the argument of the other, which may be ours. */
static void on_error(struct evconnlistener *listener, void *argument)
{
	struct cell *cell = argument;
	struct event_run run = begin_run(cell, cell->finalize);

	((evconnlistener_errorcb)cell->finalize)(listener, cell->given.argument);
	end_run(&run);
}

/* Returns the cell with these callbacks of a listener; NULL if nothing is recorded. */
static struct cell *set_listener(struct evconnlistener *listener, evconnlistener_cb callback,
	void *argument, const void *caller)
{
	struct callbacks given = {{AS_FUNCTION(callback)}, argument};
	bool is_recorded = thrum__adapt_event_begin(caller);
	struct cell *before = thrum__adapt_cell_find(CELL_LISTENER, listener);
	cell_function *error = before ? before->finalize : NULL;
	struct cell *cell;

	/* Its error callback is ours already, so its argument has to be. */
	if (!error && (!is_recorded || !callback))
		return NULL;
	cell = thrum__adapt_cell(CELL_LISTENER, listener, &given);
	if (cell) {
		cell->finalize = error;
		thrum__adapt_cell_renew(cell,
			thrum__adapt_create_for(caller, THRUM_KIND_HANDLE, "listen",
				given.function[ON_CONNECTION]));
	} else if (error) {
		real_evconnlistener_set_error_cb(caller)(listener, (evconnlistener_errorcb)error);
	}
	return cell;
}

STAND_IN void evconnlistener_set_cb(struct evconnlistener *listener, evconnlistener_cb callback,
	void *argument)
{
	struct cell *cell = set_listener(listener, callback, argument, CALLER);

	real_evconnlistener_set_cb(CALLER)(listener, cell && callback ? on_connection : callback,
		cell ? cell : argument);
}

STAND_IN void evconnlistener_set_error_cb(struct evconnlistener *listener,
	evconnlistener_errorcb callback)
{
	struct cell *cell = thrum__adapt_cell_find(CELL_LISTENER, listener);

	if (cell)
		cell->finalize = AS_FUNCTION(callback);
	real_evconnlistener_set_error_cb(CALLER)(listener, cell && callback ? on_error : callback);
}

STAND_IN void evconnlistener_free(struct evconnlistener *listener)
{
	thrum__adapt_cell_end(CELL_LISTENER, listener);
	real_evconnlistener_free(CALLER)(listener);
}

REAL(evconnlistener_get_fd)

#define ACCEPTS(name, place) \
	REAL(name) \
	STAND_IN int name(struct evconnlistener *listener) \
	{ \
		if (thrum__adapt_event_begin(CALLER)) \
			thrum__adapt_removed_disabled(real_evconnlistener_get_fd(CALLER)( \
							      listener), \
				place); \
		return real_##name(CALLER)(listener); \
	}
ACCEPTS(evconnlistener_disable, thrum__adapt_caller(CHAIN))
ACCEPTS(evconnlistener_enable, NULL)

#define LISTEN(name, parameters, arguments) \
	REAL(name) \
	STAND_IN struct evconnlistener *name parameters \
	{ \
		const void *caller = CALLER; \
		struct evconnlistener *listener = real_##name(caller) arguments; \
		struct cell *cell = listener ? set_listener(listener, callback, argument, caller) \
					     : NULL; \
\
		if (cell) \
			real_evconnlistener_set_cb(caller)(listener, on_connection, cell); \
		return listener; \
	}
#include "adapt/event/event.def"

/* ---- Servers of HTTP ------------------------------------------------------------------------- */

REAL(evhttp_set_cb)
REAL(evhttp_set_gencb)

typedef void http_function(struct evhttp_request *, void *);

static void on_http(struct evhttp_request *request, void *argument)
{
	struct cell *cell = argument;
	struct event_run run = begin_run(cell, cell->given.function[0]);

	((http_function *)cell->given.function[0])(request, cell->given.argument);
	end_run(&run);
}

/* Each server has a few of them, and nobody tells when they are forgotten. So the cells stay. */
static struct cell *set_http(http_function *callback, void *argument, const void *caller)
{
	return callback && thrum__adapt_event_begin(caller)
		? thrum__adapt_cell_once(AS_FUNCTION(callback), argument,
			  thrum__adapt_create_for(caller, THRUM_KIND_HANDLE, "serve",
				  AS_FUNCTION(callback)))
		: NULL;
}

STAND_IN int evhttp_set_cb(struct evhttp *server, const char *path, http_function *callback,
	void *argument)
{
	struct cell *cell = set_http(callback, argument, CALLER);

	return real_evhttp_set_cb(
		CALLER)(server, path, cell ? on_http : callback, cell ? cell : argument);
}

STAND_IN void evhttp_set_gencb(struct evhttp *server, http_function *callback, void *argument)
{
	struct cell *cell = set_http(callback, argument, CALLER);

	real_evhttp_set_gencb(CALLER)(server, cell ? on_http : callback, cell ? cell : argument);
}
