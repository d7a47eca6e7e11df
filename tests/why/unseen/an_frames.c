/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: A frame of 100000 bytes comes in pieces, so on_frames raises the low watermark of the bufferevent to its size,
 *     to be called only when it is complete, and never lowers it again. The next frame, of 64 bytes, is read into the
 *     buffer, but stays below the watermark: on_frames isn't called, and the sensor gets no acknowledgement.
 *   culprit: on_frames
 *   victim: sensor
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A collector: sensors send frames (a length of four bytes, then samples), and each frame is acknowledged. */
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SENSORS 2
#define MAX_FRAME (1024 * 1024)

struct collector {
	struct event_base *base;
	int open;
	int frames;
	uint64_t sum;
};

struct sensor {
	int fd;
	int number;
	const uint32_t *sizes; /* of its frames, ended by 0 */
	int acknowledged;
};

static const uint32_t sizes_small[] = {700, 2000, 64, 0};
static const uint32_t sizes_large[] = {700, 100000, 64, 0};

static __attribute__((noinline)) void store_frame(struct collector *collector,
	struct evbuffer *input, uint32_t size)
{
	const unsigned char *samples = evbuffer_pullup(input, size);

	for (uint32_t i = 0; i < size; i++)
		collector->sum += samples[i];
	evbuffer_drain(input, size);
	collector->frames++;
}

static void on_frames(struct bufferevent *bev, void *data)
{
	struct collector *collector = data;
	struct evbuffer *input = bufferevent_get_input(bev);
	uint32_t size;

	while (evbuffer_copyout(input, &size, sizeof size) == sizeof size) {
		size = ntohl(size);
		if (size > MAX_FRAME) {
			fprintf(stderr, "collector: frame of %u bytes\n", size);
			bufferevent_disable(bev, EV_READ);
			return;
		}
		if (evbuffer_get_length(input) < sizeof size + size) {
			/* more will come; no need to look before it is complete */
			bufferevent_setwatermark(bev, EV_READ, sizeof size + size, 0);
			return;
		}
		evbuffer_drain(input, sizeof size);
		store_frame(collector, input, size);
		bufferevent_write(bev, "ok\n", 3);
	}
}

static void on_sensor_event(struct bufferevent *bev, short what, void *data)
{
	struct collector *collector = data;

	if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
		return;
	bufferevent_free(bev);
	if (!--collector->open)
		event_base_loopexit(collector->base, NULL);
}

static __attribute__((noinline)) int add_sensor(struct collector *collector, int fd)
{
	struct bufferevent *bev;

	evutil_make_socket_nonblocking(fd);
	bev = bufferevent_socket_new(collector->base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!bev)
		return -1;
	bufferevent_setcb(bev, on_frames, NULL, on_sensor_event, collector);
	bufferevent_enable(bev, EV_READ | EV_WRITE);
	collector->open++;
	return 0;
}

static __attribute__((noinline)) int send_frame(struct sensor *sensor, uint32_t size)
{
	unsigned char *frame = malloc(sizeof size + size);
	const uint32_t length = htonl(size);
	size_t done = 0;
	char ok[3];

	if (!frame)
		abort();
	memcpy(frame, &length, sizeof length);
	memset(frame + sizeof length, sensor->number, size);
	while (done < sizeof size + size) {
		const ssize_t n = write(sensor->fd, frame + done, sizeof size + size - done);

		if (n <= 0)
			break;
		done += (size_t)n;
	}
	free(frame);
	return recv(sensor->fd, ok, sizeof ok, MSG_WAITALL) == sizeof ok ? 0 : -1;
}

static void *run_sensor(void *argument)
{
	struct sensor *sensor = argument;
	char name[16];

	snprintf(name, sizeof name, "sensor-%d", sensor->number % 10);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; sensor->sizes[i]; i++) {
		usleep(150 * 1000);
		if (send_frame(sensor, sensor->sizes[i]) < 0)
			break;
		sensor->acknowledged++;
	}
	close(sensor->fd);
	return NULL;
}

int main(int argc, char **argv)
{
	struct sensor sensors[SENSORS];
	struct collector collector = {0};
	pthread_t threads[SENSORS];
	int missing = 0;

	if (argc != 2)
		return 2;
	collector.base = event_base_new();
	for (int i = 0; i < SENSORS; i++) {
		int fds[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0 ||
			add_sensor(&collector, fds[0]) < 0)
			return 1;
		sensors[i] = (struct sensor){.fd = fds[1], .number = i + 1, .sizes = sizes_small};
	}
	if (!strcmp(argv[1], "broken"))
		sensors[1].sizes = sizes_large;
	for (int i = 0; i < SENSORS; i++)
		if (pthread_create(&threads[i], NULL, run_sensor, &sensors[i]))
			return 1;

	event_base_dispatch(collector.base);
	for (int i = 0; i < SENSORS; i++) {
		pthread_join(threads[i], NULL);
		missing += 3 - sensors[i].acknowledged;
	}
	printf("%d frames, sum %llu\n", collector.frames, (unsigned long long)collector.sum);
	event_base_free(collector.base);
	return missing ? 1 : 0;
}
