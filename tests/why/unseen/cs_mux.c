/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: Each chunk under way takes a credit of the connection's window, and its acknowledgement gives
 *     that back. The user cancels downloads 2 and 4. The acknowledgements of their chunks come later, and
 *     on_ack returns before it gives the credit back, as it finds no such download. After two cancellations
 *     no credit is left, and all others wait.
 *   culprit: download [24]\b|on_ack|cancel_download
 *   victim: download [5-8]|request_chunk|window
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A download manager: several downloads share a connection, whose window limits what is under way. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	DOWNLOADS = 8,
	CHUNKS = 5,
	CREDITS = 4,
	DEPTH = 2
};

struct download {
	thrum_task task;
	bool open;
	int number, asked, got, in_flight;
	bool stalled;
};

struct event {
	struct event *next;
	int64_t due;
	void (*run)(int number);
	int number;
};

static struct download downloads[DOWNLOADS + 1];
static struct event *events;
static thrum_task window;
static int credits = CREDITS, ended;
static bool broken;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

static void after(int ms, void (*run)(int number), int number)
{
	struct event **at = &events, *event = malloc(sizeof *event);

	*event = (struct event){.due = now() + ms, .run = run, .number = number};
	while (*at && (*at)->due <= event->due)
		at = &(*at)->next;
	event->next = *at;
	*at = event;
}

static struct download *find(int number)
{
	return downloads[number].open ? &downloads[number] : NULL;
}

/* ---- The connection ------------------------------------------------------------------------- */

static void on_ack(int number);

/* Asks for a chunk more if the window allows it. */
static bool request_chunk(struct download *download)
{
	if (!credits) {
		if (!download->stalled)
			thrum_task_wait(download->task, window);
		download->stalled = true;
		return false;
	}
	credits--;
	thrum_lock_acquired(window);
	download->stalled = false;
	download->asked++;
	download->in_flight++;
	after(25, on_ack, download->number);
	return true;
}

static void fill(struct download *download)
{
	THRUM_RUN (download->task)
		while (download->asked < CHUNKS && download->in_flight < DEPTH &&
			request_chunk(download))
			continue;
}

/* There is a credit again: goes on with those that stand still, the oldest first. */
static void serve_stalled(void)
{
	for (int i = 1; i <= DOWNLOADS && credits; i++)
		if (downloads[i].open && downloads[i].stalled)
			fill(&downloads[i]);
}

static void finish(struct download *download)
{
	download->open = false;
	ended++;
	thrum_task_resolve(download->task);
}

static void give_back(struct download *download)
{
	credits++;
	THRUM_RUN (download->task)
		thrum_lock_released(window);
}

/* A chunk has come. */
static void on_ack(int number)
{
	struct download *download = find(number);

	if (!download && broken)
		return;
	give_back(&downloads[number]);
	if (download) {
		download->in_flight--;
		THRUM_RUN (download->task)
			if (++download->got == CHUNKS)
				finish(download);
		if (download->open)
			fill(download);
	}
	serve_stalled();
}

/* ---- The user ------------------------------------------------------------------------------- */

static void begin_download(int number)
{
	struct download *download = &downloads[number];

	download->number = number;
	download->open = true;
	download->task = thrum_task_createf(THRUM_KIND_TASK, "download %d", number);
	thrum_task_should_resolve(download->task);
	fill(download);
}

static void cancel_download(int number)
{
	struct download *download = find(number);

	if (!download)
		return;
	download->open = false;
	ended++;
	thrum_task_cancel(download->task);
}

static void begin_and_regret(int number)
{
	begin_download(number);
	after(8, cancel_download, number);
}

static void show_progress(int number)
{
	int chunks = 0;

	for (int i = 1; i <= DOWNLOADS; i++)
		chunks += downloads[i].got;
	printf("\r%d chunks", chunks);
	fflush(stdout);
	after(100, show_progress, number);
}

static void run_next(void)
{
	struct event *event = events;

	if (event->due > now()) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep((event->due - now()) * 1000);
		thrum_resume();
		return;
	}
	events = event->next;
	event->run(event->number);
	free(event);
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	window = thrum_task_create(THRUM_KIND_SEMAPHORE, "window");
	for (int i = 1; i <= DOWNLOADS; i++)
		after(i * 200, i == 2 || i == 4 ? begin_and_regret : begin_download, i);
	show_progress(0);
	while (ended < DOWNLOADS)
		run_next();
	thrum_stop();
	printf("\nall done, %d credits\n", credits);
	return 0;
}
