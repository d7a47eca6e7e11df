/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: feed_filter writes the whole document to the encoder's pipe before drain_filter reads anything
 *     back. With a document that is larger than both pipes the encoder can't write, so it doesn't read, and
 *     the write in feed_filter blocks for ever. The uploader and main wait for that document.
 *   culprit: feed_filter|exchange_in_turn
 *   victim: uploader|next_packed|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Packs documents through an external encoder (a child process) and hands them to an uploader. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct document {
	const char *name;
	size_t size;
	char *packed;
	size_t packed_size;
	bool is_packed;
};

static struct document documents[] = {
	{"notes.txt", 3000, NULL, 0, false},
	{"letter.odt", 20000, NULL, 0, false},
	{"index.html", 9000, NULL, 0, false},
	{"scan.tiff", 700000, NULL, 0, false},
	{"readme", 500, NULL, 0, false},
};
#define COUNT (sizeof(documents) / sizeof(documents[0]))

struct filter {
	pid_t pid;
	int input, output;
};

static pthread_mutex_t packed_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t packed_changed = PTHREAD_COND_INITIALIZER;
static void (*exchange)(struct filter *, const char *, struct document *);

/* The child: each byte becomes two digits. */
static void encode(int from, int to)
{
	char in[2048], out[4096];
	ssize_t count, done, n;

	while ((count = read(from, in, sizeof(in))) > 0) {
		for (ssize_t i = 0; i < count; i++) {
			out[2 * i] = "0123456789abcdef"[in[i] >> 4 & 15];
			out[2 * i + 1] = "0123456789abcdef"[in[i] & 15];
		}
		for (done = 0; done < 2 * count; done += n)
			if ((n = write(to, out + done, (size_t)(2 * count - done))) <= 0)
				_exit(1);
	}
	_exit(0);
}

static void start_filter(struct filter *filter)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		abort();
	filter->pid = fork();
	if (filter->pid < 0)
		abort();
	if (filter->pid == 0) {
		close(in[1]);
		close(out[0]);
		signal(SIGPIPE, SIG_DFL);
		encode(in[0], out[1]);
	}
	close(in[0]);
	close(out[1]);
	filter->input = in[1];
	filter->output = out[0];
}

static void feed_filter(struct filter *filter, const char *text, size_t size)
{
	ssize_t n;

	for (size_t done = 0; done < size; done += (size_t)n)
		if ((n = write(filter->input, text + done, size - done)) <= 0)
			abort();
	close(filter->input);
}

static void drain_filter(struct filter *filter, struct document *document)
{
	ssize_t n;

	while ((n = read(filter->output, document->packed + document->packed_size, 65536)) > 0)
		document->packed_size += (size_t)n;
	close(filter->output);
}

static void exchange_in_turn(struct filter *filter, const char *text, struct document *document)
{
	feed_filter(filter, text, document->size);
	drain_filter(filter, document);
}

static void exchange_at_once(struct filter *filter, const char *text, struct document *document)
{
	size_t done = 0;
	ssize_t n = 1;

	fcntl(filter->input, F_SETFL, O_NONBLOCK);
	while (n) {
		struct pollfd fds[2] = {{filter->output, POLLIN, 0}, {filter->input, POLLOUT, 0}};

		if (poll(fds, done < document->size ? 2 : 1, -1) < 0)
			abort();
		if (done < document->size && fds[1].revents) {
			n = write(filter->input, text + done, document->size - done);
			if (n > 0)
				done += (size_t)n;
			n = 1;
			if (done == document->size)
				close(filter->input);
		}
		if (fds[0].revents) {
			n = read(filter->output, document->packed + document->packed_size, 65536);
			if (n < 0)
				abort();
			document->packed_size += (size_t)n;
		}
	}
	close(filter->output);
}

static void pack_document(struct document *document)
{
	char *text = malloc(document->size);
	struct filter filter;
	int status;

	memset(text, 'x', document->size);
	document->packed = malloc(2 * document->size + 65536);
	start_filter(&filter);
	exchange(&filter, text, document);
	if (waitpid(filter.pid, &status, 0) != filter.pid || status)
		abort();
	free(text);
}

static void *run_packer(void *data)
{
	(void)data;
	for (size_t i = 0; i < COUNT; i++) {
		pack_document(&documents[i]);
		pthread_mutex_lock(&packed_mutex);
		documents[i].is_packed = true;
		pthread_cond_broadcast(&packed_changed);
		pthread_mutex_unlock(&packed_mutex);
		usleep(10000);
	}
	return NULL;
}

static struct document *next_packed(size_t i)
{
	pthread_mutex_lock(&packed_mutex);
	while (!documents[i].is_packed)
		pthread_cond_wait(&packed_changed, &packed_mutex);
	pthread_mutex_unlock(&packed_mutex);
	return &documents[i];
}

static void *run_uploader(void *data)
{
	size_t *bytes = data;

	for (size_t i = 0; i < COUNT; i++) {
		struct document *document = next_packed(i);

		usleep(15000);
		*bytes += document->packed_size;
		free(document->packed);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t packer, uploader;
	size_t bytes = 0;

	if (argc != 2)
		return 2;
	exchange = strcmp(argv[1], "healthy") == 0 ? exchange_at_once : exchange_in_turn;
	signal(SIGPIPE, SIG_IGN);
	pthread_create(&packer, NULL, run_packer, NULL);
	pthread_setname_np(packer, "packer");
	pthread_create(&uploader, NULL, run_uploader, &bytes);
	pthread_setname_np(uploader, "uploader");
	pthread_join(packer, NULL);
	pthread_join(uploader, NULL);
	printf("uploaded %zu bytes\n", bytes);
	return bytes == 2 * (3000 + 20000 + 9000 + 700000 + 500) ? 0 : 1;
}
