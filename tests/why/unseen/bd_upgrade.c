/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: peer 4 sends its first frame together with HELLO. The hub reads both at once; upgrade_to_frames
 *     leaves the frame in the input buffer and waits for the socket, which stays silent, since the peer
 *     waits for the answer to that frame.
 *   culprit: upgrade_to_frames|first frame of peer 4
 *   victim: session of peer 4|socket of peer 4|hub_run|\bhub\b|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A hub with an event loop of its own. A peer says HELLO in a line, and then speaks in frames. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thrum.h>
#include <unistd.h>

#define PEERS 5
#define FRAMES 6

enum mode {
	MODE_LINES,
	MODE_FRAMES
};

struct peer {
	int number;
	int socket;
	enum mode mode;
	unsigned char input[256];
	size_t have;
	unsigned frames;
	thrum_task handle;
	thrum_task session;
	thrum_task frame; /* the one for which the session waits */
};

static struct peer peers[PEERS];
static int ends[PEERS][2];
static int queue_descriptor;
static int open_peers;
static bool parses_rest;

/* ---- the peers: threads of another process ---- */

static void *peer_run(void *data)
{
	int number = (int)(long)data;
	int socket = ends[number - 1][1];
	const char hello[] = "HELLO 2\n\3abc";
	/* Peer 4 is a newer version, which saves a round trip. */
	size_t size = number == 4 ? 12 : 8;
	char answer[8];
	bool is_sent = number == 4;

	usleep(15000 * number);
	if (write(socket, hello, size) < 0 || read(socket, answer, 7) != 7)
		return NULL;
	for (int i = 0; i < FRAMES; i++) {
		if (!is_sent && write(socket, hello + 8, 4) != 4)
			break;
		is_sent = false;
		if (read(socket, answer, 1) != 1)
			break;
		usleep(8000);
	}
	close(socket);
	return NULL;
}

static void peers_process(void)
{
	pthread_t thread[PEERS];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (long i = 0; i < PEERS; i++)
		close(ends[i][0]);
	for (long i = 0; i < PEERS; i++)
		pthread_create(&thread[i], NULL, peer_run, (void *)(i + 1));
	for (int i = 0; i < PEERS; i++)
		pthread_join(thread[i], NULL);
	_exit(0);
}

/* ---- the hub ---- */

static void expect_frame(struct peer *peer, thrum_task frame)
{
	peer->frame = frame;
	thrum_task_wait(frame, peer->handle);
	thrum_task_wait(peer->session, frame);
}

static void peer_close(struct peer *peer)
{
	epoll_ctl(queue_descriptor, EPOLL_CTL_DEL, peer->socket, NULL);
	close(peer->socket);
	thrum_task_cancel(peer->frame);
	thrum_task_resolve(peer->session);
	thrum_task_resolve(peer->handle);
	open_peers--;
}

static void consume(struct peer *peer, size_t count)
{
	peer->have -= count;
	memmove(peer->input, peer->input + count, peer->have);
}

/* Takes all frames out of the buffer, and answers them. */
static void parse_frames(struct peer *peer)
{
	while (peer->have > 0 && peer->have > peer->input[0]) {
		consume(peer, 1 + peer->input[0]);
		peer->frames++;
		thrum_task_read(peer->session, peer->frame);
		thrum_task_resolve(peer->frame);
		if (write(peer->socket, "k", 1) != 1)
			return;
		expect_frame(peer,
			thrum_task_createf(THRUM_KIND_REQUEST, "next frame of peer %d",
				peer->number));
	}
}

static void upgrade_to_frames(struct peer *peer)
{
	thrum_task_read(peer->session, peer->frame);
	thrum_task_resolve(peer->frame);
	peer->mode = MODE_FRAMES;
	if (write(peer->socket, "SWITCH\n", 7) != 7)
		return;
	expect_frame(peer,
		thrum_task_createf(THRUM_KIND_REQUEST, "first frame of peer %d", peer->number));
	if (parses_rest)
		parse_frames(peer);
}

static void parse_line(struct peer *peer)
{
	unsigned char *end = memchr(peer->input, '\n', peer->have);

	if (!end)
		return;
	consume(peer, (size_t)(end - peer->input) + 1);
	upgrade_to_frames(peer);
}

static void on_readable(struct peer *peer)
{
	ssize_t got = read(peer->socket, peer->input + peer->have,
		sizeof(peer->input) - peer->have);

	thrum_task_read(peer->frame, peer->handle);
	if (got <= 0) {
		peer_close(peer);
		return;
	}
	peer->have += (size_t)got;
	if (peer->mode == MODE_LINES)
		parse_line(peer);
	else
		parse_frames(peer);
}

static int peer_open(struct peer *peer, int number)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};

	peer->number = number;
	peer->socket = ends[number - 1][0];
	peer->handle = thrum_task_createf(THRUM_KIND_HANDLE, "socket of peer %d", number);
	peer->session = thrum_task_createf(THRUM_KIND_TASK, "session of peer %d", number);
	thrum_task_should_resolve(peer->session);
	expect_frame(peer, thrum_task_createf(THRUM_KIND_REQUEST, "hello of peer %d", number));
	open_peers++;
	return epoll_ctl(queue_descriptor, EPOLL_CTL_ADD, peer->socket, &event);
}

static void hub_run(void)
{
	struct epoll_event events[4];

	while (open_peers > 0) {
		int count;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		count = epoll_wait(queue_descriptor, events, 4, 200);
		thrum_resume();
		if (count == 0)
			printf("hub: %d peers\n", open_peers);
		for (int i = 0; i < count; i++) {
			struct peer *peer = events[i].data.ptr;

			THRUM_RUN (peer->session)
				on_readable(peer);
		}
	}
}

int main(int argc, char **argv)
{
	unsigned frames = 0;
	pid_t process;

	if (argc < 2)
		return 2;
	parses_rest = !strcmp(argv[1], "healthy");
	for (int i = 0; i < PEERS; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]))
			return 1;
	process = fork();
	if (process == 0)
		peers_process();
	thrum_start(NULL);
	thrum_lane_name("hub");
	queue_descriptor = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < PEERS; i++) {
		close(ends[i][1]);
		if (peer_open(&peers[i], i + 1))
			return 1;
	}
	hub_run();
	thrum_stop();
	waitpid(process, NULL, 0);
	for (int i = 0; i < PEERS; i++)
		frames += peers[i].frames;
	printf("%u frames\n", frames);
	return frames == PEERS * FRAMES ? 0 : 1;
}
