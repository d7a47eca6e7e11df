/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=GET #
 *   truth: rotate_log compresses the full log in the loop's thread ("rotate log"), so that the requests
 *     which are ready wait for their turn meanwhile; the healthy run leaves it to a thread of its own
 *   culprit: rotate log|rotate_log
 *   victim: GET
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A server with one thread that answers requests and keeps an access log. */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 5
#define REQUESTS 50
#define LOG_SIZE 800

struct request {
	thrum_task task;
	int socket;
	char path[32];
};

static int sockets[CLIENTS][2];
static struct request queue[CLIENTS];
static int queued;
static int served;
static char *access_log;
static size_t access_size;
static bool compress_aside;
static volatile uint32_t checksum;

static void *client(void *data)
{
	int socket = *(int *)data;
	char answer[32];

	for (int i = 0; i < REQUESTS; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/item/%d", i * 7 % 50);
		if (write(socket, path, sizeof(path)) < 0 ||
			read(socket, answer, sizeof(answer)) <= 0)
			break;
		usleep(1000);
	}
	return NULL;
}

/* Goes over the text again and again, as a slow compressor does. Frees the text. */
static void *compress_text(void *text)
{
	struct timespec now;
	struct timespec begin;
	uint32_t sum = 1;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (const char *byte = text; *byte; byte++)
			sum = sum * 16777619u ^ (unsigned char)*byte;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 25);
	checksum = sum;
	free(text);
	return NULL;
}

static void rotate_log(void)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "rotate log");
	char *full = access_log;
	pthread_t thread;

	THRUM_RUN (task) {
		access_log = calloc(1, LOG_SIZE + 64);
		access_size = 0;
		if (!compress_aside)
			compress_text(full);
		else if (!pthread_create(&thread, NULL, compress_text, full))
			pthread_detach(thread);
	}
	thrum_task_resolve(task);
}

static void log_access(const char *path)
{
	int length = snprintf(access_log + access_size, 64, "GET %s 200\n", path);

	access_size += (size_t)length;
	if (access_size >= LOG_SIZE)
		rotate_log();
}

static void answer(struct request *request)
{
	char text[32];

	snprintf(text, sizeof(text), "content of %.10s", request->path);
	if (write(request->socket, text, sizeof(text)) < 0)
		perror("write");
	log_access(request->path);
	served++;
}

static void request_read(int socket)
{
	struct request *request = &queue[queued];
	ssize_t size = read(socket, request->path, sizeof(request->path));

	if (size != sizeof(request->path))
		return;
	request->socket = socket;
	request->task = thrum_task_createf(THRUM_KIND_TASK, "GET %d", atoi(request->path + 6));
	thrum_task_should_resolve(request->task);
	thrum_task_ready(request->task);
	queued++;
}

static void serve(void)
{
	struct pollfd pollers[CLIENTS];

	for (int i = 0; i < CLIENTS; i++)
		pollers[i] = (struct pollfd){.fd = sockets[i][0], .events = POLLIN};
	while (served < CLIENTS * REQUESTS) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(pollers, CLIENTS, -1);
		thrum_resume();
		usleep(300); /* gathers requests that come together */
		for (int i = 0; i < CLIENTS; i++)
			if (pollers[i].revents)
				request_read(sockets[i][0]);
		for (int i = 0; i < queued; i++) {
			THRUM_RUN (queue[i].task) {
				answer(&queue[i]);
				thrum_task_resolve(queue[i].task);
			}
		}
		queued = 0;
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[CLIENTS];

	compress_aside = argc < 2 || strcmp(argv[1], "broken") != 0;
	access_log = calloc(1, LOG_SIZE + 64);
	if (thrum_start(NULL))
		return 1;
	for (int i = 0; i < CLIENTS; i++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets[i]))
			return 1;
		pthread_create(&threads[i], NULL, client, &sockets[i][1]);
	}
	serve();
	thrum_stop();
	for (int i = 0; i < CLIENTS; i++) {
		pthread_join(threads[i], NULL);
		close(sockets[i][0]);
		close(sockets[i][1]);
	}
	usleep(50000); /* the last compression */
	free(access_log);
	printf("%d served\n", served);
	return 0;
}
