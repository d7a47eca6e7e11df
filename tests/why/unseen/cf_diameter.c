/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: OpenSIPS issue #2789 ("A possible communication deadlock", aaa_diameter): dm_send_message hands the
 *     request to the peer's thread, logs it, and then waits on the message's condition without a look at whether the
 *     answer has come. The peer rejects the request for a barred subscriber at once, so on_answer signals the
 *     condition before dm_send_message waits. The signal is lost; the thread "sip worker 2" waits for ever. The other
 *     workers and the peer go on.
 *   culprit: dm_send_message|sip worker 2|on_answer
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* A SIP proxy: its workers ask a Diameter server whether a subscriber may call. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 4
#define CALLS 90
#define ROUND_TRIP_US 12000

struct dm_message {
	unsigned subscriber;
	uint64_t due; /* when the server's answer comes */
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	bool answered;
	int result;
	struct dm_message *next;
};

struct worker {
	unsigned number;
	unsigned calls, allowed;
	pthread_t thread;
};

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static struct dm_message *queue;
static bool fixed, closing;
static int accounting;

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- the peer's thread ---- */

static void on_answer(struct dm_message *message, int result)
{
	pthread_mutex_lock(&message->mutex);
	message->result = result;
	message->answered = true;
	pthread_cond_signal(&message->cond);
	pthread_mutex_unlock(&message->mutex);
}

static bool is_barred(unsigned subscriber)
{
	return subscriber == 2041;
}

/* Takes the first message that is answered by now; else tells when the next one will be, or 0. */
static struct dm_message *take_answered(uint64_t *next)
{
	struct dm_message **link, *message;
	uint64_t now = now_us();

	*next = 0;
	for (link = &queue; (message = *link); link = &message->next) {
		if (is_barred(message->subscriber) || message->due <= now) {
			*link = message->next;
			return message;
		}
		if (!*next || message->due < *next)
			*next = message->due;
	}
	return NULL;
}

static void *peer_thread(void *arg)
{
	struct dm_message *message;
	struct timespec until;
	uint64_t next;

	pthread_mutex_lock(&queue_lock);
	for (;;) {
		message = take_answered(&next);
		if (message) {
			pthread_mutex_unlock(&queue_lock);
			on_answer(message, is_barred(message->subscriber) ? 5003 : 2001);
			pthread_mutex_lock(&queue_lock);
		} else if (next) {
			until.tv_sec = (time_t)(next / 1000000);
			until.tv_nsec = (long)(next % 1000000) * 1000;
			pthread_cond_clockwait(&queue_filled, &queue_lock, CLOCK_MONOTONIC, &until);
		} else if (closing) {
			break;
		} else {
			pthread_cond_wait(&queue_filled, &queue_lock);
		}
	}
	pthread_mutex_unlock(&queue_lock);
	return arg;
}

static void dm_enqueue(struct dm_message *message)
{
	pthread_mutex_lock(&queue_lock);
	message->due = now_us() + ROUND_TRIP_US;
	message->next = queue;
	queue = message;
	pthread_cond_signal(&queue_filled);
	pthread_mutex_unlock(&queue_lock);
}

/* ---- workers ---- */

/* Writes the record of a request for the operator. */
static void log_request(const struct dm_message *message)
{
	char line[64];

	snprintf(line, sizeof(line), "AAR for subscriber %u\n", message->subscriber);
	if (write(accounting, line, strlen(line)) < 0)
		exit(1);
	usleep(2000);
}

/* Sends a request and waits for its answer. */
static int dm_send_message(unsigned subscriber)
{
	struct dm_message message = {.subscriber = subscriber};

	pthread_mutex_init(&message.mutex, NULL);
	pthread_cond_init(&message.cond, NULL);
	dm_enqueue(&message);
	log_request(&message);
	pthread_mutex_lock(&message.mutex);
	if (!fixed)
		pthread_cond_wait(&message.cond, &message.mutex);
	while (!message.answered)
		pthread_cond_wait(&message.cond, &message.mutex);
	pthread_mutex_unlock(&message.mutex);
	pthread_cond_destroy(&message.cond);
	pthread_mutex_destroy(&message.mutex);
	return message.result;
}

static void *sip_worker(void *arg)
{
	struct worker *worker = arg;

	while (worker->calls < CALLS) {
		if (dm_send_message(worker->number * 1000 + worker->calls) == 2001)
			worker->allowed++;
		worker->calls++;
		usleep(12000 + worker->number * 500);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker workers[WORKERS];
	pthread_t peer;
	char name[16];
	unsigned i;

	if (argc < 2)
		return 2;
	fixed = !strcmp(argv[1], "healthy");
	accounting = open("/dev/null", O_WRONLY | O_CLOEXEC);
	pthread_create(&peer, NULL, peer_thread, NULL);
	pthread_setname_np(peer, "diameter peer");
	for (i = 0; i < WORKERS; i++) {
		workers[i].number = i;
		pthread_create(&workers[i].thread, NULL, sip_worker, &workers[i]);
		snprintf(name, sizeof(name), "sip worker %u", i);
		pthread_setname_np(workers[i].thread, name);
	}
	for (i = 0; i < WORKERS; i++) {
		pthread_join(workers[i].thread, NULL);
		printf("worker %u: %u of %u calls allowed\n", i, workers[i].allowed,
			workers[i].calls);
		fflush(stdout);
	}
	pthread_mutex_lock(&queue_lock);
	closing = true;
	pthread_cond_signal(&queue_filled);
	pthread_mutex_unlock(&queue_lock);
	pthread_join(peer, NULL);
	return 0;
}
