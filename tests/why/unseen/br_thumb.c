/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: collect reads the converter's output up to its end before it reads its messages. The converter writes more
 *     warnings than a pipe holds, and blocks in that; so it never ends its output.
 *   culprit: collect|warn_about|messages|convert
 *   victim: progress|thumbnail
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Makes thumbnails of photographs. A converter in a process of its own makes each, as the libraries may crash. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PICTURES 6

struct converter {
	pid_t pid;
	int image, messages; /* pipes from the converter */
	size_t image_size, messages_size;
};

static bool fixed;
static bool done;
static unsigned finished;

static void *progress(void *data)
{
	(void)data;
	while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
		fprintf(stderr, "%u of %d\n", __atomic_load_n(&finished, __ATOMIC_RELAXED),
			PICTURES);
		usleep(100000);
	}
	return NULL;
}

static void write_all(int file, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t count = write(file, bytes, size);

		if (count < 0 && errno != EINTR)
			_exit(1);
		if (count > 0) {
			bytes += count;
			size -= (size_t)count;
		}
	}
}

static void warn_about(int messages, int picture, int row)
{
	char text[96];
	int size = snprintf(text, sizeof(text),
		"img_%04d.jpg: row %d: unknown marker 0xe%x, skipped %d bytes\n", picture, row,
		row % 16, row * 3);

	write_all(messages, text, (size_t)size);
}

/* The converter process. Picture 3 comes from a strange camera. */
static void convert(int picture, int image, int messages)
{
	static char row[128];
	int rows = 400;

	for (int i = 0; i < rows; i++) {
		int warnings = picture == 3 ? 8 : i % 100 == 0;

		memset(row, i + picture, sizeof(row));
		while (warnings-- > 0)
			warn_about(messages, picture, i);
		write_all(image, row, sizeof(row));
	}
	_exit(0);
}

static void start_converter(struct converter *converter, int picture)
{
	int image[2], messages[2];

	memset(converter, 0, sizeof(*converter));
	if (pipe(image) || pipe(messages)) {
		perror("pipe");
		exit(1);
	}
	converter->pid = fork();
	if (converter->pid == 0) {
		close(image[0]);
		close(messages[0]);
		convert(picture, image[1], messages[1]);
	}
	close(image[1]);
	close(messages[1]);
	converter->image = image[0];
	converter->messages = messages[0];
}

static bool read_some(int *file, size_t *sum)
{
	char buffer[4096];
	ssize_t count = read(*file, buffer, sizeof(buffer));

	if (count > 0) {
		*sum += (size_t)count;
		return true;
	}
	close(*file);
	*file = -1;
	return false;
}

static void collect(struct converter *converter)
{
	while (read_some(&converter->image, &converter->image_size))
		continue;
	while (read_some(&converter->messages, &converter->messages_size))
		continue;
}

static void collect_polled(struct converter *converter)
{
	while (converter->image >= 0 || converter->messages >= 0) {
		struct pollfd watched[2] = {{converter->image, POLLIN, 0},
			{converter->messages, POLLIN, 0}};

		if (poll(watched, 2, -1) < 0)
			continue;
		if (watched[0].revents)
			read_some(&converter->image, &converter->image_size);
		if (watched[1].revents)
			read_some(&converter->messages, &converter->messages_size);
	}
}

static void thumbnail(int picture)
{
	struct converter converter;
	int status;

	start_converter(&converter, picture);
	if (fixed)
		collect_polled(&converter);
	else
		collect(&converter);
	waitpid(converter.pid, &status, 0);
	printf("picture %d: %zu bytes, %zu of messages\n", picture, converter.image_size,
		converter.messages_size);
	fflush(stdout);
	__atomic_add_fetch(&finished, 1, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	pthread_t ticker;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_create(&ticker, NULL, progress, NULL);
	for (int i = 0; i < PICTURES; i++)
		thumbnail(i);
	__atomic_store_n(&done, true, __ATOMIC_RELAXED);
	pthread_join(ticker, NULL);
	return 0;
}
