/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=fetch_setting
 *   truth: libuv's pool has four threads. on_backup_due gives all of them to scan_volume, which blocks for 550 ms on
 *     each volume; the file operation for the next setting stands behind them in the pool's queue, and fetch_setting
 *     waits for its answer.
 *   culprit: scan_volume
 *   victim: fetch_setting|read_setting|panel
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* settingsd reads settings from a file for a panel, by libuv's file operations, and scans volumes for the backup. */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define RECORD 32
#define FETCHES 9

struct volume {
	const char *name;
	long scan_ms;
	uv_work_t work;
	unsigned files;
};

struct query {
	uv_fs_t read;
	uv_write_t write;
	char record[RECORD];
};

static struct volume volumes[] = {
	{.name = "home", .scan_ms = 550},
	{.name = "photos", .scan_ms = 550},
	{.name = "music", .scan_ms = 550},
	{.name = "archive", .scan_ms = 550},
};

static uv_loop_t *loop;
static uv_pipe_t panel_pipe;
static uv_timer_t backup_timer;
static uv_file settings_file;
static unsigned due_volumes, served;

static void pause_ms(long ms)
{
	struct timespec left = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

/* The panel's thread */

__attribute__((noinline)) int fetch_setting(int fd, unsigned char number, char *record)
{
	size_t length = 0;

	if (write(fd, &number, 1) != 1)
		return -1;
	while (length < RECORD) {
		ssize_t got = read(fd, record + length, RECORD - length);

		if (got <= 0)
			return -1;
		length += (size_t)got;
	}
	return 0;
}

static void *run_panel(void *data)
{
	char record[RECORD];
	int fd = *(int *)data;

	pthread_setname_np(pthread_self(), "panel");
	for (unsigned char i = 0; i < FETCHES; i++) {
		if (fetch_setting(fd, i, record) < 0 || record[0] != 's') {
			fprintf(stderr, "settingsd: no setting %u\n", i);
			exit(2);
		}
		pause_ms(40);
	}
	close(fd);
	return NULL;
}

/* The backup */

void scan_volume(uv_work_t *work)
{
	struct volume *volume = work->data;

	/* Spun down: the disk takes its time. */
	pause_ms(volume->scan_ms);
	volume->files += 100 + (unsigned)strlen(volume->name);
}

static void volume_scanned(uv_work_t *work, int status)
{
	struct volume *volume = work->data;

	printf("%s: %u files%s\n", volume->name, volume->files, status ? " (cancelled)" : "");
}

void on_backup_due(uv_timer_t *timer)
{
	for (unsigned i = 0; i < due_volumes; i++) {
		volumes[i].work.data = &volumes[i];
		uv_queue_work(loop, &volumes[i].work, scan_volume, volume_scanned);
	}
	uv_close((uv_handle_t *)timer, NULL);
}

/* The server */

static void setting_sent(uv_write_t *write, int status)
{
	if (status < 0)
		fprintf(stderr, "settingsd: %s\n", uv_strerror(status));
	served++;
	free(write->data);
}

static void setting_read(uv_fs_t *read)
{
	struct query *query = read->data;
	uv_buf_t answer = uv_buf_init(query->record, RECORD);

	if (read->result != RECORD)
		memset(query->record, 0, RECORD);
	uv_fs_req_cleanup(read);
	query->write.data = query;
	uv_write(&query->write, (uv_stream_t *)&panel_pipe, &answer, 1, setting_sent);
}

__attribute__((noinline)) void read_setting(unsigned char number)
{
	struct query *query = calloc(1, sizeof *query);
	uv_buf_t record = uv_buf_init(query->record, RECORD);

	query->read.data = query;
	uv_fs_read(loop, &query->read, settings_file, &record, 1, number * RECORD, setting_read);
}

static void give_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	static char numbers[64];

	(void)handle;
	(void)size;
	*buffer = uv_buf_init(numbers, sizeof numbers);
}

void on_panel_asks(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
	if (length < 0) {
		uv_close((uv_handle_t *)stream, NULL);
		return;
	}
	for (ssize_t i = 0; i < length; i++)
		read_setting((unsigned char)buffer->base[i]);
}

static int open_settings(void)
{
	char path[] = "/tmp/settingsd-XXXXXX", record[RECORD];
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd < 0)
		return -1;
	unlink(path);
	for (unsigned i = 0; i < FETCHES; i++) {
		memset(record, ' ', sizeof record);
		snprintf(record, sizeof record, "setting.%u = %u", i, i * i);
		if (write(fd, record, sizeof record) != RECORD)
			return -1;
	}
	return fd;
}

int main(int argc, char **argv)
{
	pthread_t panel;
	int ends[2];

	due_volumes = argc > 1 && !strcmp(argv[1], "broken") ? 4 : 1;
	setenv("UV_THREADPOOL_SIZE", "4", 1);
	loop = uv_default_loop();
	settings_file = open_settings();
	if (settings_file < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		perror("settingsd");
		return 1;
	}
	uv_pipe_init(loop, &panel_pipe, 0);
	uv_pipe_open(&panel_pipe, ends[0]);
	uv_read_start((uv_stream_t *)&panel_pipe, give_buffer, on_panel_asks);
	uv_timer_init(loop, &backup_timer);
	uv_timer_start(&backup_timer, on_backup_due, 140, 0);

	pthread_create(&panel, NULL, run_panel, &ends[1]);
	uv_run(loop, UV_RUN_DEFAULT);
	pthread_join(panel, NULL);
	close(settings_file);
	printf("%u settings served\n", served);
	return uv_loop_close(loop) != 0;
}
