/* SPDX-License-Identifier: ISC */
/* The stand-ins of uv.def, and the callbacks that stand in for the program's. */
#include "adapt/uv/uv.h"
#include "adapt/look/look.h"

#include <stdio.h>
#include <string.h>
#include <sys/un.h>

/* ---- Words --------------------------------------------------------------------------------- */

#define ADDRESS(address) thrum__adapt_put_address((char[ADDRESS_MAX]){""}, address)

static size_t size_of(const uv_buf_t bufs[], unsigned count)
{
	size_t size = 0;

	for (unsigned i = 0; i < count; i++)
		size += bufs[i].len;
	return size;
}
#define SIZE(bufs, count) size_of(bufs, count)

/* ---- Callbacks ----------------------------------------------------------------------------- */

#define AS_REQUEST(pointer) ((uv_req_t *)(void *)(pointer))
#define AS_HANDLE(pointer) ((uv_handle_t *)(void *)(pointer))
#define AS_FUNCTION(pointer) ((void (*)(void))(pointer))

/* A request's callback. The program's may free the request. */
#define ON_REQUEST(name, type, status, parameters, arguments) \
	static void name parameters \
	{ \
		struct uv_run run; \
		ssize_t ended = (status); \
		type cb = (type)thrum__adapt_uv_run_request(&run, AS_REQUEST(req)); \
\
		if (cb) \
			cb arguments; \
		thrum__adapt_uv_end_request(&run, ended); \
	}
ON_REQUEST(on_fs_done, uv_fs_cb, req->result, (uv_fs_t * req), (req))
static void on_fs(uv_fs_t *req)
{
	thrum__adapt_uv_done();
	on_fs_done(req);
}
ON_REQUEST(on_connect, uv_connect_cb, status, (uv_connect_t * req, int status), (req, status))
ON_REQUEST(on_write, uv_write_cb, status, (uv_write_t * req, int status), (req, status))
ON_REQUEST(on_shutdown, uv_shutdown_cb, status, (uv_shutdown_t * req, int status), (req, status))
ON_REQUEST(on_udp_send, uv_udp_send_cb, status, (uv_udp_send_t * req, int status), (req, status))
ON_REQUEST(on_getnameinfo, uv_getnameinfo_cb, status,
	(uv_getnameinfo_t * req, int status, const char *host, const char *service),
	(req, status, host, service))
ON_REQUEST(on_getaddrinfo, uv_getaddrinfo_cb, status,
	(uv_getaddrinfo_t * req, int status, struct addrinfo *result), (req, status, result))
ON_REQUEST(on_random, uv_random_cb, status,
	(uv_random_t * req, int status, void *bytes, size_t size), (req, status, bytes, size))

/* A handle's callback. The program's may close the handle, and free it later. */
#define ON_HANDLE(name, type, parameters, arguments) \
	static void name parameters \
	{ \
		struct uv_run run; \
		type cb = (type)thrum__adapt_uv_run_handle(&run, AS_HANDLE(handle)); \
\
		if (cb) \
			cb arguments; \
		thrum__adapt_uv_end_run(&run); \
	}
ON_HANDLE(on_idle, uv_idle_cb, (uv_idle_t * handle), (handle))
ON_HANDLE(on_prepare, uv_prepare_cb, (uv_prepare_t * handle), (handle))
ON_HANDLE(on_check, uv_check_cb, (uv_check_t * handle), (handle))
ON_HANDLE(on_async_sent, uv_async_cb, (uv_async_t * handle), (handle))
ON_HANDLE(on_signal, uv_signal_cb, (uv_signal_t * handle, int number), (handle, number))
ON_HANDLE(on_poll, uv_poll_cb, (uv_poll_t * handle, int status, int events),
	(handle, status, events))
ON_HANDLE(on_read_more, uv_read_cb, (uv_stream_t * handle, ssize_t size, const uv_buf_t *buf),
	(handle, size, buf))
static void on_read(uv_stream_t *handle, ssize_t size, const uv_buf_t *buf)
{
	if (size == UV_EOF)
		thrum__adapt_uv_read_end(handle, thrum__adapt_uv_callback(AS_HANDLE(handle)));
	on_read_more(handle, size, buf);
}
ON_HANDLE(on_udp_recv, uv_udp_recv_cb,
	(uv_udp_t * handle, ssize_t size, const uv_buf_t *buf, const struct sockaddr *from,
		unsigned flags),
	(handle, size, buf, from, flags))
ON_HANDLE(on_connected, uv_connection_cb, (uv_stream_t * handle, int status), (handle, status))
static void on_connection(uv_stream_t *handle, int status)
{
	const void *callback = thrum__adapt_uv_callback(AS_HANDLE(handle));

	on_connected(handle, status);
	thrum__adapt_uv_connected(handle, callback);
}
ON_HANDLE(on_fs_event, uv_fs_event_cb,
	(uv_fs_event_t * handle, const char *path, int events, int status),
	(handle, path, events, status))
ON_HANDLE(on_fs_poll, uv_fs_poll_cb,
	(uv_fs_poll_t * handle, int status, const uv_stat_t *before, const uv_stat_t *now),
	(handle, status, before, now))

/* ---- The stand-ins of the table ------------------------------------------------------------- */

static struct thrum_category uv = {"uv", 0};
static __thread bool is_at_once __attribute__((tls_model("initial-exec")));

bool thrum__adapt_uv_is_at_once(void)
{
	return is_at_once;
}

#define FS(name, parameters, arguments, ...) \
	REAL(name) \
	STAND_IN int name parameters \
	{ \
		static struct thrum_tag span = {#name, &uv, 1, 0, 0}; \
		const void *caller = CALLER; \
		uv_fs_cb given = cb; \
\
		if (!thrum__adapt_uv_begin(caller)) \
			return real_##name(caller) arguments; \
		if (!given) { \
			thrum_span_begin(&span); \
			is_at_once = true; \
			int result = real_##name(caller) arguments; \
\
			is_at_once = false; \
			thrum_span_end(&span); \
			return result; \
		} \
		thrum_task task = thrum__adapt_request_then(caller, AS_FUNCTION(given), \
			"file " __VA_ARGS__); \
\
		cb = on_fs; \
		thrum__adapt_uv_queues(); \
		int result = real_##name(caller) arguments; \
\
		thrum__adapt_uv_accepted(AS_REQUEST(req), task, result, AS_FUNCTION(given)); \
		if (result >= 0) \
			thrum__adapt_uv_queued(task, caller); \
		return result; \
	}
/* The thread is in a stand-in. Some functions of libuv end in a jump to another one of the table, whose
 * caller then seems to be the stand-in. */
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

static bool go_inside(void)
{
	bool before = is_inside;

	is_inside = true;
	return before;
}

#define REQUEST(name, by, parameters, arguments, ...) \
	REAL(name) \
	STAND_IN int name parameters \
	{ \
		const void *caller = CALLER; \
		__typeof__(cb) given = cb; \
\
		/* Without a callback, these are done at once. Writing is not. */ \
		if (is_inside || (!cb && !is_##by##_without_callback) || \
			!thrum__adapt_uv_begin(caller)) \
			return real_##name(caller) arguments; \
		thrum_task task = is_##by##_frequent \
			? thrum__adapt_request(caller, __VA_ARGS__) \
			: thrum__adapt_request_then(caller, AS_FUNCTION(given), __VA_ARGS__); \
\
		cb = by; \
		bool is_nested = go_inside(); \
		int result = real_##name(caller) arguments; \
\
		is_inside = is_nested; \
		thrum__adapt_uv_accepted(AS_REQUEST(req), task, result, AS_FUNCTION(given)); \
		return result; \
	}
enum {
	is_on_connect_without_callback = 1,
	is_on_write_without_callback = 1,
	is_on_shutdown_without_callback = 1,
	is_on_udp_send_without_callback = 1,
	is_on_getnameinfo_without_callback = 0,
	is_on_getaddrinfo_without_callback = 0,
	is_on_random_without_callback = 0,
	/* Those whose callbacks aren't named, as that takes time. */
	is_on_connect_frequent = 0,
	is_on_write_frequent = 1,
	is_on_shutdown_frequent = 1,
	is_on_udp_send_frequent = 1,
	is_on_getnameinfo_frequent = 0,
	is_on_getaddrinfo_frequent = 0,
	is_on_random_frequent = 0,
};
#define INIT(name, kind, noun, parameters, arguments) \
	REAL(name) \
	STAND_IN int name parameters \
	{ \
		bool is_nested = go_inside(); \
		int result = real_##name(CALLER) arguments; \
\
		is_inside = is_nested; \
		if (!is_nested && result == 0 && thrum__adapt_chosen) \
			thrum__adapt_uv_init(AS_HANDLE(handle), kind, noun, CALLER); \
		return result; \
	}
#define START(name, noun, by, parameters, arguments) \
	REAL(name) \
	STAND_IN int name parameters \
	{ \
		if (thrum__adapt_uv_start(AS_HANDLE(handle), noun, AS_FUNCTION(cb), CALLER)) \
			cb = by; \
		return real_##name(CALLER) arguments; \
	}
#include "adapt/uv/uv.def"

/* ---- Calls that are like no others ---------------------------------------------------------- */

REAL(uv_timer_start)
REAL(uv_timer_again)
REAL(uv_timer_stop)
REAL(uv_timer_get_repeat)
REAL(uv_is_active)
REAL(uv_async_init)
REAL(uv_async_send)
REAL(uv_run)
REAL(uv_poll_start)
REAL(uv_fileno)
REAL(uv_pipe_connect)
REAL(uv_err_name)
REAL(uv_spawn)
REAL(uv_close)

static void tell_due(const uv_timer_t *handle, uint64_t timeout)
{
	if (timeout < INT64_MAX / 1000000)
		thrum_task_due(thrum__adapt_uv_task((const uv_handle_t *)handle),
			(int64_t)timeout * 1000000);
}

static void on_timer(uv_timer_t *handle)
{
	uint64_t repeat = real_uv_timer_get_repeat(NULL)(handle);
	struct uv_run run;
	uv_timer_cb cb;

	if (repeat > 0)
		thrum__adapt_uv_look_at_spawned(handle->loop);
	cb = (uv_timer_cb)thrum__adapt_uv_run_handle(&run, AS_HANDLE(handle));

	/* libuv has started it again before it calls. */
	thrum__adapt_loop_timer_came(handle, (const void *)(uintptr_t)cb);
	if (repeat > 0)
		tell_due(handle, repeat);
	cb(handle);
	thrum__adapt_uv_end_run(&run);
}

STAND_IN int uv_timer_start(uv_timer_t *handle, uv_timer_cb cb, uint64_t timeout, uint64_t repeat)
{
	if (!thrum__adapt_uv_start(AS_HANDLE(handle), "timer", AS_FUNCTION(cb), CALLER))
		return real_uv_timer_start(CALLER)(handle, cb, timeout, repeat);
	tell_due(handle, timeout);
	thrum__adapt_loop_timer_started(handle);
	thrum__adapt_uv_timer_over(handle);
	return real_uv_timer_start(CALLER)(handle, on_timer, timeout, repeat);
}

STAND_IN int uv_timer_again(uv_timer_t *handle)
{
	uint64_t repeat = real_uv_timer_get_repeat(CALLER)(handle);
	int result = real_uv_timer_again(CALLER)(handle);

	if (result == 0 && repeat > 0 && thrum__adapt_uv_begin(CALLER)) {
		tell_due(handle, repeat);
		thrum__adapt_loop_timer_started(handle);
		thrum__adapt_uv_timer_over(handle);
	} else if (result == 0 && repeat == 0 && thrum__adapt_uv_begin(CALLER) &&
		!real_uv_is_active(CALLER)(AS_HANDLE(handle))) {
		thrum__adapt_loop_timer_vain(handle, thrum__adapt_caller(CHAIN));
		thrum__adapt_uv_timer_vain(handle, thrum__adapt_caller(CHAIN));
	}
	return result;
}

STAND_IN int uv_timer_stop(uv_timer_t *handle)
{
	if (thrum__adapt_uv_begin(CALLER) && real_uv_is_active(CALLER)(AS_HANDLE(handle))) {
		thrum__adapt_loop_timer_stopped(handle, thrum__adapt_caller(CHAIN));
		thrum_task_due(thrum__adapt_uv_task(AS_HANDLE(handle)), INT64_MAX);
	}
	return real_uv_timer_stop(CALLER)(handle);
}

static void on_async(uv_async_t *handle)
{
	thrum__adapt_uv_async_runs(handle);
	on_async_sent(handle);
}

STAND_IN int uv_async_init(uv_loop_t *loop, uv_async_t *handle, uv_async_cb cb)
{
	bool is_ours = cb && thrum__adapt_uv_begin(CALLER);
	int result = real_uv_async_init(CALLER)(loop, handle, is_ours ? on_async : cb);

	if (result == 0 && thrum__adapt_chosen)
		thrum__adapt_uv_init(AS_HANDLE(handle), THRUM_KIND_HANDLE, "async", CALLER);
	/* Before this, another thread can't know of the handle. */
	if (result == 0 && is_ours) {
		thrum__adapt_uv_start(AS_HANDLE(handle), "async", AS_FUNCTION(cb), CALLER);
		thrum__adapt_uv_async_made(handle, CALLER);
	}
	return result;
}

STAND_IN int uv_async_send(uv_async_t *handle)
{
	if (thrum__adapt_uv_begin(CALLER) && thrum__adapt_uv_task(AS_HANDLE(handle))) {
		thrum_task_ready(thrum__adapt_uv_task(AS_HANDLE(handle)));
		thrum__adapt_uv_async_sent(handle);
	}
	return real_uv_async_send(CALLER)(handle);
}

/* libuv's handler only writes to a pipe of its loop. */
#define STARTS_SIGNAL(name) \
	REAL(name) \
	STAND_IN int name(uv_signal_t *handle, uv_signal_cb cb, int number) \
	{ \
		bool is_ours = thrum__adapt_uv_start(AS_HANDLE(handle), "signal", AS_FUNCTION(cb), \
			CALLER); \
		int result = real_##name(CALLER)(handle, is_ours ? on_signal : cb, number); \
\
		if (is_ours && result == 0) \
			thrum__adapt_loop_handles(number); \
		return result; \
	}
STARTS_SIGNAL(uv_signal_start)
STARTS_SIGNAL(uv_signal_start_oneshot)

/* libuv takes the descriptor out of its epoll itself, as in uv_poll_stop. */
STAND_IN int uv_poll_start(uv_poll_t *handle, int events, uv_poll_cb cb)
{
	int fd;

	if (!thrum__adapt_uv_start(AS_HANDLE(handle), "poll", AS_FUNCTION(cb), CALLER))
		return real_uv_poll_start(CALLER)(handle, events, cb);
	if (events & UV_READABLE && real_uv_fileno(NULL)(AS_HANDLE(handle), &fd) == 0)
		thrum__adapt_removed_event(fd, (const void *)(uintptr_t)cb);
	return real_uv_poll_start(CALLER)(handle, events, on_poll);
}

STAND_IN int uv_run(uv_loop_t *loop, uv_run_mode mode)
{
	return thrum__adapt_uv_begin(CALLER) ? thrum__adapt_uv_run_loop(loop, mode, CALLER)
					     : real_uv_run(CALLER)(loop, mode);
}

STAND_IN void uv_pipe_connect(uv_connect_t *req, uv_pipe_t *handle, const char *name,
	uv_connect_cb cb)
{
	if (!thrum__adapt_uv_begin(CALLER)) {
		real_uv_pipe_connect(CALLER)(req, handle, name, cb);
		return;
	}
	thrum_task task = thrum__adapt_request_then(CALLER, AS_FUNCTION(cb), "connect %s",
		name ? name : "");

	real_uv_pipe_connect(CALLER)(req, handle, name, on_connect);
	thrum__adapt_uv_accepted(AS_REQUEST(req), task, 0, AS_FUNCTION(cb));
}

static void on_exit(uv_process_t *handle, int64_t status, int signal)
{
	struct uv_run run;
	uv_exit_cb cb = (uv_exit_cb)thrum__adapt_uv_run_handle(&run, AS_HANDLE(handle));

	if (status)
		thrum_logf("exit status %lld", (long long)status);
	if (signal)
		thrum_logf("killed by signal %d", signal);
	if (cb)
		cb(handle, status, signal);
	thrum_task_resolve(run.task);
	thrum__adapt_uv_ended(AS_HANDLE(handle));
	thrum__adapt_uv_end_run(&run);
}

STAND_IN int uv_spawn(uv_loop_t *loop, uv_process_t *handle, const uv_process_options_t *options)
{
	if (!options || !options->file || !thrum__adapt_uv_begin(CALLER))
		return real_uv_spawn(CALLER)(loop, handle, options);
	uv_process_options_t ours = *options;
	const char *slash = strrchr(options->file, '/');
	char label[THRUM_TEXT_MAX];

	snprintf(label, sizeof label, "spawn %s", slash ? slash + 1 : options->file);
	ours.exit_cb = on_exit;
	thrum__adapt_pipes_spawn(true);
	int result = real_uv_spawn(CALLER)(loop, handle, &ours);

	thrum__adapt_pipes_spawn(false);
	thrum__adapt_uv_inherits(options);
	/* A process that could not be started has a handle all the same, but no callback comes. */
	thrum__adapt_uv_init(AS_HANDLE(handle), THRUM_KIND_REQUEST, label, CALLER);
	thrum__adapt_uv_keep(AS_HANDLE(handle), AS_FUNCTION(options->exit_cb));
	if (result == 0)
		thrum__adapt_uv_spawned(handle, options, thrum__adapt_caller(CALLER));
	else
		thrum_task_fail(thrum__adapt_uv_task(AS_HANDLE(handle)),
			real_uv_err_name(NULL)(result));
	return result;
}

static void on_close(uv_handle_t *handle)
{
	struct uv_run run;
	uv_close_cb cb = (uv_close_cb)thrum__adapt_uv_run_handle(&run, handle);

	thrum_task_resolve(run.task);
	if (cb)
		cb(handle);
	thrum__adapt_uv_end_run(&run);
}

STAND_IN void uv_close(uv_handle_t *handle, uv_close_cb cb)
{
	/* Also for libuv itself, and if nothing is recorded: the handle may be freed. */
	thrum__adapt_uv_started(handle);
	thrum__adapt_loop_timer_gone(handle);
	if (handle->type == UV_TIMER)
		thrum__adapt_uv_timer_over((uv_timer_t *)handle);
	if (handle->type == UV_ASYNC && thrum__adapt_uv_task(handle))
		thrum__adapt_uv_async_closed((uv_async_t *)handle, CALLER);
	if (thrum__adapt_uv_begin(CALLER) && thrum__adapt_uv_task(handle)) {
		/* No other callback of the handle comes any more. */
		thrum__adapt_uv_keep(handle, AS_FUNCTION(cb));
		cb = on_close;
	}
	real_uv_close(CALLER)(handle, cb);
}
