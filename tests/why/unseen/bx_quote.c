/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: The exchange's protocol has one byte for a call's number. The dispatcher (on_reply) compares that byte
 *     with the whole number of each open call. From call 256 on they are never equal: the exchange has answered
 *     "quote 256", but the dispatcher drops the answer as one that comes too late. The heartbeats, which have
 *     no number, go on.
 *   culprit: dispatcher|on_reply
 *   victim: quote 256|quote 257|trader
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Two traders ask an exchange for quotes over one connection. A dispatcher reads the answers and wakes the traders. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <unistd.h>

enum {
	TRADERS = 2,
	QUOTES = 160, /* of each trader */
};

struct message {
	char kind; /* 'q': a quote; 'h': a heartbeat */
	unsigned char number;
	unsigned char price;
};

struct call {
	struct call *next;
	unsigned number;
	unsigned price;
	bool is_done;
	thrum_task task;
};

static bool broken;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static struct call *open_calls;
static unsigned last_number;
static unsigned beats;
static unsigned late;
static unsigned traders_left = TRADERS;
static int trading, exchange; /* the ends of the connection */
static thrum_task connection;

static void send_message(int socket, char kind, unsigned number, unsigned price)
{
	struct message message = {kind, (unsigned char)number, (unsigned char)price};

	if (write(socket, &message, sizeof(message)) != sizeof(message))
		exit(1);
}

static bool receive_message(int socket, struct message *message)
{
	ssize_t size;

	thrum_suspend(THRUM_WAIT_FOR_WORK);
	size = read(socket, message, sizeof(*message));
	thrum_resume();
	return size == sizeof(*message);
}

/* Takes the call that this answer belongs to out of the list. The caller holds the lock. */
static struct call *call_find(unsigned char number)
{
	for (struct call **place = &open_calls; *place; place = &(*place)->next) {
		struct call *call = *place;

		if (broken ? call->number == number : (unsigned char)call->number == number) {
			*place = call->next;
			return call;
		}
	}
	return NULL;
}

static void on_reply(const struct message *message)
{
	struct call *call;

	if (message->kind == 'h') {
		beats++;
		return;
	}
	pthread_mutex_lock(&lock);
	call = call_find(message->number);
	if (call) {
		call->price = message->price;
		call->is_done = true;
		thrum_task_resolve(call->task);
		pthread_cond_broadcast(&answered);
	} else {
		late++;
	}
	pthread_mutex_unlock(&lock);
}

static void *dispatcher_main(void *data)
{
	struct message message;

	(void)data;
	thrum_lane_name("dispatcher");
	while (receive_message(trading, &message))
		on_reply(&message);
	return NULL;
}

/* Asks for a quote and waits for it. */
static unsigned quote(void)
{
	struct call call = {0};

	pthread_mutex_lock(&lock);
	call.number = ++last_number;
	call.next = open_calls;
	open_calls = &call;
	call.task = thrum_task_createf(THRUM_KIND_REQUEST, "quote %u", call.number);
	thrum_task_should_resolve(call.task);
	thrum_task_wait(call.task, connection);
	send_message(trading, 'q', call.number, 0);
	if (!call.is_done) {
		thrum_task_wait(thrum_task_current(), call.task);
		thrum_suspend(THRUM_BLOCKED);
		while (!call.is_done)
			pthread_cond_wait(&answered, &lock);
		thrum_resume();
	}
	thrum_task_read(thrum_task_current(), call.task);
	pthread_mutex_unlock(&lock);
	return call.price;
}

static void *trader_main(void *data)
{
	unsigned total = 0;

	thrum_lane_name(data);
	thrum_task_should_resolve(thrum_task_current());
	for (unsigned i = 0; i < QUOTES; i++) {
		total += quote();
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(2000);
		thrum_resume();
	}
	__atomic_sub_fetch(&traders_left, 1, __ATOMIC_RELEASE);
	return (void *)(size_t)total;
}

/* The exchange, in a thread of its own. */
static void *exchange_main(void *data)
{
	struct message message;
	unsigned price = 40;

	(void)data;
	thrum_lane_name("exchange");
	while (receive_message(exchange, &message)) {
		price = (price * 5 + 3) % 97;
		if (message.kind == 'q') {
			thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "answer %u",
				message.number);

			THRUM_RUN (task) {
				send_message(exchange, 'q', message.number, price);
				thrum_task_resolve(task);
			}
		} else {
			send_message(exchange, 'h', 0, 0);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static char *names[TRADERS] = {"trader Ada", "trader Bob"};
	pthread_t traders[TRADERS], dispatcher, server;
	int ends[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_start(NULL) != 0)
		fputs("quote: nothing is recorded\n", stderr);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		return 1;
	trading = ends[0];
	exchange = ends[1];
	connection = thrum_task_create(THRUM_KIND_HANDLE, "connection to the exchange");
	pthread_create(&server, NULL, exchange_main, NULL);
	pthread_create(&dispatcher, NULL, dispatcher_main, NULL);
	for (int i = 0; i < TRADERS; i++)
		pthread_create(&traders[i], NULL, trader_main, names[i]);
	while (__atomic_load_n(&traders_left, __ATOMIC_ACQUIRE) > 0) {
		send_message(trading, 'h', 0, 0);
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(50000);
		thrum_resume();
	}
	for (int i = 0; i < TRADERS; i++)
		pthread_join(traders[i], NULL);
	thrum_task_resolve(connection);
	thrum_stop();
	shutdown(trading, SHUT_RDWR);
	pthread_join(dispatcher, NULL);
	pthread_join(server, NULL);
	printf("%u quotes, %u late, %u heartbeats\n", last_number, late, beats);
	return 0;
}
