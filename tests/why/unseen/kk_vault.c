/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: confirm_opening runs a loop within on_keypad_line, whose source can't run again until it returns.
 *   culprit: confirm_opening|on_keypad_line
 *   victim: run_keypad|ask_vault
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * Keypads open this vault; they talk to it line by line over sockets. The vault is a loop of GLib. It asks
 * the keypad for a confirmation before it opens the strong room.
 */

#include <glib-unix.h>
#include <glib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEYPADS 2
#define OPENINGS 10
#define LINE_SIZE 48

struct keypad {
	unsigned int number;
	int vault_end;
	int keypad_end;
	pthread_t thread;
	unsigned int opened;

	/* The vault's thread alone uses these. */
	char request[LINE_SIZE];
	GMainLoop *confirmation;
	bool is_confirmed;
};

static bool broken;
static GMainLoop *vault;
static struct keypad keypads[KEYPADS];
static unsigned int keypads_left = KEYPADS;
static unsigned int blinks;

static void send_line(int fd, const char *line)
{
	size_t length = strlen(line);

	if (write(fd, line, length) != (ssize_t)length)
		perror("write");
}

static bool receive_line(int fd, char *line)
{
	ssize_t got = read(fd, line, LINE_SIZE - 1);

	if (got <= 0)
		return false;
	line[got] = '\0';
	return true;
}

static bool confirm_opening(struct keypad *keypad)
{
	keypad->is_confirmed = false;
	keypad->confirmation = g_main_loop_new(NULL, FALSE);
	send_line(keypad->vault_end, "sure?\n");
	g_main_loop_run(keypad->confirmation);
	g_main_loop_unref(keypad->confirmation);
	keypad->confirmation = NULL;
	return keypad->is_confirmed;
}

static gboolean handle_request(gpointer data)
{
	struct keypad *keypad = data;
	bool is_allowed = true;

	if (strstr(keypad->request, "strong room"))
		is_allowed = confirm_opening(keypad);
	send_line(keypad->vault_end, is_allowed ? "open\n" : "shut\n");
	return G_SOURCE_REMOVE;
}

static gboolean on_keypad_line(gint fd, GIOCondition condition, gpointer data)
{
	struct keypad *keypad = data;
	char line[LINE_SIZE];

	(void)condition;
	if (!receive_line(fd, line)) {
		close(fd);
		if (--keypads_left == 0)
			g_main_loop_quit(vault);
		return G_SOURCE_REMOVE;
	}
	if (keypad->confirmation) {
		keypad->is_confirmed = strcmp(line, "yes\n") == 0;
		g_main_loop_quit(keypad->confirmation);
		return G_SOURCE_CONTINUE;
	}
	memcpy(keypad->request, line, sizeof(line));
	if (broken)
		handle_request(keypad);
	else
		g_idle_add(handle_request, keypad);
	return G_SOURCE_CONTINUE;
}

static gboolean blink(gpointer unused)
{
	(void)unused;
	blinks++;
	return G_SOURCE_CONTINUE;
}

static bool ask_vault(struct keypad *keypad, const char *room)
{
	char line[LINE_SIZE];

	snprintf(line, sizeof(line), "open %s\n", room);
	send_line(keypad->keypad_end, line);
	while (receive_line(keypad->keypad_end, line)) {
		if (strcmp(line, "sure?\n") != 0)
			return strcmp(line, "open\n") == 0;
		usleep(6000);
		send_line(keypad->keypad_end, "yes\n");
	}
	return false;
}

static void *run_keypad(void *data)
{
	struct keypad *keypad = data;

	for (unsigned int i = 0; i < OPENINGS; i++) {
		keypad->opened += ask_vault(keypad, i % 4 == 3 ? "strong room" : "cash box");
		usleep(4000 + 3000 * keypad->number);
	}
	close(keypad->keypad_end);
	return NULL;
}

int main(int argc, char **argv)
{
	guint blinker;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	vault = g_main_loop_new(NULL, FALSE);
	blinker = g_timeout_add(25, blink, NULL);
	for (unsigned int i = 0; i < KEYPADS; i++) {
		struct keypad *keypad = &keypads[i];
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
			return 1;
		keypad->number = i;
		keypad->vault_end = ends[0];
		keypad->keypad_end = ends[1];
		g_unix_fd_add(keypad->vault_end, G_IO_IN | G_IO_HUP, on_keypad_line, keypad);
		pthread_create(&keypad->thread, NULL, run_keypad, keypad);
	}
	g_main_loop_run(vault);
	g_source_remove(blinker);
	g_main_loop_unref(vault);
	for (unsigned int i = 0; i < KEYPADS; i++) {
		pthread_join(keypads[i].thread, NULL);
		printf("keypad %u: %u opened\n", i, keypads[i].opened);
	}
	return 0;
}
