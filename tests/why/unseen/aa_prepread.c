/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the thread clipboard announced that it reads events (prepare_read), was woken by a paste
 *     instead, and didn't take that back with cancel_read. So display.readers never reaches 0, and all
 *     who come to read_events wait for one more reader for ever.
 *   culprit: clipboard|watch_clipboard|prepare_read
 *   victim: render|draw_frames|compositor
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about mpv on Wayland: a read of the display is prepared and never done when the poll was
 * ended by another descriptor. The last of all announced readers reads the socket, the others wait for
 * it.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FRAMES 20

static struct {
	pthread_mutex_t lock;
	pthread_cond_t read_done;
	int socket, server;
	int readers;
	unsigned serial;
	int frames_shown;
} display = {.lock = PTHREAD_MUTEX_INITIALIZER, .read_done = PTHREAD_COND_INITIALIZER};

static int wake_fd;
static sem_t pasted;
static bool broken;

static void prepare_read(void)
{
	pthread_mutex_lock(&display.lock);
	display.readers++;
	pthread_mutex_unlock(&display.lock);
}

static void cancel_read(void)
{
	pthread_mutex_lock(&display.lock);
	if (--display.readers == 0) {
		display.serial++;
		pthread_cond_broadcast(&display.read_done);
	}
	pthread_mutex_unlock(&display.lock);
}

static void read_events(void)
{
	char events[64];
	ssize_t count;

	pthread_mutex_lock(&display.lock);
	if (--display.readers == 0) {
		count = recv(display.socket, events, sizeof(events), MSG_DONTWAIT);
		for (ssize_t i = 0; i < count; i++)
			if (events[i] == 'f')
				display.frames_shown++;
		display.serial++;
		pthread_cond_broadcast(&display.read_done);
	} else {
		unsigned serial = display.serial;

		while (serial == display.serial)
			pthread_cond_wait(&display.read_done, &display.lock);
	}
	pthread_mutex_unlock(&display.lock);
}

static void *watch_clipboard(void *data)
{
	uint64_t jobs;

	(void)data;
	pthread_setname_np(pthread_self(), "clipboard");
	for (;;) {
		struct pollfd fds[2] = {{display.socket, POLLIN, 0}, {wake_fd, POLLIN, 0}};

		prepare_read();
		poll(fds, 2, -1);
		if (fds[0].revents & (POLLIN | POLLHUP))
			read_events();
		else if (!broken)
			cancel_read();
		if (fds[1].revents & POLLIN) {
			if (read(wake_fd, &jobs, sizeof(jobs)) != sizeof(jobs) || jobs >= 1000)
				return NULL;
			printf("clipboard: pasted\n");
			sem_post(&pasted);
		}
	}
}

static void *run_compositor(void *data)
{
	struct timespec vblank = {0, 5000000};
	char request;

	(void)data;
	pthread_setname_np(pthread_self(), "compositor");
	while (read(display.server, &request, 1) == 1) {
		nanosleep(&vblank, NULL);
		if (write(display.server, "f", 1) != 1)
			break;
	}
	return NULL;
}

static int frames_shown(void)
{
	int frames;

	pthread_mutex_lock(&display.lock);
	frames = display.frames_shown;
	pthread_mutex_unlock(&display.lock);
	return frames;
}

static void *draw_frames(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "render");
	for (int frame = 0; frame < FRAMES; frame++) {
		if (write(display.socket, "c", 1) != 1)
			break;
		while (frames_shown() <= frame) {
			struct pollfd fd = {display.socket, POLLIN, 0};

			prepare_read();
			/* Another thread may have read the event before this one was announced. */
			if (frames_shown() > frame) {
				cancel_read();
				break;
			}
			poll(&fd, 1, -1);
			read_events();
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t compositor, clipboard, render;
	uint64_t one = 1, last = 1000;
	int ends[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return EXIT_FAILURE;
	display.socket = ends[0];
	display.server = ends[1];
	wake_fd = eventfd(0, 0);
	sem_init(&pasted, 0, 0);
	pthread_create(&compositor, NULL, run_compositor, NULL);
	pthread_create(&clipboard, NULL, watch_clipboard, NULL);
	/* The user pastes a path before the film begins. */
	if (write(wake_fd, &one, sizeof(one)) != sizeof(one))
		return EXIT_FAILURE;
	sem_wait(&pasted);
	pthread_create(&render, NULL, draw_frames, NULL);
	pthread_join(render, NULL);
	if (write(wake_fd, &last, sizeof(last)) != sizeof(last))
		return EXIT_FAILURE;
	pthread_join(clipboard, NULL);
	shutdown(display.socket, SHUT_WR);
	pthread_join(compositor, NULL);
	printf("%d frames\n", frames_shown());
	return EXIT_SUCCESS;
}
