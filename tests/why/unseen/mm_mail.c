/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_parsed takes one message for each call, but libuv makes one call of several uv_async_send.
 *   culprit: on_parsed
 *   victim: parse_mailbox|wait_until_stored|stored_changed
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Indexes a mailbox. A thread parses the messages, and the loop writes a line for each into the index. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum {
	FOLDERS = 5,
	MESSAGES = 8,
	PREVIEWS = 6
};

struct message {
	struct message *next;
	uv_fs_t write;
	uv_buf_t buffer;
	char line[96];
};

static bool take_all;
static uv_loop_t *loop;
static uv_async_t parsed, finished;
static uv_timer_t progress, autosave;
static uv_work_t previews[PREVIEWS];
static uv_file index_file;
static char index_path[] = "/tmp/mail-index-XXXXXX";

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stored_changed = PTHREAD_COND_INITIALIZER;
static struct message *first, **last = &first;
static int handed_over, stored;

static void hand_over(struct message *message)
{
	pthread_mutex_lock(&mutex);
	*last = message;
	last = &message->next;
	handed_over++;
	pthread_mutex_unlock(&mutex);
	uv_async_send(&parsed);
}

static void wait_until_stored(void)
{
	pthread_mutex_lock(&mutex);
	while (stored < handed_over)
		pthread_cond_wait(&stored_changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

/* A folder is only left when all its messages are in the index. */
static void *parse_mailbox(void *unused)
{
	(void)unused;
	for (int folder = 0; folder < FOLDERS; folder++) {
		usleep(3000);
		for (int i = 0; i < MESSAGES; i++) {
			struct message *message = calloc(1, sizeof(*message));

			if (!message)
				abort();
			snprintf(message->line, sizeof(message->line),
				"folder %d message %d from user%d\n", folder, i, i * 7 % 5);
			hand_over(message);
		}
		wait_until_stored();
	}
	uv_async_send(&finished);
	return NULL;
}

static struct message *next_message(void)
{
	struct message *message;

	pthread_mutex_lock(&mutex);
	message = first;
	if (message) {
		first = message->next;
		if (!first)
			last = &first;
	}
	pthread_mutex_unlock(&mutex);
	return message;
}

static void on_written(uv_fs_t *request)
{
	struct message *message = request->data;

	if (request->result < 0)
		abort();
	uv_fs_req_cleanup(request);
	free(message);
	pthread_mutex_lock(&mutex);
	stored++;
	pthread_cond_signal(&stored_changed);
	pthread_mutex_unlock(&mutex);
}

/* Finds the words of a message, and starts to write its line. */
static void store(struct message *message)
{
	unsigned long words = 0;

	for (unsigned i = 0; i < 400000; i++)
		words = words * 33 + message->line[i % 16];
	message->line[0] = words % 2 ? 'f' : 'F';
	message->buffer = uv_buf_init(message->line, strlen(message->line));
	message->write.data = message;
	uv_fs_write(loop, &message->write, index_file, &message->buffer, 1, -1, on_written);
}

static void on_parsed(uv_async_t *async)
{
	struct message *message;

	(void)async;
	while ((message = next_message())) {
		store(message);
		if (!take_all)
			break; /* the bug */
	}
}

static void on_finished(uv_async_t *async)
{
	uv_close((uv_handle_t *)async, NULL);
	uv_close((uv_handle_t *)&parsed, NULL);
	uv_close((uv_handle_t *)&progress, NULL);
	uv_close((uv_handle_t *)&autosave, NULL);
}

static void on_progress(uv_timer_t *timer)
{
	(void)timer;
	printf("%d messages\n", stored);
}

static void make_preview(uv_work_t *work)
{
	usleep(2000 + 500 * (work - previews));
}

static void on_preview(uv_work_t *work, int status)
{
	if (status)
		printf("preview %d: %s\n", (int)(work - previews), uv_strerror(status));
}

int main(int argc, char **argv)
{
	pthread_t parser;

	take_all = argc > 1 && !strcmp(argv[1], "healthy");
	index_file = mkstemp(index_path);
	if (index_file < 0)
		return 1;
	unlink(index_path);
	loop = uv_default_loop();
	uv_async_init(loop, &parsed, on_parsed);
	uv_async_init(loop, &finished, on_finished);
	uv_timer_init(loop, &progress);
	uv_timer_start(&progress, on_progress, 10, 10);
	uv_timer_init(loop, &autosave);
	uv_timer_start(&autosave, on_progress, 60000, 0);
	for (int i = 0; i < PREVIEWS; i++)
		uv_queue_work(loop, &previews[i], make_preview, on_preview);
	if (pthread_create(&parser, NULL, parse_mailbox, NULL))
		return 1;
	uv_run(loop, UV_RUN_DEFAULT);
	pthread_join(parser, NULL);
	close(index_file);
	uv_loop_close(loop);
	printf("%d of %d messages in the index\n", stored, handed_over);
	return stored == FOLDERS * MESSAGES ? 0 : 1;
}
