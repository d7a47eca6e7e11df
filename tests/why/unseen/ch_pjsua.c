/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: pjsip issue #1371 ("Soft deadlock when application query call info of other call inside a
 *     callback"): worker 1 holds the library's pjsua_mutex while it calls on_call_state for a call, and the
 *     application's callback asks for the other call by pjsua_call_get_info, which takes that call's mutex.
 *     Worker 2 has just received a message of that other call: it holds the call's mutex (on_answer) and
 *     wants pjsua_mutex.
 *   culprit: pjsua_call_get_info|on_call_state|on_answer
 *   victim: keypad
 * case: healthy
 *   args: healthy
 *   run: live 2500
 *   ask: why
 *   culprit: nothing
 */

/* A telephone with two lines. Two workers handle what comes from the network, and the user presses keys. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum state {
	IDLE,
	RINGING,
	CONFIRMED
};

struct call_info {
	enum state state;
	unsigned answers;
};

struct call {
	pthread_mutex_t mutex;
	enum state state;
	unsigned answers;
	struct call_info info; /* a copy, which pjsua_mutex guards */
};

static pthread_mutex_t pjsua_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct call calls[2] = {{.mutex = PTHREAD_MUTEX_INITIALIZER},
	{.mutex = PTHREAD_MUTEX_INITIALIZER}};
static unsigned active; /* calls, under pjsua_mutex */

static bool copies;
static unsigned changes, keys, packets;

/* ---- the library ---- */

/* The caller is a callback: it holds pjsua_mutex. */
static struct call_info pjsua_call_get_info(unsigned id)
{
	struct call *call = &calls[id];
	struct call_info info;

	if (copies)
		return call->info;
	pthread_mutex_lock(&call->mutex);
	info.state = call->state;
	info.answers = call->answers;
	pthread_mutex_unlock(&call->mutex);
	return info;
}

static void on_call_state(unsigned id, enum state state);

/* Worker 1: a call begins or ends. */
static void set_state(unsigned id, enum state state)
{
	pthread_mutex_lock(&pjsua_mutex);
	active += state == RINGING;
	active -= state == IDLE && active > 0;
	calls[id].info.state = state;
	on_call_state(id, state);
	pthread_mutex_unlock(&pjsua_mutex);
}

/* Worker 2: an answer came for a call. */
static void on_answer(unsigned id, useconds_t description_us)
{
	struct call *call = &calls[id];

	pthread_mutex_lock(&call->mutex);
	call->answers++;
	call->state = CONFIRMED;
	usleep(description_us); /* reads the description of its streams */
	pthread_mutex_lock(&pjsua_mutex);
	call->info.state = call->state;
	call->info.answers = call->answers;
	pthread_mutex_unlock(&pjsua_mutex);
	pthread_mutex_unlock(&call->mutex);
}

/* ---- the application ---- */

/* Puts the other line on hold if this one rings. */
static void on_call_state(unsigned id, enum state state)
{
	struct call_info other;

	usleep(10000); /* draws */
	if (state == RINGING) {
		other = pjsua_call_get_info(!id);
		changes += other.state == CONFIRMED;
	}
	changes++;
}

/* ---- threads ---- */

static void *worker_1(void *data)
{
	unsigned round;

	(void)data;
	pthread_setname_np(pthread_self(), "worker 1");
	for (round = 0;; round++) {
		set_state(0, RINGING);
		usleep(30000);
		set_state(0, IDLE);
		usleep(40000);
	}
	return NULL;
}

/* Answers come between the changes. From the eighth on they are long, with many streams, and come at any
 * time. */
static void *worker_2(void *data)
{
	unsigned round;

	(void)data;
	pthread_setname_np(pthread_self(), "worker 2");
	usleep(25000);
	for (round = 0;; round++) {
		if (round == 7) {
			for (;;) {
				on_answer(1, 60000);
				usleep(5000);
			}
		}
		on_answer(1, 500);
		usleep(90000);
	}
	return NULL;
}

static void *keypad(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "keypad");
	for (;;) {
		pthread_mutex_lock(&pjsua_mutex);
		keys += active > 0;
		pthread_mutex_unlock(&pjsua_mutex);
		usleep(37000);
	}
	return NULL;
}

static void *media(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "media");
	for (;;) {
		packets++;
		usleep(20000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const mains[])(void *) = {worker_1, worker_2, keypad, media};
	pthread_t thread;
	unsigned i;

	if (argc < 2)
		return 2;
	copies = !strcmp(argv[1], "healthy");
	for (i = 0; i < 4; i++)
		pthread_create(&thread, NULL, mains[i], NULL);
	for (;;) {
		usleep(200000);
		printf("%u changes, %u packets\n", changes, packets);
		fflush(stdout);
	}
}
