/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: filter_text writes the whole text to the filter before it reads any of the filter's output. With a text that
 *     is longer than the two pipes hold, the filter is blocked writing its output, which only filter_text would
 *     read, and filter_text is blocked in write (write_all), as the filter doesn't read any more.
 *   culprit: write_all|filter_text|\btr\b
 *   victim: main\b|editor
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* An editor pipes documents through an external filter, as "!" does in vi. Meanwhile it saves a copy now and then. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct filter {
	pid_t pid;
	int in;  /* to the filter */
	int out; /* from the filter */
};

struct text {
	char *data;
	size_t size;
};

static bool together;
static atomic_bool quit;
extern char **environ;

static void filter_start(struct filter *filter)
{
	static char *argv[] = {"tr", "a-z", "A-Z", NULL};
	posix_spawn_file_actions_t actions;
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		abort();
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, to[0], 0);
	posix_spawn_file_actions_adddup2(&actions, from[1], 1);
	if (posix_spawnp(&filter->pid, argv[0], &actions, NULL, argv, environ))
		abort();
	posix_spawn_file_actions_destroy(&actions);
	close(to[0]);
	close(from[1]);
	filter->in = to[1];
	filter->out = from[0];
}

static void write_all(int fd, const char *data, size_t size)
{
	ssize_t n;

	while (size) {
		n = write(fd, data, size);
		if (n < 0)
			abort();
		data += n;
		size -= (size_t)n;
	}
}

static size_t read_all(int fd, char *data, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size && (n = read(fd, data + done, size - done)) > 0)
		done += (size_t)n;
	return done;
}

/* Does both at a time. Returns the number of bytes that were read. */
static size_t pump(struct filter *filter, const char *data, size_t size, char *result)
{
	size_t written = 0, got = 0;
	ssize_t n;

	fcntl(filter->in, F_SETFL, O_NONBLOCK);
	while (got < size) {
		struct pollfd fds[2] = {
			{.fd = filter->out, .events = POLLIN},
			{.fd = written < size ? filter->in : -1, .events = POLLOUT},
		};

		if (poll(fds, 2, -1) < 0)
			abort();
		if (fds[1].revents) {
			n = write(filter->in, data + written, size - written);
			if (n > 0)
				written += (size_t)n;
			if (written == size)
				close(filter->in);
		}
		if (fds[0].revents) {
			n = read(filter->out, result + got, size - got);
			if (n <= 0)
				break;
			got += (size_t)n;
		}
	}
	return got;
}

/* Replaces the text by what the filter makes of it. */
static void filter_text(struct text *text)
{
	struct filter filter;
	char *result = malloc(text->size);
	size_t got;
	int status;

	filter_start(&filter);
	if (together) {
		got = pump(&filter, text->data, text->size, result);
	} else {
		write_all(filter.in, text->data, text->size);
		close(filter.in);
		got = read_all(filter.out, result, text->size);
	}
	close(filter.out);
	waitpid(filter.pid, &status, 0);
	free(text->data);
	text->data = result;
	text->size = got;
}

static void *autosave(void *data)
{
	FILE *copy = tmpfile();

	pthread_setname_np(pthread_self(), "autosave");
	while (copy && !atomic_load(&quit)) {
		usleep(100000);
		rewind(copy);
		fputs("copy\n", copy);
		fflush(copy);
	}
	if (copy)
		fclose(copy);
	return data;
}

static void edit(const char *name, size_t size)
{
	struct text text = {malloc(size), size};

	memset(text.data, 'a', size);
	filter_text(&text);
	printf("%s: %zu bytes, begins with %c\n", name, text.size, text.size ? text.data[0] : '?');
	fflush(stdout);
	free(text.data);
}

int main(int argc, char **argv)
{
	pthread_t saver;

	together = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_create(&saver, NULL, autosave, NULL);
	edit("letter", 2000);
	edit("minutes", 9000);
	edit("article", 30000);
	edit("recipe", 1200);
	edit("book", 900000);
	atomic_store(&quit, true);
	pthread_join(saver, NULL);
	return 0;
}
