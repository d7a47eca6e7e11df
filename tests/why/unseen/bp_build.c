/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: is_stale compares the files' times in whole seconds. Sources that were edited within the second in which their objects
 *     were made count as up to date, so they are not compiled, and the old objects are linked.
 *   culprit: compile (lexer|parser|emit|symbols)|is_stale|compile_unit|check_unit
 *   victim: link|worker
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A small make: compiles what has changed on several threads, and links the objects. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <thrum.h>
#include <unistd.h>

#define UNITS 8
#define WORKERS 3

struct unit {
	const char *name;
	unsigned edited; /* ms after the object was made; 0: not edited */
	char source[96], object[96];
	thrum_task task;
	struct unit *next;
};

static struct unit units[UNITS] = {
	{.name = "main"},
	{.name = "lexer", .edited = 400},
	{.name = "parser", .edited = 550},
	{.name = "emit", .edited = 300},
	{.name = "symbols", .edited = 620},
	{.name = "errors", .edited = 95000},
	{.name = "strings"},
	{.name = "options", .edited = 60000},
};
static char directory[] = "/tmp/build-XXXXXX";
static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;
static struct unit *queue;
static unsigned unfinished;
static bool closing;
static bool exact;

static void store(const char *path, const char *text, long ms)
{
	struct timespec times[2] = {
		{.tv_sec = 1700000000 + ms / 1000, .tv_nsec = ms % 1000 * 1000000}};
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	times[1] = times[0];
	if (fd < 0 || write(fd, text, strlen(text)) < 0 || futimens(fd, times)) {
		perror(path);
		exit(1);
	}
	close(fd);
}

static char version(const char *path)
{
	char text[16] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0) {
		perror(path);
		exit(1);
	}
	close(fd);
	return text[strlen("version ")];
}

static bool is_stale(const struct unit *unit)
{
	struct stat source, object;

	if (stat(unit->source, &source))
		return false;
	if (stat(unit->object, &object))
		return true;
	if (exact && source.st_mtim.tv_sec == object.st_mtim.tv_sec)
		return source.st_mtim.tv_nsec > object.st_mtim.tv_nsec;
	return source.st_mtim.tv_sec > object.st_mtim.tv_sec;
}

static void compile_unit(struct unit *unit)
{
	char text[16];
	thrum_task compile = thrum_task_createf(THRUM_KIND_TASK, "compile %s.c", unit->name);

	thrum_task_wait(unit->task, compile);
	THRUM_RUN (compile) {
		snprintf(text, sizeof(text), "version %c", version(unit->source));
		thrum_suspend(THRUM_BLOCKED_OUTSIDE);
		usleep(8000); /* the compiler */
		thrum_resume();
		store(unit->object, text, 200000);
		printf("compiled %s\n", unit->name);
	}
	thrum_task_resolve(compile);
	thrum_task_read(unit->task, compile);
}

static void check_unit(struct unit *unit)
{
	THRUM_RUN (unit->task) {
		if (is_stale(unit))
			compile_unit(unit);
		else
			thrum_log("up to date");
	}
	thrum_task_resolve(unit->task);
}

static void *worker(void *data)
{
	char name[16];

	snprintf(name, sizeof(name), "worker %u", (unsigned)(size_t)data);
	thrum_lane_name(name);
	pthread_mutex_lock(&queue_mutex);
	for (;;) {
		struct unit *unit;

		while (!queue && !closing) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&queue_changed, &queue_mutex);
			thrum_resume();
		}
		if (!queue)
			break;
		unit = queue;
		queue = unit->next;
		pthread_mutex_unlock(&queue_mutex);
		check_unit(unit);
		pthread_mutex_lock(&queue_mutex);
		if (--unfinished == 0)
			pthread_cond_broadcast(&queue_changed);
	}
	pthread_mutex_unlock(&queue_mutex);
	return NULL;
}

static void prepare(void)
{
	if (!mkdtemp(directory))
		exit(1);
	for (unsigned i = 0; i < UNITS; i++) {
		struct unit *unit = &units[i];

		snprintf(unit->source, sizeof(unit->source), "%s/%s.c", directory, unit->name);
		snprintf(unit->object, sizeof(unit->object), "%s/%s.o", directory, unit->name);
		store(unit->object, "version 1", 200);
		store(unit->source, unit->edited ? "version 2" : "version 1",
			unit->edited ? 200 + unit->edited : 0);
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[WORKERS];
	thrum_task all, link;
	unsigned old = 0;

	if (argc < 2)
		return 2;
	exact = strcmp(argv[1], "broken") != 0;
	prepare();
	thrum_start(NULL);
	all = thrum_task_create(THRUM_KIND_JOIN, "objects");
	thrum_task_should_resolve(all);
	pthread_mutex_lock(&queue_mutex);
	for (unsigned i = 0; i < UNITS; i++) {
		units[i].task = thrum_task_createf(THRUM_KIND_TASK, "object %s", units[i].name);
		thrum_task_wait(all, units[i].task);
		units[i].next = queue;
		queue = &units[i];
		unfinished++;
	}
	pthread_mutex_unlock(&queue_mutex);
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, (void *)(size_t)(i + 1));
	pthread_mutex_lock(&queue_mutex);
	thrum_task_wait(thrum_task_current(), all);
	while (unfinished) {
		thrum_suspend(THRUM_BLOCKED);
		pthread_cond_wait(&queue_changed, &queue_mutex);
		thrum_resume();
	}
	thrum_task_resolve(all);
	thrum_task_read(thrum_task_current(), all);
	closing = true;
	pthread_cond_broadcast(&queue_changed);
	pthread_mutex_unlock(&queue_mutex);
	link = thrum_task_create(THRUM_KIND_TASK, "link");
	THRUM_RUN (link) {
		for (unsigned i = 0; i < UNITS; i++)
			old += version(units[i].object) != version(units[i].source);
	}
	thrum_task_resolve(link);
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	thrum_stop();
	for (unsigned i = 0; i < UNITS; i++) {
		unlink(units[i].source);
		unlink(units[i].object);
	}
	rmdir(directory);
	printf("linked, %u objects are older than their sources\n", old);
	return 0;
}
