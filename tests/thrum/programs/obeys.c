/* SPDX-License-Identifier: ISC */
/*
 * Records what it is told to on standard input, line by line, and answers each line with the time:
 * CLOCK_MONOTONIC in ns, read before it obeys.
 *
 *   task N LABEL    creates N tasks       resolve      resolves all
 *   gauge PATH N    sets a counter        add PATH N   adds to a counter
 *   observe PATH N [TIMES]                observes a value of a distribution
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define TASKS_MAX 100000

static thrum_task tasks[TASKS_MAX];
static unsigned task_count;

static void obey(const char *line)
{
	char path[200] = "";
	long number = 0, times = 1;

	if (sscanf(line, "task %ld %199[^\n]", &number, path) == 2) {
		for (long i = 0; i < number && task_count < TASKS_MAX; i++)
			tasks[task_count++] = thrum_task_create(THRUM_KIND_REQUEST, path);
	} else if (strncmp(line, "resolve", 7) == 0) {
		while (task_count > 0)
			thrum_task_resolve(tasks[--task_count]);
	} else if (sscanf(line, "gauge %199s %ld", path, &number) == 2) {
		thrum_counter_set(thrum_counter_create(path, THRUM_COUNTER_GAUGE), number);
	} else if (sscanf(line, "add %199s %ld", path, &number) == 2) {
		thrum_counter_add(thrum_counter_create(path, THRUM_COUNTER_CUMULATIVE), number);
	} else if (sscanf(line, "observe %199s %ld %ld", path, &number, &times) >= 2) {
		while (times-- > 0)
			thrum_counter_observe(thrum_counter_create(path,
						      THRUM_COUNTER_DISTRIBUTION),
				number);
	} else {
		fprintf(stderr, "obeys: can't %s", line);
		exit(1);
	}
}

int main(void)
{
	char line[500];
	struct timespec now;

	if (thrum_start(NULL) != 0)
		return 1;
	thrum_lane_name("main loop");
	while (fgets(line, sizeof line, stdin)) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		obey(line);
		printf("%" PRId64 "\n",
			(int64_t)now.tv_sec * INT64_C(1000000000) + (int64_t)now.tv_nsec);
		fflush(stdout);
	}
	return 0;
}
