/* SPDX-License-Identifier: ISC */
/* Open files. A file is closed when its operations have ended. Its block stays until libuv has
 * closed it. */
#include "promise/uv/glue.h"
#include <string.h>

struct thrum_file {
	struct thrum__promise_held held; /* its resolver ends the promise of the close */
	uv_fs_t closing;
	uv_file fd; /* -1: not open */
	size_t under_way;
	bool is_closing;
	thrum_task task;
	char path[];
};

/* One operation on a file. */
struct operation {
	struct thrum__promise_held held;
	uv_fs_t fs;
	struct thrum_file *file;
	struct thrum_value value; /* the bytes to write, or room to read into */
	char *at;                 /* the bytes that are still to be written */
	size_t left;
	int64_t offset;
};

/* ---- Closing --------------------------------------------------------------------------------- */

static void file_closed(uv_fs_t *fs)
{
	struct thrum_file *file = fs->data;
	int code = (int)fs->result;

	uv_fs_req_cleanup(fs);
	thrum__promise_uv_end(&file->held, code, thrum_value_none());
}

static void close_file_if_idle(struct thrum_file *file)
{
	if (!file->is_closing || file->under_way > 0)
		return;
	if (file->fd < 0) {
		thrum__promise_uv_end(&file->held, 0, thrum_value_none());
		return;
	}
	thrum_task_resolve(file->task);
	file->closing.data = file;
	/* This fails only without a request. */
	uv_fs_close(thrum_loop_uv(file->held.loop), &file->closing, file->fd, file_closed);
}

static void stop_file(struct thrum__promise_held *held)
{
	struct thrum_file *file = (struct thrum_file *)held;

	if (file->is_closing)
		return;
	file->is_closing = true;
	close_file_if_idle(file);
}

static void drop_file(void *data)
{
	stop_file(data);
}

struct thrum_promise *thrum__file_close(struct thrum_site *site, struct thrum_file *file)
{
	struct thrum_promise *promise;

	if (!file)
		return NULL;
	if (file->is_closing)
		return thrum__promise_fail_code(site, file->held.loop, -EALREADY);
	promise = thrum__promise_request(site, file->held.loop, THRUM_KIND_REQUEST, "file close",
		NULL, NULL, &file->held.resolver);
	file->held.site = site;
	stop_file(&file->held);
	return promise;
}

/* ---- Operations ------------------------------------------------------------------------------ */

static void operation_canceled(struct thrum_resolver *resolver, void *data)
{
	struct operation *operation = data;

	/* libuv refuses this if the operation has begun. end_operation uses the resolver up in
	 * either case. */
	uv_cancel((uv_req_t *)&operation->fs);
}

/* Returns NULL if it failed; `promise` has then failed too. */
static struct operation *begin_operation(struct thrum_site *site, struct thrum_file *file,
	const char *verb, struct thrum_promise **promise)
{
	struct thrum_loop *loop = file->held.loop;
	struct operation *operation;
	char label[THRUM__PROMISE_LABEL_SIZE];
	bool began;

	if (file->is_closing) {
		*promise = thrum__promise_fail_code(site, loop, -EBADF);
		return NULL;
	}
	operation = thrum__promise_hold(loop, sizeof(*operation), NULL);
	if (!operation) {
		*promise = thrum__promise_no_memory(loop);
		return NULL;
	}
	*promise = thrum__promise_uv_begin(&operation->held, site, THRUM_KIND_REQUEST,
		thrum__promise_uv_label(label, sizeof(label), "file %s %s", verb, file->path),
		operation_canceled, &began);
	if (!began)
		return NULL;
	operation->fs.data = operation;
	operation->file = file;
	file->under_way++;
	return operation;
}

/* Ends an operation. A negative result is a failure. Consumes the value. */
static void end_operation(struct operation *operation, ssize_t result, struct thrum_value value)
{
	struct thrum_file *file = operation->file;

	uv_fs_req_cleanup(&operation->fs);
	thrum_value_destroy(operation->value);
	file->under_way--;
	close_file_if_idle(file);
	thrum__promise_uv_end(&operation->held, result < 0 ? (int)result : 0, value);
}

/* Ends the operation if libuv's code says that it didn't begin. Returns the promise. */
static struct thrum_promise *operation_began(struct operation *operation,
	struct thrum_promise *promise, int code)
{
	if (code != 0)
		end_operation(operation, code, thrum_value_none());
	return promise;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static void file_opened(uv_fs_t *fs)
{
	struct operation *operation = fs->data;
	struct thrum_file *file = operation->file;
	struct thrum_value value = thrum_value_own(file, drop_file);
	char label[THRUM__PROMISE_LABEL_SIZE];
	thrum_task before;

	thrum__promise_loop_resume(file->held.loop);
	file->fd = fs->result < 0 ? -1 : (uv_file)fs->result;
	if (file->fd < 0) {
		/* The file ends together with the operation. */
		file->is_closing = true;
		value = thrum_value_none();
	} else if (thrum_resolver_wanted(operation->held.resolver)) {
		before = thrum__promise_trace_enter(
			thrum__promise_resolver_task(operation->held.resolver));
		file->task = thrum__promise_trace_create(operation->held.site, THRUM_KIND_HANDLE,
			thrum__promise_uv_label(label, sizeof(label), "file %s", file->path));
		thrum__promise_trace_leave(before);
	}
	end_operation(operation, fs->result, value);
}

struct thrum_promise *thrum__file_open(struct thrum_site *site, struct thrum_loop *loop,
	const char *path, int flags, int mode)
{
	struct operation *operation;
	struct thrum_promise *promise;
	struct thrum_file *file;
	int code;

	if (!loop || !path)
		return thrum__promise_fail_code(site, loop, -EINVAL);
	file = thrum__promise_hold(loop, sizeof(*file) + strlen(path) + 1, stop_file);
	if (!file)
		return thrum__promise_no_memory(loop);
	strcpy(file->path, path);
	file->fd = -1;
	operation = begin_operation(site, file, "open", &promise);
	if (!operation) {
		thrum__promise_held_end(&file->held);
		return promise;
	}
	code = uv_fs_open(thrum_loop_uv(loop), &operation->fs, path, flags, mode, file_opened);
	file->is_closing = code != 0;
	return operation_began(operation, promise, code);
}

/* ---- Reading, writing ------------------------------------------------------------------------ */

static void file_read_done(uv_fs_t *fs)
{
	struct operation *operation = fs->data;
	struct thrum_value value = operation->value;
	struct thrum_bytes *bytes = value.data;

	if (fs->result > 0) {
		operation->value = thrum_value_none();
		bytes->size = (size_t)fs->result;
	} else {
		value = thrum_value_none();
	}
	end_operation(operation, fs->result, value);
}

struct thrum_promise *thrum__file_read(struct thrum_site *site, struct thrum_file *file,
	size_t size, int64_t offset)
{
	struct operation *operation;
	struct thrum_promise *promise;
	struct thrum_bytes *bytes;
	uv_buf_t buffer;

	if (!file)
		return NULL;
	if (size == 0)
		return thrum__promise_fail_code(site, file->held.loop, -EINVAL);
	operation = begin_operation(site, file, "read", &promise);
	if (!operation)
		return promise;
	bytes = thrum__promise_bytes_create(file->held.loop, size);
	if (!bytes)
		return operation_began(operation, promise, -ENOMEM);
	operation->value = thrum__promise_owned_value(bytes);
	buffer = (uv_buf_t){.base = bytes->data, .len = size};
	return operation_began(operation, promise,
		uv_fs_read(thrum_loop_uv(file->held.loop), &operation->fs, file->fd, &buffer, 1,
			offset, file_read_done));
}

static void file_write_done(uv_fs_t *fs);

static int write_rest(struct operation *operation)
{
	uv_buf_t buffer = {.base = operation->at, .len = operation->left};

	return uv_fs_write(thrum_loop_uv(operation->held.loop), &operation->fs, operation->file->fd,
		&buffer, 1, operation->offset, file_write_done);
}

static void file_write_done(uv_fs_t *fs)
{
	struct operation *operation = fs->data;
	ssize_t result = fs->result;

	thrum__promise_loop_resume(operation->held.loop);
	if (result == 0)
		result = -EIO; /* else it would be tried for ever */
	if (result > 0 && (size_t)result < operation->left &&
		thrum_resolver_wanted(operation->held.resolver)) {
		operation->at += result;
		operation->left -= (size_t)result;
		if (operation->offset >= 0)
			operation->offset += result;
		uv_fs_req_cleanup(fs);
		result = write_rest(operation);
		if (result == 0)
			return;
	}
	end_operation(operation, result, thrum_value_none());
}

struct thrum_promise *thrum__file_write(struct thrum_site *site, struct thrum_file *file,
	struct thrum_value data, size_t size, int64_t offset)
{
	struct operation *operation = NULL;
	struct thrum_promise *promise = NULL;

	if (file && size > 0 && !data.data)
		promise = thrum__promise_fail_code(site, file->held.loop, -EINVAL);
	else if (file && size == 0)
		promise = thrum_promise_return(file->held.loop, thrum_value_none());
	else if (file)
		operation = begin_operation(site, file, "write", &promise);
	if (!operation) {
		thrum_value_destroy(data);
		return promise;
	}
	operation->value = data;
	operation->at = data.data;
	operation->left = size;
	operation->offset = offset;
	return operation_began(operation, promise, write_rest(operation));
}

static void file_sync_done(uv_fs_t *fs)
{
	end_operation(fs->data, fs->result, thrum_value_none());
}

struct thrum_promise *thrum__file_sync(struct thrum_site *site, struct thrum_file *file)
{
	struct operation *operation;
	struct thrum_promise *promise;

	if (!file)
		return NULL;
	operation = begin_operation(site, file, "sync", &promise);
	if (!operation)
		return promise;
	return operation_began(operation, promise,
		uv_fs_fsync(thrum_loop_uv(file->held.loop), &operation->fs, file->fd,
			file_sync_done));
}
