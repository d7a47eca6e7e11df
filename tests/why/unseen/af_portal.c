/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_bus_message asks for a volume's label with call_and_wait, which runs a nested main loop. The
 *     reply comes over the descriptor whose source is being dispatched and can't recurse, so nobody reads it.
 *   culprit: call_and_wait|on_bus_message
 *   victim: run_bus|tick
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A desktop's volume monitor: it hears of volumes over a bus, asks for their labels, and counts them. */
#include <glib-unix.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define VOLUMES 12

enum type {
	ADDED,
	REMOVED,
	GET_LABEL,
	LABEL,
	BYE
};

struct message {
	int type;
	int volume;
	char text[24];
};

struct call {
	int volume;
	GMainLoop *until;
	void (*on_reply)(const struct message *reply);
};

static int bus;
static GMainLoop *main_loop;
static GSList *calls;
static int known, labelled;
static gboolean is_modern;

static void send_message(int socket, int type, int volume, const char *text)
{
	struct message message = {.type = type, .volume = volume};

	g_strlcpy(message.text, text, sizeof(message.text));
	if (write(socket, &message, sizeof(message)) != (ssize_t)sizeof(message))
		g_error("bus: short write");
}

static void start_call(int volume, GMainLoop *until, void (*on_reply)(const struct message *))
{
	struct call *call = g_new0(struct call, 1);

	call->volume = volume;
	call->until = until;
	call->on_reply = on_reply;
	calls = g_slist_append(calls, call);
	send_message(bus, GET_LABEL, volume, "");
}

static void finish_call(const struct message *reply)
{
	for (GSList *link = calls; link; link = link->next) {
		struct call *call = link->data;

		if (call->volume != reply->volume)
			continue;
		calls = g_slist_delete_link(calls, link);
		if (call->on_reply)
			call->on_reply(reply);
		if (call->until)
			g_main_loop_quit(call->until);
		g_free(call);
		return;
	}
}

static void note_label(const struct message *reply)
{
	if (reply->text[0])
		labelled++;
}

/* For callers that need the label at once. */
static void call_and_wait(int volume)
{
	GMainLoop *nested = g_main_loop_new(NULL, FALSE);

	start_call(volume, nested, note_label);
	g_main_loop_run(nested);
	g_main_loop_unref(nested);
}

static gboolean on_bus_message(gint descriptor, GIOCondition condition, gpointer unused)
{
	struct message message;

	(void)condition;
	(void)unused;
	if (read(descriptor, &message, sizeof(message)) != (ssize_t)sizeof(message))
		return G_SOURCE_REMOVE;
	switch (message.type) {
	case ADDED:
		known++;
		/* Removable volumes sit in the panel, which wants the label before it draws. */
		if (!is_modern && message.volume == 7)
			call_and_wait(message.volume);
		else
			start_call(message.volume, NULL, note_label);
		break;
	case REMOVED: known--; break;
	case LABEL: finish_call(&message); break;
	default: g_main_loop_quit(main_loop); return G_SOURCE_REMOVE;
	}
	return G_SOURCE_CONTINUE;
}

static gboolean tick(gpointer ticks)
{
	++*(int *)ticks;
	return G_SOURCE_CONTINUE;
}

/* The other side of the bus. It announces a volume, and answers until its label was asked for. */
static gpointer run_bus(gpointer data)
{
	int peer = GPOINTER_TO_INT(data);
	struct message request;
	char label[24];

	for (int volume = 0; volume < VOLUMES; volume++) {
		g_usleep(4000);
		send_message(peer, ADDED, volume, "");
		if (read(peer, &request, sizeof(request)) != (ssize_t)sizeof(request))
			break;
		g_usleep(2000);
		g_snprintf(label, sizeof(label), "disk-%d", request.volume);
		send_message(peer, LABEL, request.volume, label);
		if (volume % 5 == 4)
			send_message(peer, REMOVED, volume, "");
	}
	send_message(peer, BYE, 0, "");
	/* The monitor hangs up last. */
	if (read(peer, &request, sizeof(request)) == 0)
		close(peer);
	return NULL;
}

int main(int argc, char **argv)
{
	int ends[2], ticks = 0;
	GThread *thread;

	is_modern = argc > 1 && strcmp(argv[1], "healthy") == 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		return 1;
	bus = ends[0];
	main_loop = g_main_loop_new(NULL, FALSE);
	g_unix_fd_add(bus, G_IO_IN, on_bus_message, NULL);
	g_timeout_add(15, tick, &ticks);
	thread = g_thread_new("bus", run_bus, GINT_TO_POINTER(ends[1]));
	g_main_loop_run(main_loop);
	close(bus);
	g_thread_join(thread);
	g_main_loop_unref(main_loop);
	printf("%d volumes, %d labels, %d ticks\n", known, labelled, ticks);
	return 0;
}
