/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: Two builds upload the same artifact at once, so the second one is put in the line of the first upload. The
 *     check of that upload fails, and after_verify tells only its first owner; who stands in the line gets no answer.
 *   culprit: after_verify|attach|upload_end
 *   victim: build_agent
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <err.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define AGENTS 4
#define ROUNDS 40

struct packet {
	unsigned digest;
	unsigned content;
	int status;
};

struct agent {
	int index, far;
	uv_pipe_t pipe;
	struct packet in;
	struct agent *next_waiter;
};

struct upload {
	uv_work_t work;
	struct packet packet;
	bool good;
	struct agent *owner, *waiters;
	struct upload *next;
};

struct reply {
	uv_write_t write;
	struct packet packet;
};

static uv_loop_t loop;
static uv_timer_t sweep_timer;
static struct agent agents[AGENTS];
static struct upload *uploads;
static pthread_barrier_t release_day;
static int open_agents = AGENTS;
static bool healthy;
static long sweeps;

static void on_replied(uv_write_t *write, int status)
{
	(void)status;
	free(write->data);
}

static void reply(struct agent *agent, struct packet packet, int status)
{
	struct reply *reply = calloc(1, sizeof(*reply));
	uv_buf_t buffer;

	reply->packet = packet;
	reply->packet.status = status;
	reply->write.data = reply;
	buffer = uv_buf_init((char *)&reply->packet, sizeof(reply->packet));
	uv_write(&reply->write, (uv_stream_t *)&agent->pipe, &buffer, 1, on_replied);
}

static void verify(uv_work_t *work)
{
	struct upload *upload = work->data;

	usleep(upload->packet.digest == 4242 ? 60000 : 2000);
	upload->good = upload->packet.digest == upload->packet.content;
}

static void upload_end(struct upload *upload)
{
	struct upload **link = &uploads;

	while (*link != upload)
		link = &(*link)->next;
	*link = upload->next;
	free(upload);
}

static void tell_waiters(struct upload *upload, int status)
{
	for (struct agent *agent = upload->waiters; agent; agent = agent->next_waiter)
		reply(agent, upload->packet, status);
}

static void after_verify(uv_work_t *work, int status)
{
	struct upload *upload = work->data;

	if (status || !upload->good) {
		reply(upload->owner, upload->packet, -EBADMSG);
		if (healthy)
			tell_waiters(upload, -EBADMSG);
		upload_end(upload);
		return;
	}
	reply(upload->owner, upload->packet, 0);
	tell_waiters(upload, 0);
	upload_end(upload);
}

/* Somebody else already uploads the same thing: share the result. */
static bool attach(struct agent *agent)
{
	for (struct upload *upload = uploads; upload; upload = upload->next) {
		if (upload->packet.digest != agent->in.digest)
			continue;
		agent->next_waiter = upload->waiters;
		upload->waiters = agent;
		return true;
	}
	return false;
}

static void on_upload(struct agent *agent)
{
	struct upload *upload;

	if (attach(agent))
		return;
	upload = calloc(1, sizeof(*upload));
	upload->packet = agent->in;
	upload->owner = agent;
	upload->work.data = upload;
	upload->next = uploads;
	uploads = upload;
	uv_queue_work(&loop, &upload->work, verify, after_verify);
}

static void on_space(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	struct agent *agent = handle->data;

	(void)size;
	*buffer = uv_buf_init((char *)&agent->in, sizeof(agent->in));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct agent *agent = stream->data;

	(void)buffer;
	if (size == sizeof(agent->in)) {
		on_upload(agent);
	} else if (size < 0) {
		uv_close((uv_handle_t *)stream, NULL);
		if (--open_agents == 0)
			uv_close((uv_handle_t *)&sweep_timer, NULL);
	}
}

static void on_sweep(uv_timer_t *timer)
{
	(void)timer;
	sweeps++;
}

static void *build_agent(void *data)
{
	struct agent *agent = data;

	for (int i = 0; i < ROUNDS; i++) {
		struct packet packet = {.digest = 10000 + agent->index * 100 + i};

		packet.content = packet.digest;
		if (i == 15 && agent->index < 2) {
			/* Both build the tag of the release. */
			packet.digest = 4242;
			packet.content = 17;
			pthread_barrier_wait(&release_day);
		}
		if (write(agent->far, &packet, sizeof(packet)) != sizeof(packet) ||
			read(agent->far, &packet, sizeof(packet)) != sizeof(packet))
			break;
		usleep(1000);
	}
	close(agent->far);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[AGENTS];
	int pair[2];

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_barrier_init(&release_day, NULL, 2);
	uv_loop_init(&loop);
	uv_timer_init(&loop, &sweep_timer);
	uv_timer_start(&sweep_timer, on_sweep, 50, 50);
	for (int i = 0; i < AGENTS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			err(1, "socketpair");
		agents[i].index = i;
		agents[i].far = pair[1];
		agents[i].pipe.data = &agents[i];
		uv_pipe_init(&loop, &agents[i].pipe, 0);
		agents[i].pipe.data = &agents[i];
		uv_pipe_open(&agents[i].pipe, pair[0]);
		uv_read_start((uv_stream_t *)&agents[i].pipe, on_space, on_read);
		pthread_create(&threads[i], NULL, build_agent, &agents[i]);
	}
	uv_run(&loop, UV_RUN_DEFAULT);
	for (int i = 0; i < AGENTS; i++)
		pthread_join(threads[i], NULL);
	printf("all builds stored, %ld sweeps\n", sweeps);
	return 0;
}
