/* SPDX-License-Identifier: ISC */
/* Files by their paths: their attributes, and loading their whole content. */
#include "promise/uv/glue.h"
#include <fcntl.h>
#include <string.h>

struct path_request {
	struct thrum__promise_held held;
	uv_fs_t fs;
	/* These are for loading: */
	uv_file fd;
	int code;
	struct thrum_bytes *bytes; /* its size is the room that it has */
	size_t size;
};

/* Cancels a step, but never the one that closes a file. The last step uses the resolver up. */
static void path_request_canceled(struct thrum_resolver *resolver, void *data)
{
	struct path_request *request = data;

	if (request->fs.fs_type != UV_FS_CLOSE)
		uv_cancel((uv_req_t *)&request->fs);
}

static struct path_request *begin_path_request(struct thrum_site *site, struct thrum_loop *loop,
	const char *verb, const char *path, struct thrum_promise **promise)
{
	struct path_request *request = loop && path
		? thrum__promise_hold(loop, sizeof(*request), NULL)
		: NULL;
	char label[THRUM__PROMISE_LABEL_SIZE];
	bool began;

	if (!request) {
		*promise = loop && !path ? thrum__promise_fail_code(site, loop, -EINVAL)
					 : thrum__promise_no_memory(loop);
		return NULL;
	}
	*promise = thrum__promise_uv_begin(&request->held, site, THRUM_KIND_REQUEST,
		thrum__promise_uv_label(label, sizeof(label), "file %s %s", verb, path),
		path_request_canceled, &began);
	if (!began)
		return NULL;
	request->fs.data = request;
	return request;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static void stat_done(uv_fs_t *fs)
{
	struct path_request *request = fs->data;
	int code = (int)fs->result;
	uv_stat_t *copy = NULL;

	if (code == 0) {
		copy = thrum__promise_owned_create(request->held.loop, sizeof(*copy));
		if (copy)
			*copy = fs->statbuf;
		else
			code = -ENOMEM;
	}
	uv_fs_req_cleanup(fs);
	thrum__promise_uv_end(&request->held, code,
		copy ? thrum__promise_owned_value(copy) : thrum_value_none());
}

struct thrum_promise *thrum__file_stat(struct thrum_site *site, struct thrum_loop *loop,
	const char *path)
{
	struct thrum_promise *promise;
	struct path_request *request = begin_path_request(site, loop, "stat", path, &promise);
	int code;

	if (!request)
		return promise;
	code = uv_fs_stat(thrum_loop_uv(loop), &request->fs, path, stat_done);
	return code == 0 ? promise : thrum__promise_uv_refused(&request->held, promise, code);
}

/* ---- Content --------------------------------------------------------------------------------- */

/* The size that a file reports is only a hint: in /proc it is 0. */
#define ROOM_MIN ((uint64_t)4096)
#define ROOM_FIRST_MAX ((uint64_t)16 << 20)

static bool grow_bytes(struct path_request *request, uint64_t room)
{
	struct thrum_bytes *bytes = room <= SIZE_MAX
		? thrum__promise_bytes_create(request->held.loop, (size_t)room)
		: NULL;

	if (!bytes) {
		request->code = -ENOMEM;
		return false;
	}
	if (request->bytes) {
		memcpy(bytes->data, request->bytes->data, request->size);
		thrum__promise_owned_destroy(request->bytes);
	}
	request->bytes = bytes;
	return true;
}

static void end_load(struct path_request *request)
{
	struct thrum_value value = thrum_value_none();

	if (request->bytes) {
		request->bytes->size = request->size;
		value = thrum__promise_owned_value(request->bytes);
	}
	thrum__promise_uv_end(&request->held, request->code, value);
}

/* Takes in the result of a step of loading. Returns whether there may be more to read. */
static bool take_load_step(struct path_request *request, uv_fs_type step, ssize_t result,
	uint64_t room)
{
	switch (step) {
	case UV_FS_OPEN: request->fd = (uv_file)result; return true;
	case UV_FS_FSTAT:
		if (room < ROOM_MIN)
			room = ROOM_MIN;
		return grow_bytes(request, room < ROOM_FIRST_MAX ? room : ROOM_FIRST_MAX);
	default:
		request->size += (size_t)result;
		return result > 0 &&
			(request->size < request->bytes->size ||
				grow_bytes(request, (uint64_t)request->size * 2));
	}
}

static int read_more(struct path_request *request, uv_fs_cb then)
{
	uv_buf_t rest = {.base = request->bytes->data + request->size,
		.len = request->bytes->size - request->size};

	return uv_fs_read(thrum_loop_uv(request->held.loop), &request->fs, request->fd, &rest, 1,
		-1, then);
}

/* Runs after each step and begins the next one. The last one closes the file, if it was opened. */
static void load_next_step(uv_fs_t *fs)
{
	struct path_request *request = fs->data;
	uv_loop_t *uv = thrum_loop_uv(request->held.loop);
	uv_fs_type step = fs->fs_type;
	ssize_t result = fs->result;
	uint64_t room = fs->statbuf.st_size + 1;
	bool more;

	thrum__promise_loop_resume(request->held.loop);
	uv_fs_req_cleanup(fs);
	if (result < 0 && request->code == 0)
		request->code = (int)result;
	if (step == UV_FS_CLOSE || (step == UV_FS_OPEN && result < 0)) {
		end_load(request);
		return;
	}
	more = result >= 0 && take_load_step(request, step, result, room) &&
		thrum_resolver_wanted(request->held.resolver);
	if (more && step == UV_FS_OPEN)
		request->code = uv_fs_fstat(uv, fs, request->fd, load_next_step);
	else if (more)
		request->code = read_more(request, load_next_step);
	if (!more || request->code != 0)
		uv_fs_close(uv, fs, request->fd, load_next_step);
}

struct thrum_promise *thrum__file_load(struct thrum_site *site, struct thrum_loop *loop,
	const char *path)
{
	struct thrum_promise *promise;
	struct path_request *request = begin_path_request(site, loop, "load", path, &promise);
	int code;

	if (!request)
		return promise;
	code = uv_fs_open(thrum_loop_uv(loop), &request->fs, path, O_RDONLY, 0, load_next_step);
	return code == 0 ? promise : thrum__promise_uv_refused(&request->held, promise, code);
}
