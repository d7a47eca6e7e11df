/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_answer() forgets to return an error from the GTask of lookup_contact() when the directory's answer has no
 *     address. on_contact() is never called for “dora”, and the main loop runs forever.
 *   culprit: on_answer|lookup_contact
 *   victim: send_invitations|main_loop
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Looks up the guests of a party in a directory (a server on a socket), and sends invitations when all are known. */

#include <gio/gio.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define GUESTS 5

struct lookup {
	char *name;
	GSocketConnection *connection;
	GDataInputStream *answers;
};

struct party {
	GMainLoop *loop;
	GPtrArray *addresses;
	unsigned unknown, pending;
};

static const char *const guests[GUESTS] = {"ann", "bob", "carl", "dora", "emil"};
static bool dora_moved; /* the directory knows no address of her */

/* The directory server: one question for each connection. */
static NOINLINE void answer_question(int descriptor)
{
	struct timespec time = {.tv_nsec = 30000000};
	char name[64], answer[160];
	ssize_t got = read(descriptor, name, sizeof(name) - 1);

	if (got <= 1)
		return;
	name[got - 1] = '\0';
	nanosleep(&time, NULL);
	if (dora_moved && !strcmp(name, "dora"))
		snprintf(answer, sizeof(answer), "%s\n", name);
	else
		snprintf(answer, sizeof(answer), "%s;%s@example.org\n", name, name);
	if (write(descriptor, answer, strlen(answer)) < 0)
		perror("directory");
}

static gpointer run_directory(gpointer data)
{
	const int *connections = data;

	for (int i = 0; i < GUESTS; i++)
		answer_question(connections[i]);
	return NULL;
}

static void lookup_free(void *data)
{
	struct lookup *lookup = data;

	g_free(lookup->name);
	g_object_unref(lookup->answers);
	g_object_unref(lookup->connection);
	g_free(lookup);
}

static NOINLINE void on_answer(GObject *source, GAsyncResult *result, gpointer data)
{
	GTask *task = data;
	struct lookup *lookup = g_task_get_task_data(task);
	GError *error = NULL;
	char *line = g_data_input_stream_read_line_finish(G_DATA_INPUT_STREAM(source), result, NULL,
		&error);
	char **fields;

	if (error) {
		g_task_return_error(task, error);
		g_object_unref(task);
		return;
	}
	if (!line) {
		g_task_return_new_error(task, G_IO_ERROR, G_IO_ERROR_CLOSED,
			"the directory has hung up");
		g_object_unref(task);
		return;
	}
	fields = g_strsplit(line, ";", 2);
	g_free(line);
	if (!fields[0] || !fields[1]) {
		fprintf(stderr, "%s: bad entry\n", lookup->name);
		g_strfreev(fields);
		return;
	}
	g_task_return_pointer(task, g_strdup(fields[1]), g_free);
	g_object_unref(task);
	g_strfreev(fields);
}

/* Ends by lookup_contact_finish() with the address. */
static NOINLINE void lookup_contact(const char *name, int descriptor, GAsyncReadyCallback callback,
	gpointer data)
{
	GTask *task = g_task_new(NULL, NULL, callback, data);
	struct lookup *lookup = g_new0(struct lookup, 1);
	GSocket *socket = g_socket_new_from_fd(descriptor, NULL);
	char *question = g_strdup_printf("%s\n", name);

	g_task_set_source_tag(task, lookup_contact);
	lookup->name = g_strdup(name);
	lookup->connection = g_socket_connection_factory_create_connection(socket);
	lookup->answers = g_data_input_stream_new(
		g_io_stream_get_input_stream(G_IO_STREAM(lookup->connection)));
	g_task_set_task_data(task, lookup, lookup_free);
	g_socket_send(socket, question, strlen(question), NULL, NULL);
	g_data_input_stream_read_line_async(lookup->answers, G_PRIORITY_DEFAULT, NULL, on_answer,
		task);
	g_free(question);
	g_object_unref(socket);
}

static char *lookup_contact_finish(GAsyncResult *result, GError **error)
{
	return g_task_propagate_pointer(G_TASK(result), error);
}

static NOINLINE void send_invitations(struct party *party)
{
	for (unsigned i = 0; i < party->addresses->len; i++)
		printf("to %s: please come on Friday\n", (const char *)party->addresses->pdata[i]);
	if (party->unknown)
		printf("%u guests without an address\n", party->unknown);
	g_main_loop_quit(party->loop);
}

static NOINLINE void on_contact(GObject *source, GAsyncResult *result, gpointer data)
{
	struct party *party = data;
	GError *error = NULL;
	char *address = lookup_contact_finish(result, &error);

	(void)source;
	if (address) {
		g_ptr_array_add(party->addresses, address);
	} else {
		fprintf(stderr, "lookup: %s\n", error->message);
		g_error_free(error);
		party->unknown++;
	}
	if (--party->pending == 0)
		send_invitations(party);
}

int main(int argc, char **argv)
{
	struct party party = {.loop = g_main_loop_new(NULL, FALSE),
		.addresses = g_ptr_array_new_with_free_func(g_free)};
	int connections[GUESTS];
	GThread *directory;

	dora_moved = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < GUESTS; i++) {
		int sockets[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
			return EXIT_FAILURE;
		connections[i] = sockets[1];
		party.pending++;
		lookup_contact(guests[i], sockets[0], on_contact, &party);
	}
	directory = g_thread_new("directory", run_directory, connections);
	g_main_loop_run(party.loop);
	g_thread_join(directory);
	for (int i = 0; i < GUESTS; i++)
		close(connections[i]);
	g_ptr_array_unref(party.addresses);
	g_main_loop_unref(party.loop);
	return EXIT_SUCCESS;
}
