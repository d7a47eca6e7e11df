/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: A picture whose thumbnail is already in the cache returns early from after_scale(), and nobody
 *     closes the uv_async_t with which the job reports its progress. So the loop never ends.
 *   culprit: after_scale|report_progress|start_thumbnail
 *   victim: uv_run|make_thumbnails
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Makes thumbnails of a folder of pictures in libuv's thread pool, and shows how far each is. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define PICTURES 12
#define SIDE 512
#define THUMB 64

struct thumbnail {
	uv_work_t work;
	uv_async_t progress;
	uv_fs_t file;
	char name[32];
	char path[96];
	unsigned seed;
	bool cached;
	_Atomic int percent;
	uint32_t pixels[THUMB * THUMB];
};

static char folder[] = "/tmp/thumbs-XXXXXX";
static int drawn, written, from_cache, live;
static bool fixed;

static void report_progress(uv_async_t *async)
{
	struct thumbnail *thumbnail = async->data;
	int percent = thumbnail->percent;
	if (isatty(STDOUT_FILENO))
		printf("\r%s %3d %%", thumbnail->name, percent);
	drawn++;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
	live--;
}

static void on_written(uv_fs_t *file)
{
	struct thumbnail *thumbnail = file->data;
	if (file->result == (ssize_t)sizeof thumbnail->pixels)
		written++;
	int fd = (int)file->file;
	uv_fs_req_cleanup(file);
	close(fd);
	uv_close((uv_handle_t *)&thumbnail->progress, on_closed);
}

static void on_created(uv_fs_t *file)
{
	struct thumbnail *thumbnail = file->data;
	ssize_t fd = file->result;
	uv_fs_req_cleanup(file);
	if (fd < 0) {
		fprintf(stderr, "%s: %s\n", thumbnail->path, uv_strerror((int)fd));
		uv_close((uv_handle_t *)&thumbnail->progress, on_closed);
		return;
	}
	uv_buf_t buffer = uv_buf_init((char *)thumbnail->pixels, sizeof thumbnail->pixels);
	uv_fs_write(uv_default_loop(), file, (uv_file)fd, &buffer, 1, 0, on_written);
}

static void scale(uv_work_t *work)
{
	struct thumbnail *thumbnail = work->data;
	if (access(thumbnail->path, R_OK) == 0) {
		thumbnail->cached = true;
		return;
	}
	const int step = SIDE / THUMB;
	unsigned noise = thumbnail->seed;
	for (int y = 0; y < THUMB; y++) {
		for (int x = 0; x < THUMB; x++) {
			uint64_t sum = 0;
			for (int i = 0; i < step * step; i++) {
				noise = noise * 1664525u + 1013904223u;
				sum += noise >> 24;
			}
			thumbnail->pixels[y * THUMB + x] = (uint32_t)(sum /
				(uint64_t)(step * step));
		}
		if (y % 8 == 7) {
			thumbnail->percent = 100 * (y + 1) / THUMB;
			uv_async_send(&thumbnail->progress);
		}
	}
}

static void after_scale(uv_work_t *work, int status)
{
	struct thumbnail *thumbnail = work->data;
	if (thumbnail->cached) {
		from_cache++;
		if (fixed)
			uv_close((uv_handle_t *)&thumbnail->progress, on_closed);
		return;
	}
	if (status < 0) {
		uv_close((uv_handle_t *)&thumbnail->progress, on_closed);
		return;
	}
	uv_fs_open(uv_default_loop(), &thumbnail->file, thumbnail->path,
		O_WRONLY | O_CREAT | O_TRUNC, 0644, on_created);
}

static void start_thumbnail(int number)
{
	struct thumbnail *thumbnail = calloc(1, sizeof *thumbnail);
	snprintf(thumbnail->name, sizeof thumbnail->name, "holiday-%02d", number);
	snprintf(thumbnail->path, sizeof thumbnail->path, "%s/%s.thumb", folder, thumbnail->name);
	thumbnail->seed = (unsigned)number + 1;
	thumbnail->work.data = thumbnail->progress.data = thumbnail->file.data = thumbnail;
	live++;
	uv_async_init(uv_default_loop(), &thumbnail->progress, report_progress);
	uv_queue_work(uv_default_loop(), &thumbnail->work, scale, after_scale);
}

static void make_thumbnails(void)
{
	for (int i = 0; i < PICTURES; i++)
		start_thumbnail(i);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

/* Two pictures were shown last time: their thumbnails are there already. */
static void fill_cache(void)
{
	static const int seen[] = {3, 8};
	for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
		char path[96];
		snprintf(path, sizeof path, "%s/holiday-%02d.thumb", folder, seen[i]);
		int fd = open(path, O_WRONLY | O_CREAT, 0644);
		if (fd >= 0)
			close(fd);
	}
}

static void remove_folder(void)
{
	for (int i = 0; i < PICTURES; i++) {
		char path[96];
		snprintf(path, sizeof path, "%s/holiday-%02d.thumb", folder, i);
		unlink(path);
	}
	rmdir(folder);
}

int main(int argc, char **argv)
{
	fixed = argc > 1 && strcmp(argv[1], "healthy") == 0;
	if (!mkdtemp(folder))
		return 1;
	fill_cache();
	make_thumbnails();
	printf("%d written, %d from the cache, %d times drawn\n", written, from_cache, drawn);
	remove_folder();
	return written + from_cache == PICTURES && live == 0 ? 0 : 1;
}
