/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The rename in rotate_journal fails, and on_renamed returns without going on to write.
 *   culprit: on_renamed|rotate_journal|h2/journal
 *   victim: feed_lines|on_lines|writing end|pipe
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Collects lines of several feeders in a journal. Full journals move to the folder of the hour. */

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

enum {
	FEEDERS = 2,
	LINES = 2000,
	LINE = 200,
	FULL = 160 * 1024,
	BACKLOG = 64 * 1024
};

static struct {
	uv_file file;
	char folder[64], path[96], target[96];
	int hour;
	size_t size;
	bool busy; /* a request of the chain runs */
	char backlog[2 * BACKLOG + 65536], chunk[2 * BACKLOG + 65536];
	size_t backlog_used, chunk_used, lines_bytes;
	uv_fs_t request;
} journal;

static uv_pipe_t feeds[FEEDERS];
static uv_timer_t stats;
static int open_feeds = FEEDERS;
static bool keeps_journal;

static void write_backlog(void);
static void on_lines(uv_stream_t *feed, ssize_t got, const uv_buf_t *buffer);

static void give_buffer(uv_handle_t *feed, size_t size, uv_buf_t *buffer)
{
	static char lines[FEEDERS][16384];

	(void)size;
	*buffer = uv_buf_init(lines[(uv_pipe_t *)feed - feeds], sizeof lines[0]);
}

static void resume_feeds(void)
{
	for (int i = 0; i < FEEDERS; i++)
		if (!uv_is_closing((uv_handle_t *)&feeds[i]))
			uv_read_start((uv_stream_t *)&feeds[i], give_buffer, on_lines);
}

static void on_opened(uv_fs_t *request)
{
	journal.file = request->result;
	journal.size = 0;
	journal.busy = false;
	uv_fs_req_cleanup(request);
	write_backlog();
}

static void on_closed(uv_fs_t *request)
{
	uv_fs_req_cleanup(request);
	uv_fs_open(uv_default_loop(), request, journal.path, O_WRONLY | O_CREAT | O_APPEND, 0644,
		on_opened);
}

static void on_renamed(uv_fs_t *request)
{
	ssize_t result = request->result;

	uv_fs_req_cleanup(request);
	if (result < 0) {
		fprintf(stderr, "%s stays here: %s\n", journal.path, uv_strerror(result));
		if (keeps_journal) {
			journal.size = 0; /* one more hour in the same file */
			journal.busy = false;
			write_backlog();
		}
		return;
	}
	uv_fs_close(uv_default_loop(), request, journal.file, on_closed);
}

static void rotate_journal(void)
{
	journal.busy = true;
	snprintf(journal.target, sizeof journal.target, "%s/h%d/journal", journal.folder,
		++journal.hour);
	uv_fs_rename(uv_default_loop(), &journal.request, journal.path, journal.target, on_renamed);
}

static void on_written(uv_fs_t *request)
{
	journal.size += journal.chunk_used;
	journal.lines_bytes += journal.chunk_used;
	journal.busy = false;
	uv_fs_req_cleanup(request);
	if (journal.size >= FULL)
		rotate_journal();
	else
		write_backlog();
}

static void write_backlog(void)
{
	uv_buf_t buffer;

	if (journal.busy)
		return;
	if (journal.backlog_used == 0) {
		if (open_feeds == 0)
			uv_close((uv_handle_t *)&stats, NULL);
		return;
	}
	journal.busy = true;
	memcpy(journal.chunk, journal.backlog, journal.backlog_used);
	journal.chunk_used = journal.backlog_used;
	journal.backlog_used = 0;
	buffer = uv_buf_init(journal.chunk, journal.chunk_used);
	uv_fs_write(uv_default_loop(), &journal.request, journal.file, &buffer, 1, -1, on_written);
	resume_feeds();
}

static void on_lines(uv_stream_t *feed, ssize_t got, const uv_buf_t *buffer)
{
	if (got < 0) {
		open_feeds--;
		uv_close((uv_handle_t *)feed, NULL);
	} else {
		memcpy(journal.backlog + journal.backlog_used, buffer->base, got);
		journal.backlog_used += got;
		if (journal.backlog_used > BACKLOG)
			uv_read_stop(feed);
	}
	write_backlog();
}

static void *feed_lines(void *data)
{
	char line[LINE + 1];

	for (int i = 0; i < LINES; i++) {
		snprintf(line, sizeof line, "%-*d\n", LINE - 1, i);
		if (write(*(int *)data, line, LINE) != LINE)
			break;
		if (i % 100 == 0)
			usleep(6000);
	}
	close(*(int *)data);
	return NULL;
}

static void print_stats(uv_timer_t *timer)
{
	(void)timer;
	fprintf(stderr, "%zu bytes\n", journal.lines_bytes);
}

int main(int argc, char **argv)
{
	pthread_t feeders[FEEDERS];
	int ends[FEEDERS][2];

	keeps_journal = !(argc > 1 && strcmp(argv[1], "broken") == 0);
	strcpy(journal.folder, "/tmp/pp_journal.XXXXXX");
	if (!mkdtemp(journal.folder))
		return 1;
	snprintf(journal.target, sizeof journal.target, "%s/h1", journal.folder);
	mkdir(journal.target, 0755); /* cron makes the folder of the next hour, usually */
	snprintf(journal.path, sizeof journal.path, "%s/journal", journal.folder);
	journal.file = open(journal.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	uv_timer_init(uv_default_loop(), &stats);
	uv_timer_start(&stats, print_stats, 100, 100);
	for (int i = 0; i < FEEDERS; i++) {
		if (pipe2(ends[i], O_CLOEXEC))
			return 1;
		uv_pipe_init(uv_default_loop(), &feeds[i], 0);
		uv_pipe_open(&feeds[i], ends[i][0]);
	}
	resume_feeds();
	for (int i = 0; i < FEEDERS; i++)
		pthread_create(&feeders[i], NULL, feed_lines, &ends[i][1]);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	for (int i = 0; i < FEEDERS; i++)
		pthread_join(feeders[i], NULL);
	printf("%zu bytes\n", journal.lines_bytes);
	return journal.lines_bytes != FEEDERS * LINES * LINE;
}
