/* SPDX-License-Identifier: ISC */
/*
 * Uses libevent in most ways, and prints what it sees. The output is the same with and without
 * thrum. It knows nothing of thrum.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_compat.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/event_compat.h>
#include <event2/event_struct.h>
#include <event2/listener.h>
#include <event2/util.h>
#include <netdb.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct event_base *base;
static struct event_base *const *const own = &base;
static struct event moved, kept;

static const char *yes(bool is_so)
{
	return is_so ? "yes" : "no";
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void finalized(struct event *event, void *argument)
{
	(void)event;
	printf("finalized, argument: %s\n", yes(argument == own));
}

static void ticked(evutil_socket_t fd, short what, void *argument)
{
	struct event **self = argument;

	printf("ticked %d, what %d, argument: %s\n", (int)fd, what, yes(*self != NULL));
	event_free(*self);
	*self = NULL;
}

static void self_ticked(evutil_socket_t fd, short what, void *argument)
{
	(void)fd, (void)what;
	printf("itself: %s, its callback: %s\n", yes(event_get_callback_arg(argument) == argument),
		yes(event_get_callback(argument) == self_ticked));
	event_free_finalize(0, argument, finalized);
}

static void readable(evutil_socket_t fd, short what, void *argument)
{
	char byte;

	(void)what;
	printf("read %zd, argument: %s\n", read((int)fd, &byte, 1), yes(argument == &kept));
}

static void interrupted(evutil_socket_t number, short what, void *argument)
{
	printf("signal %d, what %d\n", (int)number, what);
	event_del(argument);
}

static void once(evutil_socket_t fd, short what, void *argument)
{
	printf("once %d, %d, argument: %s\n", (int)fd, what, yes(argument == own));
}

static void activated(evutil_socket_t fd, short what, void *argument)
{
	printf("activated %d, %d, argument: %s\n", (int)fd, what, yes(argument == NULL));
}

/* Runs the loop until nothing is left, so that the order of the output isn't a matter of time. */
static void run(void)
{
	printf("loop: %d\n", event_base_dispatch(base));
}

static void show_events(void)
{
	static struct event *tick, *number, *user;
	struct timeval soon = {0, 2000}, at_once = {0, 0};
	const struct timeval *common = event_base_init_common_timeout(base, &soon);
	struct event_base *of;
	event_callback_fn callback;
	struct event *self;
	evutil_socket_t fd;
	void *argument;
	short what;
	int ends[2];

	tick = event_new(base, -1, 0, ticked, &tick);
	event_get_assignment(tick, &of, &fd, &what, &callback, &argument);
	printf("assigned: %s\n",
		yes(of == base && fd == -1 && callback == ticked && argument == &tick));
	event_add(tick, common);
	run();

	self = event_new(base, -1, EV_PERSIST | EV_FINALIZE, self_ticked, event_self_cbarg());
	event_add(self, &soon);
	run();

	number = evsignal_new(base, SIGUSR1, interrupted, event_self_cbarg());
	event_add(number, NULL);
	raise(SIGUSR1);
	run();
	event_free(number);

	event_base_once(base, -1, EV_TIMEOUT, once, (void *)own, &at_once);
	event_once(-1, EV_TIMEOUT, once, (void *)own, &at_once);
	printf("wrong: %d\n", event_base_once(base, -1, EV_SIGNAL, once, NULL, NULL));
	run();

	if (pipe(ends) != 0 || write(ends[1], "x", 1) != 1)
		abort();
	/* Two events in the program's own memory; one moves while it isn't added. */
	event_assign(&moved, base, ends[0], EV_READ, readable, &kept);
	kept = moved;
	event_assign(&moved, base, -1, 0, once, NULL);
	event_add(&kept, NULL);
	printf("kept: %s, moved: %s\n", yes(event_get_callback(&kept) == readable),
		yes(event_get_callback(&moved) == once && !event_get_callback_arg(&moved)));
	event_finalize(0, &moved, finalized);
	run();
	close(ends[0]);
	close(ends[1]);

	user = event_new(base, -1, 0, activated, NULL);
	event_active(user, EV_READ, 1);
	run();
	event_free(user);

	event_set(&moved, -1, 0, once, (void *)own);
	event_base_set(base, &moved);
	event_add(&moved, &at_once);
	event_base_loop(base, EVLOOP_ONCE);
}

/* ---- Bufferevents ---------------------------------------------------------------------------- */

static struct bufferevent *client;
static struct evconnlistener *listener;
static bool is_peer_known, is_peer_right;
static int peer_family;

static void peer_changed(struct bufferevent *peer, short what, void *argument)
{
	printf("peer: %d, argument: %s\n", what, yes(argument == own));
	bufferevent_free(peer);
	evconnlistener_free(listener);
}

static void peer_read(struct bufferevent *peer, void *argument)
{
	char text[16];
	size_t size = bufferevent_read(peer, text, sizeof text);

	/* Only here it is sure that the client was told of its connection, too. */
	printf("connection: %s, %d\n", yes(is_peer_right), peer_family);
	printf("peer read %.*s, argument: %s\n", (int)size, text, yes(argument == own));
	bufferevent_write(peer, "answer", 6);
}

static void connected_to(struct evconnlistener *from, evutil_socket_t fd, struct sockaddr *address,
	int size, void *argument)
{
	struct bufferevent *peer = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);

	(void)size;
	is_peer_right = from == listener && argument == &listener;
	peer_family = address->sa_family;
	bufferevent_setcb(peer, peer_read, NULL, peer_changed, (void *)own);
	bufferevent_enable(peer, EV_READ);
	is_peer_known = true;
}

static void client_read(struct bufferevent *buffer, void *argument)
{
	printf("client read %zu, argument: %s\n",
		evbuffer_get_length(bufferevent_get_input(buffer)), yes(argument == &client));
	bufferevent_free(client);
}

static void client_changed(struct bufferevent *buffer, short what, void *argument)
{
	bufferevent_data_cb read, write;
	bufferevent_event_cb change;
	void *given;

	printf("client: %d, argument: %s\n", what, yes(argument == &client));
	bufferevent_getcb(buffer, &read, &write, &change, &given);
	printf("callbacks: %s\n",
		yes(read == client_read && !write && change == client_changed &&
			given == argument));
	if (what & BEV_EVENT_CONNECTED)
		bufferevent_write(buffer, "question", 8);
	else
		bufferevent_free(buffer);
}

static void failed(struct evconnlistener *from, void *argument)
{
	(void)from, (void)argument;
	printf("failed\n");
}

static void show_buffers(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof address;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = evconnlistener_new_bind(base, connected_to, &listener, LEV_OPT_CLOSE_ON_FREE, -1,
		(struct sockaddr *)&address, sizeof address);
	evconnlistener_set_error_cb(listener, failed);
	getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&address, &size);
	client = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
	bufferevent_setcb(client, client_read, NULL, client_changed, &client);
	bufferevent_enable(client, EV_READ);
	printf("connect: %d\n",
		bufferevent_socket_connect(client, (struct sockaddr *)&address, sizeof address));
	event_base_dispatch(base);
	printf("peer known: %s\n", yes(is_peer_known));

	/* Nobody listens there any more. */
	client = bufferevent_new(-1, client_read, NULL, client_changed, &client);
	bufferevent_base_set(base, client);
	printf("connect: %d\n",
		bufferevent_socket_connect(client, (struct sockaddr *)&address, sizeof address));
	event_base_dispatch(base);
}

/* ---- Names ----------------------------------------------------------------------------------- */

static void resolved(int result, struct evutil_addrinfo *addresses, void *argument)
{
	printf("resolved: %d, argument: %s\n", result, yes(argument == own));
	if (addresses)
		evutil_freeaddrinfo(addresses);
}

static void answered(int result, char type, int count, int ttl, void *addresses, void *argument)
{
	(void)ttl, (void)addresses;
	printf("answer: %d, %d, %d, argument: %s\n", result, type, count, yes(argument == own));
}

static void show_names(void)
{
	struct evdns_base *dns = evdns_base_new(base, 0);
	struct evutil_addrinfo hints = {.ai_family = AF_INET, .ai_flags = EVUTIL_AI_NUMERICHOST};
	struct evdns_request *request;

	printf("at once: %s\n",
		yes(!evdns_getaddrinfo(dns, "127.0.0.1", "80", &hints, resolved, (void *)own)));
	/* Nobody answers there. */
	evdns_base_nameserver_ip_add(dns, "127.0.0.1:9");
	request = evdns_base_resolve_ipv4(dns, "example.invalid", 0, answered, (void *)own);
	evdns_cancel_request(dns, request);
	event_base_loop(base, EVLOOP_NONBLOCK);
	evdns_base_free(dns, 1);
	event_base_loop(base, EVLOOP_NONBLOCK);
}

int main(void)
{
	base = event_init();
	show_events();
	show_buffers();
	show_names();
	event_base_free(base);
	return 0;
}
