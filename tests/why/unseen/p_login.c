/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: circular await over two loops: the login of user 2 (auth's loop) waits for the session thread's "open
 *     session", which asks auth to "check token", which finds the login of user 2 in flight and waits for it.
 *   culprit: check[ _]token|open[ _]session|in[ _]flight
 *   victim: main|front
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

/* Two services, each a thread with a loop of its own: auth (logins, tokens) and sessions. They send each other
 * messages through an async handle: a call, and later its answer. */
typedef struct thrum_promise *job(struct thrum_loop *loop, int user);
struct service;
struct message {
	struct message *next;
	struct service *from;
	const char *name;
	job *run; /* NULL: the answer */
	int user;
	unsigned number;
	thrum_task caller;
	struct thrum_resolver *resolver; /* of the caller's loop */
};
struct service {
	uv_loop_t uv;
	struct thrum_loop *loop;
	uv_async_t doorbell;
	pthread_mutex_t mutex;
	struct message *first;
	pthread_t thread;
	uv_sem_t up;
	const char *name;
	bool closing;
};
static struct service auth = {.name = "auth"}, sessions = {.name = "sessions"},
		      front = {.name = "front"};
static struct thrum_promise *logins[4]; /* in flight, so that nobody logs in twice at a time */
static bool wait_for_login;
static unsigned numbers;

static void post(struct service *to, struct message *message)
{
	struct message **end;

	thrum_link_send(&message->number, sizeof message->number);
	pthread_mutex_lock(&to->mutex);
	for (end = &to->first; *end; end = &(*end)->next)
		continue;
	message->next = NULL;
	*end = message;
	pthread_mutex_unlock(&to->mutex);
	uv_async_send(&to->doorbell);
}

static struct thrum_promise *call(struct service *from, struct service *to, const char *name,
	job *run, int user)
{
	struct message *message = calloc(1, sizeof *message);
	struct thrum_promise *answer = thrum_promise_wait(from->loop, NULL, &message->resolver);

	thrum_promise_labelf(answer, "call: %s", name);
	message->from = from;
	message->name = name;
	message->run = run;
	message->user = user;
	message->number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED);
	message->caller = thrum_promise_task_id(answer);
	post(to, message);
	return answer;
}

static void answer(struct thrum_loop *loop, void *data)
{
	struct message *message = data;

	message->run = NULL;
	message->number += 1000000;
	post(message->from, message);
}

static void on_doorbell(uv_async_t *doorbell)
{
	struct service *service = doorbell->data;
	struct message *message;

	for (;;) {
		pthread_mutex_lock(&service->mutex);
		if ((message = service->first))
			service->first = message->next;
		pthread_mutex_unlock(&service->mutex);
		if (!message)
			break;
		if (message->run) {
			thrum_link_receive(&message->number, sizeof message->number);
			struct thrum_promise *work = message->run(service->loop, message->user);
			thrum_promise_labelf(work, "%s %d", message->name, message->user);
			if (thrum_promise_state(work) == THRUM_PROMISE_PENDING)
				thrum_task_wait(message->caller, thrum_promise_task_id(work));
			thrum_promise_on_termination(work, answer, message, NULL);
		} else {
			thrum_link_receive(&message->number, sizeof message->number);
			thrum_resolver_resolve(message->resolver, thrum_value_none());
			free(message);
		}
	}
	if (service->closing)
		uv_close((uv_handle_t *)doorbell, NULL);
}

static void service_open(struct service *service)
{
	pthread_mutex_init(&service->mutex, NULL);
	uv_loop_init(&service->uv);
	if (thrum_loop_create(&service->uv, &service->loop))
		abort();
	uv_async_init(&service->uv, &service->doorbell, on_doorbell);
	service->doorbell.data = service;
}

static void *service_main(void *data)
{
	struct service *service = data;

	thrum_lane_name(service->name);
	service_open(service);
	uv_sem_post(&service->up);
	uv_run(&service->uv, UV_RUN_DEFAULT);
	return NULL;
}

static void service_start(struct service *service)
{
	uv_sem_init(&service->up, 0);
	pthread_create(&service->thread, NULL, service_main, service);
	uv_sem_wait(&service->up);
}

/* In auth's loop: the token counts if its user is known; a user who logs in just now soon will be. */
static struct thrum_promise *check_token(struct thrum_loop *loop, int user)
{
	if (wait_for_login && user == 2 && logins[user])
		return thrum_promise_protected(thrum_promise_ref(logins[user]));
	return thrum_sleep(loop, 2);
}

/* In the sessions' loop. */
static struct thrum_promise *open_session(struct thrum_loop *loop, int user)
{
	return call(&sessions, &auth, "check token", check_token, user);
}

static struct thrum_promise *password_checked(struct thrum_loop *loop, void *value, void *data)
{
	return call(&auth, &sessions, "open session", open_session, (int)(intptr_t)data);
}

static struct thrum_promise *logged_in(struct thrum_loop *loop, void *data)
{
	int user = (int)(intptr_t)data;

	thrum_promise_unref(logins[user]);
	logins[user] = NULL;
	return thrum_promise_return(loop, thrum_value_none());
}

/* In auth's loop. */
static struct thrum_promise *login(struct thrum_loop *loop, int user)
{
	void *data = (void *)(intptr_t)user;
	struct thrum_promise *done;

	done = thrum_promise_bind(thrum_sleep(loop, 3 + user), password_checked, data, NULL);
	thrum_promise_labelf(done, "login in flight: user %d", user);
	logins[user] = thrum_promise_ref(done);
	return thrum_promise_finalize(done, logged_in, data, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[4];
	int result;

	wait_for_login = argc > 1 && !strcmp(argv[1], "broken");
	service_start(&auth);
	service_start(&sessions);
	service_open(&front);
	for (int user = 0; user < 4; user++)
		all[user] = thrum_promise_should_resolve(call(&front, &auth, "login", login, user));
	result = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(front.loop, all, 4), "main"));
	thrum_stop();
	auth.closing = sessions.closing = true;
	uv_async_send(&auth.doorbell);
	uv_async_send(&sessions.doorbell);
	pthread_join(auth.thread, NULL);
	pthread_join(sessions.thread, NULL);
	printf("login: %d\n", result);
	return result != 0;
}
