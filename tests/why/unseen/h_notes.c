/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 1500
 *   ask: why
 *   truth: The cursor's timer on_blink marks the document as touched every 25 ms, and document_touched starts the autosave timer (80 ms, on_autosave) anew each time. So the autosave never comes due although the editor is busy and healthy otherwise, and the thread publisher waits for a save for ever.
 *   culprit: on_blink|document_touched
 *   victim: publisher|on_autosave
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A note editor: saves when nothing has been typed for a while, and publishes what was saved. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define QUIET_MS 80
#define KEYS 12

static uv_loop_t *loop;
static uv_timer_t typing, blink, autosave;
static uv_async_t published;
static uv_work_t spelling;
static uv_fs_t writing;
static bool spelling_busy, stopping;

static char text[256];
static size_t length;
static int keys, blinks, checks;
static bool redraw_counts; /* drawing the cursor changes the document's state */
static int file;

static pthread_mutex_t saved_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t saved_changed = PTHREAD_COND_INITIALIZER;
static size_t saved_length;

static void on_written(uv_fs_t *request)
{
	ssize_t result = request->result;

	uv_fs_req_cleanup(request);
	if (result < 0)
		return;
	pthread_mutex_lock(&saved_mutex);
	saved_length = result;
	pthread_cond_broadcast(&saved_changed);
	pthread_mutex_unlock(&saved_mutex);
}

static void on_autosave(uv_timer_t *timer)
{
	uv_buf_t buffer = uv_buf_init(text, length);

	uv_fs_write(loop, &writing, file, &buffer, 1, 0, on_written);
}

static void document_touched(void)
{
	uv_timer_start(&autosave, on_autosave, QUIET_MS, 0);
}

static void spell_check(uv_work_t *work)
{
	volatile unsigned sum = 0;

	for (int i = 0; i < 100000; i++)
		sum += text[i % sizeof(text)];
}

static void on_spelled(uv_work_t *work, int status)
{
	spelling_busy = false;
	checks++;
}

static void on_key(uv_timer_t *timer)
{
	text[length++] = 'a' + keys % 26;
	document_touched();
	if (!spelling_busy) {
		spelling_busy = true;
		uv_queue_work(loop, &spelling, spell_check, on_spelled);
	}
	if (++keys == KEYS)
		uv_timer_stop(timer);
}

static void draw_cursor(bool visible)
{
	if (redraw_counts && length > 0)
		document_touched();
}

static void on_blink(uv_timer_t *timer)
{
	draw_cursor(blinks++ % 2);
}

/* Sends each note once it is complete on the disk. */
static void *publisher_run(void *data)
{
	pthread_setname_np(pthread_self(), "publisher");
	pthread_mutex_lock(&saved_mutex);
	while (saved_length < KEYS)
		pthread_cond_wait(&saved_changed, &saved_mutex);
	pthread_mutex_unlock(&saved_mutex);
	usleep(5000);
	uv_async_send(&published);
	return NULL;
}

static void on_published(uv_async_t *async)
{
	stopping = true;
	uv_close((uv_handle_t *)&typing, NULL);
	uv_close((uv_handle_t *)&blink, NULL);
	uv_close((uv_handle_t *)&autosave, NULL);
	uv_close((uv_handle_t *)async, NULL);
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/notes-XXXXXX";
	pthread_t publisher;

	if (argc != 2)
		return 2;
	alarm(5);
	redraw_counts = !strcmp(argv[1], "broken");
	file = mkstemp(path);
	if (file < 0)
		return 1;
	unlink(path);
	loop = uv_default_loop();
	uv_timer_init(loop, &typing);
	uv_timer_init(loop, &blink);
	uv_timer_init(loop, &autosave);
	uv_async_init(loop, &published, on_published);
	uv_timer_start(&typing, on_key, 10, 15);
	uv_timer_start(&blink, on_blink, 25, 25);
	pthread_create(&publisher, NULL, publisher_run, NULL);
	uv_run(loop, UV_RUN_DEFAULT);
	pthread_join(publisher, NULL);
	uv_loop_close(loop);
	printf("%d keys, %d blinks, %d checks, %zu bytes saved\n", keys, blinks, checks,
		saved_length);
	return 0;
}
