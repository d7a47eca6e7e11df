/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: spawn_resizer doesn't close the control sockets of the earlier workers in the new child; so
 *     resizer-1 and resizer-2 keep the socket of resizer-0 open, resizer-0 never sees the end of its input,
 *     and stop_resizer waits in waitpid for it
 *   culprit: spawn_resizer|resizer-1|resizer-2
 *   victim: resizer-0|stop_resizer|waitpid
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A picture server: the parent gives pictures to child processes that resize them. */

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESIZERS 3
#define PICTURES 30

struct picture {
	int number, width, height;
};

struct resizer {
	pid_t pid;
	int control; /* the parent's end of the socket */
	bool is_busy;
	unsigned done;
};

static struct resizer resizers[RESIZERS];
static bool keep_only_own;

static bool read_all(int descriptor, void *data, size_t size)
{
	char *bytes = data;
	ssize_t got;

	while (size > 0) {
		got = read(descriptor, bytes, size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		bytes += got;
		size -= (size_t)got;
	}
	return true;
}

static bool write_all(int descriptor, const void *data, size_t size)
{
	return send(descriptor, data, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static void scale(struct picture *picture)
{
	usleep(1000 + (unsigned)(picture->number * 700 % 3000));
	picture->width /= 2;
	picture->height /= 2;
}

/* The child: resizes pictures until the parent ends the conversation. */
static void run_resizer(int index, int control)
{
	struct picture picture;
	char name[16];

	snprintf(name, sizeof(name), "resizer-%d", index);
	prctl(PR_SET_NAME, name);
	while (read_all(control, &picture, sizeof(picture))) {
		scale(&picture);
		if (!write_all(control, &picture, sizeof(picture)))
			break;
	}
	_exit(0);
}

static void spawn_resizer(int index)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	pid = fork();
	if (pid < 0)
		exit(1);
	if (pid == 0) {
		close(ends[0]);
		if (keep_only_own)
			for (int i = 0; i < index; i++)
				close(resizers[i].control);
		run_resizer(index, ends[1]);
	}
	close(ends[1]);
	resizers[index] = (struct resizer){pid, ends[0], false, 0};
}

static bool give_picture(struct resizer *resizer, int number)
{
	struct picture picture = {number, 640 + number * 16, 480 + number * 12};

	resizer->is_busy = true;
	return write_all(resizer->control, &picture, sizeof(picture));
}

static bool take_picture(struct resizer *resizer)
{
	struct picture picture;

	if (!read_all(resizer->control, &picture, sizeof(picture)))
		return false;
	resizer->is_busy = false;
	resizer->done++;
	return true;
}

/* Keeps all children busy until all pictures are resized. */
static bool resize_all(void)
{
	struct pollfd polled[RESIZERS];
	int given = 0, done = 0;

	while (done < PICTURES) {
		for (int i = 0; i < RESIZERS; i++) {
			if (!resizers[i].is_busy && given < PICTURES &&
				!give_picture(&resizers[i], given++))
				return false;
			polled[i].fd = resizers[i].is_busy ? resizers[i].control : -1;
			polled[i].events = POLLIN;
			polled[i].revents = 0;
		}
		if (poll(polled, RESIZERS, 1000) <= 0)
			return false;
		for (int i = 0; i < RESIZERS; i++) {
			if (!polled[i].revents)
				continue;
			if (!take_picture(&resizers[i]))
				return false;
			done++;
		}
	}
	return true;
}

/* Closing the socket tells the child to end. */
static bool stop_resizer(struct resizer *resizer)
{
	int status;

	close(resizer->control);
	if (waitpid(resizer->pid, &status, 0) != resizer->pid)
		return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv)
{
	bool is_fine;

	if (argc != 2)
		return 2;
	keep_only_own = strcmp(argv[1], "broken") != 0;
	for (int i = 0; i < RESIZERS; i++)
		spawn_resizer(i);
	is_fine = resize_all();
	for (int i = 0; i < RESIZERS; i++) {
		is_fine = stop_resizer(&resizers[i]) && is_fine;
		printf("resizer %d: %u pictures\n", i, resizers[i].done);
	}
	return is_fine ? 0 : 1;
}
