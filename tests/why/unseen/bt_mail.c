/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: filter_message writes the whole message to the filter before it reads anything back. With a big message both pipes
 *     fill: the filter can't write any more and so doesn't read, and the relay's write never returns.
 *   culprit: filter_message|write_all
 *   victim: thread (smtp|bounce)|deliver
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */

/* A mail relay: takes messages from a spool, sends each through an external filter, and delivers it. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct message {
	int number;
	size_t size;
	char *text;
	struct message *next;
};

static pthread_mutex_t spool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t spool_filled = PTHREAD_COND_INITIALIZER;
static struct message *spool, **spool_end = &spool;
static unsigned long accepted, delivered;
static bool interleave;

static void spool_put(int number, size_t size)
{
	struct message *message = calloc(1, sizeof(*message));

	message->number = number;
	message->size = size;
	message->text = malloc(size);
	for (size_t i = 0; i < size; i++)
		message->text[i] = i % 72 == 71 ? '\n' : 'a' + (int)(i % 26);
	pthread_mutex_lock(&spool_lock);
	*spool_end = message;
	spool_end = &message->next;
	accepted++;
	pthread_cond_signal(&spool_filled);
	pthread_mutex_unlock(&spool_lock);
}

static int write_all(int to, const char *text, size_t size)
{
	while (size > 0) {
		ssize_t count = write(to, text, size);

		if (count < 0)
			return -1;
		text += count;
		size -= (size_t)count;
	}
	return 0;
}

static size_t exchange(int to, int from, struct message *message)
{
	size_t sent = 0, received = 0;
	char block[4096];

	fcntl(to, F_SETFL, O_NONBLOCK);
	for (;;) {
		struct pollfd ends[2] = {{from, POLLIN, 0}, {to, POLLOUT, 0}};
		ssize_t count;

		poll(ends, to >= 0 ? 2 : 1, -1);
		if (to >= 0 && ends[1].revents) {
			count = write(to, message->text + sent, message->size - sent);
			if (count > 0)
				sent += (size_t)count;
			if (sent == message->size || (count < 0 && errno != EAGAIN)) {
				close(to);
				to = -1;
			}
		}
		if (ends[0].revents) {
			count = read(from, block, sizeof(block));
			if (count <= 0)
				break;
			received += (size_t)count;
		}
	}
	return received;
}

/* Returns the size of the filtered message. */
static size_t filter_message(struct message *message)
{
	int in[2], out[2];
	size_t received = 0;
	ssize_t count;
	char block[4096];
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return 0;
	pid = fork();
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execlp("tr", "tr", "a-z", "A-Z", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	if (interleave) {
		received = exchange(in[1], out[0], message);
	} else {
		write_all(in[1], message->text, message->size);
		close(in[1]);
		while ((count = read(out[0], block, sizeof(block))) > 0)
			received += (size_t)count;
	}
	close(out[0]);
	waitpid(pid, NULL, 0);
	return received;
}

static void *deliver(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "delivery");
	for (;;) {
		struct message *message;

		pthread_mutex_lock(&spool_lock);
		while (!spool)
			pthread_cond_wait(&spool_filled, &spool_lock);
		message = spool;
		spool = message->next;
		if (!spool)
			spool_end = &spool;
		pthread_mutex_unlock(&spool_lock);
		if (filter_message(message) != message->size)
			fprintf(stderr, "message %d: the filter failed\n", message->number);
		pthread_mutex_lock(&spool_lock);
		delivered++;
		pthread_mutex_unlock(&spool_lock);
		free(message->text);
		free(message);
	}
	return NULL;
}

static void *smtp(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "smtp");
	for (int i = 1;; i++) {
		/* Now and then somebody sends a photo. */
		spool_put(i, i % 8 == 0 ? 400000 : 3000);
		usleep(60000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	interleave = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_create(&thread, NULL, deliver, NULL);
	pthread_create(&thread, NULL, smtp, NULL);
	for (;;) {
		usleep(250000);
		pthread_mutex_lock(&spool_lock);
		printf("accepted %lu, delivered %lu\n", accepted, delivered);
		fflush(stdout);
		pthread_mutex_unlock(&spool_lock);
	}
}
