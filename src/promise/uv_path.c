/* SPDX-License-Identifier: ISC */
/* Files by their paths: what they are, and all that is in them. */
#include "promise/uv_glue.h"
#include <fcntl.h>
#include <string.h>

struct task {
	struct thrum__held held;
	uv_fs_t fs;
	/* Of what is loaded: */
	uv_file fd;
	int code;
	struct thrum_bytes *bytes; /* its size: what there is room for */
	size_t size;
};

/* What closes a file mustn't be cancelled. The resolver is used up when libuv is done. */
static void canceled(struct thrum_resolver *resolver, void *data)
{
	struct task *task = data;

	if (task->fs.fs_type != UV_FS_CLOSE)
		uv_cancel((uv_req_t *)&task->fs);
}

static struct task *begin(struct thrum_site *site, struct thrum_loop *loop, const char *what,
	const char *path, struct thrum_promise **promise)
{
	struct task *task = loop && path ? thrum__hold(loop, sizeof(*task), NULL) : NULL;
	char label[THRUM__LABEL_SIZE];
	bool began;

	if (!task) {
		*promise = loop && !path ? thrum__promise_fail_code(site, loop, -EINVAL)
					 : thrum__promise_no_memory(loop);
		return NULL;
	}
	*promise = thrum__uv_begin(&task->held, site, THRUM_KIND_REQUEST,
		thrum__uv_label(label, sizeof(label), "file %s %s", what, path), canceled, &began);
	if (!began)
		return NULL;
	task->fs.data = task;
	return task;
}

/* ---- What they are -----------------------------------------------------------------------------
 */

static void has_stat(uv_fs_t *fs)
{
	struct task *task = fs->data;
	int code = (int)fs->result;
	uv_stat_t *copy = NULL;

	if (code == 0) {
		copy = thrum__owned_create(task->held.loop, sizeof(*copy));
		if (copy)
			*copy = fs->statbuf;
		else
			code = -ENOMEM;
	}
	uv_fs_req_cleanup(fs);
	thrum__uv_end(&task->held, code, copy ? thrum__owned_value(copy) : thrum_value_none());
}

struct thrum_promise *thrum__file_stat(struct thrum_site *site, struct thrum_loop *loop,
	const char *path)
{
	struct thrum_promise *promise;
	struct task *task = begin(site, loop, "stat", path, &promise);
	int code;

	if (!task)
		return promise;
	code = uv_fs_stat(thrum_loop_uv(loop), &task->fs, path, has_stat);
	return code == 0 ? promise : thrum__uv_refused(&task->held, promise, code);
}

/* ---- What is in them ---------------------------------------------------------------------------
 */

/* What a file says of its size is a hint: in /proc it is 0. */
#define ROOM_MIN ((uint64_t)4096)
#define ROOM_FIRST_MAX ((uint64_t)16 << 20)

static bool has_room(struct task *task, uint64_t room)
{
	struct thrum_bytes *bytes = room <= SIZE_MAX
		? thrum__bytes_create(task->held.loop, (size_t)room)
		: NULL;

	if (!bytes) {
		task->code = -ENOMEM;
		return false;
	}
	if (task->bytes) {
		memcpy(bytes->data, task->bytes->data, task->size);
		thrum__owned_destroy(task->bytes);
	}
	task->bytes = bytes;
	return true;
}

static void end_load(struct task *task)
{
	struct thrum_value value = thrum_value_none();

	if (task->bytes) {
		task->bytes->size = task->size;
		value = thrum__owned_value(task->bytes);
	}
	thrum__uv_end(&task->held, task->code, value);
}

/* What a step brought; whether there may be more. */
static bool take_in(struct task *task, uv_fs_type step, ssize_t result, uint64_t room)
{
	switch (step) {
	case UV_FS_OPEN: task->fd = (uv_file)result; return true;
	case UV_FS_FSTAT:
		if (room < ROOM_MIN)
			room = ROOM_MIN;
		return has_room(task, room < ROOM_FIRST_MAX ? room : ROOM_FIRST_MAX);
	default:
		task->size += (size_t)result;
		return result > 0 &&
			(task->size < task->bytes->size ||
				has_room(task, (uint64_t)task->size * 2));
	}
}

static int read_more(struct task *task, uv_fs_cb then)
{
	uv_buf_t rest = {.base = task->bytes->data + task->size,
		.len = task->bytes->size - task->size};

	return uv_fs_read(thrum_loop_uv(task->held.loop), &task->fs, task->fd, &rest, 1, -1, then);
}

/* After each step the next; once the file is open, the last one closes it. */
static void load_step(uv_fs_t *fs)
{
	struct task *task = fs->data;
	uv_loop_t *uv = thrum_loop_uv(task->held.loop);
	uv_fs_type step = fs->fs_type;
	ssize_t result = fs->result;
	uint64_t room = fs->statbuf.st_size + 1;
	bool more;

	thrum__loop_resume(task->held.loop);
	uv_fs_req_cleanup(fs);
	if (result < 0 && task->code == 0)
		task->code = (int)result;
	if (step == UV_FS_CLOSE || (step == UV_FS_OPEN && result < 0)) {
		end_load(task);
		return;
	}
	more = result >= 0 && take_in(task, step, result, room) &&
		thrum_resolver_wanted(task->held.resolver);
	if (more && step == UV_FS_OPEN)
		task->code = uv_fs_fstat(uv, fs, task->fd, load_step);
	else if (more)
		task->code = read_more(task, load_step);
	if (!more || task->code != 0)
		uv_fs_close(uv, fs, task->fd, load_step);
}

struct thrum_promise *thrum__file_load(struct thrum_site *site, struct thrum_loop *loop,
	const char *path)
{
	struct thrum_promise *promise;
	struct task *task = begin(site, loop, "load", path, &promise);
	int code;

	if (!task)
		return promise;
	code = uv_fs_open(thrum_loop_uv(loop), &task->fs, path, O_RDONLY, 0, load_step);
	return code == 0 ? promise : thrum__uv_refused(&task->held, promise, code);
}
