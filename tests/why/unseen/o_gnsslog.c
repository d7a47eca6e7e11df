/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: When the hour changes, rtksvr swaps the trace file inside write_trace and holds trace_lock; expand_path, which makes the new name, traces a line itself at level 4 and locks the same plain mutex again: rtksvr waits for itself.
 *   culprit: rtksvr|solve_epochs|swap_trace_file|expand_path
 *   victim: monitor|print_status
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * A receiver for satellite navigation. It solves an epoch each few milliseconds and writes a trace of its work
 * into a file, one for each hour.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	EPOCHS = 60,
	EPOCHS_AN_HOUR = 20
};

static pthread_mutex_t trace_lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *trace_file;
static int trace_level, trace_hour, epoch_now;
static bool broken;
static volatile bool solved;

static void write_trace(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Makes the name of a trace file of the template's %h. */
static void expand_path(const char *template, int hour, char *path, size_t size)
{
	const char *mark = strstr(template, "%h");

	/* The older version of this function said so, too, before it was called under the lock. */
	if (broken)
		write_trace(4, "expand_path: template=%s hour=%d", template, hour);
	if (mark)
		snprintf(path, size, "%.*s%02d%s", (int)(mark - template), template, hour,
			mark + 2);
	else
		snprintf(path, size, "%s", template);
}

/* Opens the file of the new hour. The caller holds the lock. */
static void swap_trace_file(int hour)
{
	char path[128];

	trace_hour = hour;
	expand_path("rtk_%h.trace", hour, path, sizeof path);
	if (trace_file)
		fclose(trace_file);
	trace_file = tmpfile();
	if (trace_file)
		fprintf(trace_file, "# %s\n", path);
}

static void write_trace(int level, const char *format, ...)
{
	va_list arguments;

	if (level > trace_level)
		return;
	pthread_mutex_lock(&trace_lock);
	if (epoch_now / EPOCHS_AN_HOUR != trace_hour)
		swap_trace_file(epoch_now / EPOCHS_AN_HOUR);
	if (trace_file) {
		va_start(arguments, format);
		fprintf(trace_file, "%d ", level);
		vfprintf(trace_file, format, arguments);
		fputc('\n', trace_file);
		va_end(arguments);
	}
	pthread_mutex_unlock(&trace_lock);
}

static double solve(int epoch)
{
	double position = 6371000.0;

	for (int i = 1; i < 2000; i++)
		position += (epoch % 7 - 3) / (double)i;
	usleep(2000);
	return position;
}

static void *solve_epochs(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "rtksvr");
	for (int epoch = 0; epoch < EPOCHS; epoch++) {
		double position = solve(epoch);

		pthread_mutex_lock(&trace_lock);
		epoch_now = epoch;
		pthread_mutex_unlock(&trace_lock);
		write_trace(3, "epoch %d position=%.3f", epoch, position);
	}
	solved = true;
	return NULL;
}

static void *print_status(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "monitor");
	while (!solved) {
		usleep(15000);
		/* A status line never swaps the file. */
		pthread_mutex_lock(&trace_lock);
		if (trace_file)
			fprintf(trace_file, "2 status: epoch %d\n", epoch_now);
		pthread_mutex_unlock(&trace_lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t server, monitor;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	trace_level = 4;
	trace_file = tmpfile();
	pthread_create(&server, NULL, solve_epochs, NULL);
	pthread_create(&monitor, NULL, print_status, NULL);
	pthread_join(server, NULL);
	pthread_join(monitor, NULL);
	puts("all epochs solved");
	return 0;
}
