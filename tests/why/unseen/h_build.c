/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The compile jobs cc-zlib and cc-utf8 find their object in the cache and return from use_cached without writing their token back to the jobserver's pipe. Both of the two tokens are lost, so the other jobs and the link wait in read for a token for ever; the two culprits have long ended.
 *   culprit: cc-zlib|cc-utf8|use_cached
 *   victim: cc-|main|link
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A build with a jobserver: a pipe that holds as many bytes as jobs may run at a time. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOTS 2

struct job {
	const char *name;
	unsigned cost_ms;
	bool cached;
	pthread_t thread;
};

/* Generators first; all else includes what they write. */
static struct job generators[] = {
	{"gen-version", 15, false},
	{"gen-tables", 25, false},
	{"gen-parser", 20, false},
	{"gen-opcodes", 20, false},
	{"gen-errors", 15, false},
};
static struct job compiles[] = {
	{"cc-main", 12, false},
	{"cc-zlib", 20, true},
	{"cc-lexer", 15, false},
	{"cc-parser", 18, false},
	{"cc-utf8", 10, true},
	{"cc-opcodes", 9, false},
	{"cc-regex", 14, false},
	{"cc-jit", 16, false},
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int jobserver[2];
static bool keep_slot;
static pthread_mutex_t output_mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned finished;

static char token_take(void)
{
	char token;

	while (read(jobserver[0], &token, 1) != 1)
		if (errno != EINTR)
			abort();
	return token;
}

static void token_return(char token)
{
	while (write(jobserver[1], &token, 1) != 1)
		if (errno != EINTR)
			abort();
}

static void print_line(const char *verb, const char *name)
{
	pthread_mutex_lock(&output_mutex);
	printf("[%2u] %s %s\n", ++finished, verb, name);
	fflush(stdout);
	pthread_mutex_unlock(&output_mutex);
}

static void use_cached(struct job *job)
{
	usleep(500);
	print_line("CACHED", job->name);
}

static void compile(struct job *job)
{
	usleep(job->cost_ms * 1000);
	print_line("CC", job->name);
}

static void *job_run(void *data)
{
	struct job *job = data;
	char token;

	pthread_setname_np(pthread_self(), job->name);
	token = token_take();
	if (job->cached) {
		use_cached(job);
		if (keep_slot)
			return NULL;
	} else {
		compile(job);
	}
	token_return(token);
	return NULL;
}

static void start_all(struct job *jobs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (pthread_create(&jobs[i].thread, NULL, job_run, &jobs[i]))
			abort();
}

static void wait_all(struct job *jobs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pthread_join(jobs[i].thread, NULL);
}

static void link_program(void)
{
	char token = token_take();

	usleep(20000);
	print_line("LINK", "interpreter");
	token_return(token);
}

int main(int argc, char **argv)
{
	if (argc != 2 || pipe(jobserver))
		return 2;
	alarm(5);
	keep_slot = !strcmp(argv[1], "broken");
	start_all(generators, COUNT(generators));
	for (int i = 0; i < SLOTS; i++)
		token_return('+');
	wait_all(generators, COUNT(generators));
	start_all(compiles, COUNT(compiles));
	wait_all(compiles, COUNT(compiles));
	link_program();
	return 0;
}
