/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: answer_list in the filter process writes its packet to a buffered FILE and returns without fflush
 *          when no blob is ready. The packet stays in the filter, so checkout and filter wait for each other.
 *   culprit: (answer_list|unflushed|fflush)
 *   victim: (read_packet|check_out|serve_filter)
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * A version control system checks out files. A long-running filter process brings large files: it may delay a
 * file, and is asked later which of the delayed ones are available.
 */
#define FILES 24
#define DELAYED 6

static bool healthy;

/* ---- The filter ---- */

struct store {
	FILE *out;
	int delayed[FILES], count;
	int lists;
};

static void put_packet(FILE *out, const char *text)
{
	if (*text)
		fprintf(out, "%04zx%s\n", strlen(text) + 5, text);
	else
		fputs("0000\n", out);
}

static void answer_smudge(struct store *store, int file)
{
	char text[64];

	if (file % (FILES / DELAYED) == 1) {
		store->delayed[store->count++] = file;
		put_packet(store->out, "status=delayed");
	} else {
		usleep(1500);
		snprintf(text, sizeof text, "blob %d", file);
		put_packet(store->out, text);
	}
	fflush(store->out);
}

/* Names those delayed blobs that have arrived. The server sends them some time after the first question. */
static void answer_list(struct store *store)
{
	char text[64];

	if (store->lists++ == 0) {
		put_packet(store->out, "");
		if (healthy)
			fflush(store->out);
		return;
	}
	for (int i = 0; i < 2 && store->count > 0; i++) {
		snprintf(text, sizeof text, "pathname=%d", store->delayed[--store->count]);
		put_packet(store->out, text);
	}
	put_packet(store->out, "");
	fflush(store->out);
}

static void serve_filter(int in, int out)
{
	struct store store = {.out = fdopen(out, "w")};
	FILE *commands = fdopen(in, "r");
	char line[128];

	while (fgets(line, sizeof line, commands)) {
		if (strncmp(line, "smudge ", 7) == 0)
			answer_smudge(&store, atoi(line + 7));
		else if (strcmp(line, "list\n") == 0)
			answer_list(&store);
	}
	fclose(store.out);
	fclose(commands);
}

/* ---- The other child: unpacks objects and reports its progress ---- */

static void unpack_objects(int out)
{
	volatile unsigned hash = 0;

	for (int i = 0; i <= 10; i++) {
		for (int j = 0; j < 300000; j++)
			hash = hash * 31 + j;
		usleep(3000);
		dprintf(out, "%3d\n", i * 10);
	}
}

/* ---- Checkout ---- */

static void read_packet(int from, char *line, size_t size)
{
	size_t length = 0;

	while (length + 1 < size && read(from, line + length, 1) == 1)
		if (line[length++] == '\n')
			break;
	line[length] = 0;
}

static void check_out(int to, int from)
{
	char line[128];
	int delayed = 0, written = 0;

	for (int file = 0; file < FILES; file++) {
		dprintf(to, "smudge %d\n", file);
		read_packet(from, line, sizeof line);
		if (strstr(line, "status=delayed"))
			delayed++;
		else
			written++;
	}
	while (delayed > 0) {
		dprintf(to, "list\n");
		for (;;) {
			read_packet(from, line, sizeof line);
			if (strncmp(line, "0000", 4) == 0 || !*line)
				break;
			delayed--;
			written++;
		}
		usleep(2000);
	}
	printf("checkout: %d files\n", written);
}

int main(int argc, char **argv)
{
	int progress[2], commands[2], answers[2];
	pid_t unpacker, filter;
	char line[16];

	healthy = argc > 1 && strcmp(argv[1], "healthy") == 0;
	if (pipe(progress) || pipe(commands) || pipe(answers))
		return 1;
	unpacker = fork();
	if (unpacker == 0) {
		close(progress[0]), close(commands[0]), close(commands[1]);
		close(answers[0]), close(answers[1]);
		unpack_objects(progress[1]);
		_exit(0);
	}
	close(progress[1]);
	filter = fork();
	if (filter == 0) {
		close(progress[0]), close(commands[1]), close(answers[0]);
		serve_filter(commands[0], answers[1]);
		_exit(0);
	}
	close(commands[0]), close(answers[1]);
	do
		read_packet(progress[0], line, sizeof line);
	while (*line);
	waitpid(unpacker, NULL, 0);
	check_out(commands[1], answers[0]);
	close(commands[1]);
	waitpid(filter, NULL, 0);
	return 0;
}
