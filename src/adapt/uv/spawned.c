/* SPDX-License-Identifier: ISC */
/*
 * Pipes for the output of uv_spawn's children that nobody reads: a child that writes more than there is room
 * for never exits. The loop's thread looks when a timer comes, as libuv has a handler for the ends of
 * children, so that no wait is interrupted to look. It tells of such a pipe only if the child itself waits
 * in a call that writes to it, and nothing is left that may start the reading in two turns: no request, no
 * other handle but timers that came twice since, and no other thread that does more than to nap or to wait
 * for other threads. A timer may count its rounds, so it is but possible that nobody ever reads.
 */
#include "adapt/uv/noted.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "adapt/ends/ends.h"

#define PAUSE 50000000 /* ns between two looks */

REAL(uv_fileno)

/* By the place that spawned the child. `more`: the task of its exit; `quiet`: its number, and above 32 bits
 * the turn of the loop in which nothing was left that goes on; 0: it isn't so. */
static struct noted_all spawned = {.max = NOTED_MAX};

void thrum__adapt_uv_inherits(const uv_process_options_t *options)
{
	for (int i = 0; i < options->stdio_count; i++) {
		const uv_stdio_container_t *one = &options->stdio[i];
		int fd = one->flags & UV_INHERIT_FD ? one->data.fd : -1;

		if (one->flags & UV_INHERIT_STREAM &&
			real_uv_fileno(NULL)((uv_handle_t *)one->data.stream, &fd) != 0)
			fd = -1;
		if (fd >= 0 && fd < DESCRIPTORS && is_of_pipe(fd))
			thrum__adapt_pipe_shared(fd);
	}
}

void thrum__adapt_uv_spawned(const uv_process_t *process, const uv_process_options_t *options,
	const void *place)
{
	/* libuv takes the ends of children by its own handler; if the program has set none since. */
	if (thrum__adapt_uv_is_code(thrum__adapt_handler(SIGCHLD)))
		thrum__adapt_loop_handles(SIGCHLD);
	for (int i = 0; i < options->stdio_count; i++) {
		const uv_stdio_container_t *end = &options->stdio[i];
		struct noted *one;

		if (!(end->flags & UV_CREATE_PIPE) || !(end->flags & UV_WRITABLE_PIPE))
			continue;
		thrum__adapt_uv_output_taken(end->data.stream);
		one = thrum__adapt_uv_note(&spawned, (uv_handle_t *)end->data.stream, place, NULL);
		if (!one)
			return;
		one->more = thrum__adapt_uv_task((const uv_handle_t *)process);
		one->quiet = (uint32_t)process->pid;
	}
}

void thrum__adapt_uv_output_taken(const void *handle)
{
	thrum__adapt_uv_forget(&spawned, handle);
}

/* Whether a process waits in a call that writes to the other end of a descriptor. */
static bool waits_to_write(pid_t process, int fd)
{
	const struct look look = {.self = own_pid()};
	struct process_call call;
	struct statx file;
	char path[64];
	bool writes = false;
	int at;

	if (!thrum__adapt_process_is_single(process) ||
		!thrum__adapt_process_call(process, 0, &call))
		return false;
	at = thrum__adapt_vain_descriptor(&look, process, &call, &writes);
	if (at < 0 || !writes)
		return false;
	thrum__adapt_process_descriptor(path, process, at);
	return thrum__adapt_find_file(AT_FDCWD, path, &file) && S_ISSOCK(file.stx_mode) &&
		file.stx_ino == thrum__adapt_pipe_peer(fd);
}

struct survey {
	const struct naps *naps;
	uint32_t self;
	bool may_go_on;
};

static void look_at_thread(void *context, int directory, const char *name)
{
	struct survey *survey = context;
	struct process_call call;
	uint32_t tid = (uint32_t)strtoul(name, NULL, 10);
	bool is_seen;

	(void)directory;
	if (tid == survey->self)
		return;
	is_seen = thrum__adapt_process_call(own_pid(), tid, &call);
	survey->may_go_on |= !(is_seen && call.number == SYS_futex &&
				     thrum__adapt_call_is_endless(&call)) &&
		!thrum__adapt_naps_goes_round(survey->naps, tid, is_seen ? &call : NULL);
}

/* Whether each other thread waits for others of this process, or only naps. */
static bool do_others_rest(void)
{
	struct survey survey = {.naps = thrum__adapt_look_naps(), .self = own_tid()};

	return thrum__adapt_process_each(own_pid(), "/task", look_at_thread, &survey) &&
		!survey.may_go_on;
}

static void look_at(struct noted *one)
{
	const uv_handle_t *handle = atomic_load(&one->handle);
	int64_t age = rough_time() - one->since;
	char label[CALL_MAX + PLACE_MAX + 40];
	uint32_t turn = thrum__adapt_loops_of(thrum__adapt_self), before = one->quiet >> 32;
	pid_t child = (pid_t)(uint32_t)one->quiet;
	struct uv_rest rest;
	uv_os_fd_t fd;
	int size = 0;

	if (one->task || !one->more || age < LOOK_TIMED || real_uv_fileno(NULL)(handle, &fd) != 0 ||
		ioctl(fd, FIONREAD, &size) != 0 || size <= 0)
		return;
	one->quiet = (uint32_t)child;
	rest = thrum__adapt_uv_rest_of(handle->loop, age, child);
	if (rest.may_go_on || !do_others_rest() || !waits_to_write(child, fd) ||
		!thrum__adapt_uv_is_still(handle->loop))
		return;
	/* Other timers may be about to run in the same turn: libuv may have stopped them. */
	one->quiet |= (int64_t)turn << 32;
	if (before == 0 || before == turn)
		return;
	thrum__adapt_put_call(label, "data so far unread of", fd);
	thrum__adapt_label(label + strlen(label), ", not read since uv_spawn in", one->place);
	one->task = thrum__adapt_look_tell(label, one->place, one->more);
}

void thrum__adapt_uv_look_at_spawned(const uv_loop_t *loop)
{
	static __thread int64_t latest __attribute__((tls_model("initial-exec")));
	int error = errno, before;

	if (LIKELY(atomic_load_explicit(&spawned.used, memory_order_relaxed) == 0) ||
		rough_time() - latest < PAUSE)
		return;
	latest = rough_time();
	/* The thread must not be cancelled while files are open. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	thrum__adapt_uv_each_noted(&spawned, loop->backend_fd, look_at);
	pthread_setcancelstate(before, NULL);
	errno = error;
}
