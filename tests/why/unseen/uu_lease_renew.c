/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_retry() leaves the id of its own timeout in retry_id when it returns G_SOURCE_REMOVE.
 *     schedule_retry() takes it for a timeout that is still due and adds none, so that after the second lost
 *     request nobody asks the DHCP server again.
 *   culprit: on_retry|schedule_retry|retry_id
 *   victim: applet|wait_for_renewal
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Keeps the lease of a network interface: asks a DHCP server, asks again if it doesn't answer, and renews. */
#include <arpa/inet.h>
#include <glib-unix.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RENEWALS 8
#define LEASE_MS 15
#define RETRY_MS 10

struct message {
	uint32_t transaction;
	uint32_t address;
	uint32_t seconds;
	char type;
};

static GMainLoop *loop;
static GMutex state_lock;
static GCond state_changed;
static guint renewals;
static guint retry_id;
static uint32_t transaction;
static int client_socket, signal_quality, quality_reports;
static bool fixed;

/* The server. Some requests are lost on the way, as on any wireless network. */
static gpointer run_dhcp_server(gpointer argument)
{
	int fd = GPOINTER_TO_INT(argument);
	unsigned received = 0;
	struct message message;
	while (recv(fd, &message, sizeof message, 0) == (ssize_t)sizeof message) {
		received++;
		if (received == 4 || received == 5)
			continue;
		g_usleep(300);
		message.type = 'A';
		message.address = 0x0a000017;
		message.seconds = 3600;
		send(fd, &message, sizeof message, 0);
	}
	return NULL;
}

/* The applet waits for each new lease, to show it in its menu. */
static void wait_for_renewal(guint number)
{
	g_mutex_lock(&state_lock);
	while (renewals < number)
		g_cond_wait(&state_changed, &state_lock);
	g_mutex_unlock(&state_lock);
}

static gpointer run_applet(gpointer argument)
{
	(void)argument;
	for (guint i = 1; i <= RENEWALS; i++)
		wait_for_renewal(i);
	g_main_loop_quit(loop);
	return NULL;
}

static void send_request(void)
{
	struct message message = {.transaction = transaction, .type = 'R'};
	if (send(client_socket, &message, sizeof message, 0) < 0)
		g_error("send: %s", g_strerror(errno));
}

static gboolean on_retry(gpointer data);

static void schedule_retry(void)
{
	if (retry_id)
		return;
	retry_id = g_timeout_add(RETRY_MS, on_retry, NULL);
}

static gboolean on_retry(gpointer data)
{
	(void)data;
	if (fixed)
		retry_id = 0;
	g_debug("no answer to %u, asking again", transaction);
	send_request();
	schedule_retry();
	return G_SOURCE_REMOVE;
}

static gboolean on_half_lease(gpointer data)
{
	(void)data;
	transaction++;
	send_request();
	schedule_retry();
	return G_SOURCE_REMOVE;
}

static gboolean on_answer(gint fd, GIOCondition condition, gpointer data)
{
	(void)data;
	struct message message;
	if (!(condition & G_IO_IN))
		return G_SOURCE_REMOVE;
	ssize_t length = recv(fd, &message, sizeof message, MSG_DONTWAIT);
	if (length != (ssize_t)sizeof message)
		return G_SOURCE_CONTINUE;
	if (message.type != 'A' || message.transaction != transaction)
		return G_SOURCE_CONTINUE;
	if (retry_id)
		g_source_remove(retry_id);
	retry_id = 0;
	g_timeout_add(LEASE_MS / 2, on_half_lease, NULL);
	g_mutex_lock(&state_lock);
	renewals++;
	g_cond_broadcast(&state_changed);
	g_mutex_unlock(&state_lock);
	return G_SOURCE_CONTINUE;
}

/* The driver tells by a pipe how well it hears the access point. */
static gboolean on_signal_quality(gint fd, GIOCondition condition, gpointer data)
{
	(void)data;
	unsigned char quality[16];
	ssize_t length = read(fd, quality, sizeof quality);
	if (length <= 0 || !(condition & G_IO_IN))
		return G_SOURCE_REMOVE;
	signal_quality = quality[length - 1];
	quality_reports++;
	return G_SOURCE_CONTINUE;
}

static gpointer run_driver(gpointer argument)
{
	int fd = GPOINTER_TO_INT(argument);
	for (unsigned i = 0; i < 200; i++) {
		unsigned char quality = (unsigned char)(60 + i % 7);
		if (write(fd, &quality, 1) != 1)
			break;
		g_usleep(4000);
	}
	return NULL;
}

static gboolean on_scan(gpointer data)
{
	guint *scans = data;
	++*scans;
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	fixed = argc > 1 && strcmp(argv[1], "healthy") == 0;
	int sockets[2], driver[2];
	guint scans = 0;
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) || pipe(driver))
		return 1;
	client_socket = sockets[0];
	loop = g_main_loop_new(NULL, FALSE);
	g_unix_fd_add(client_socket, G_IO_IN, on_answer, NULL);
	g_unix_fd_add(driver[0], G_IO_IN, on_signal_quality, NULL);
	g_timeout_add(25, on_scan, &scans);
	g_thread_new("dhcpd", run_dhcp_server, GINT_TO_POINTER(sockets[1]));
	g_thread_new("driver", run_driver, GINT_TO_POINTER(driver[1]));
	GThread *applet = g_thread_new("applet", run_applet, NULL);
	g_timeout_add(1, on_half_lease, NULL);
	g_main_loop_run(loop);
	g_thread_join(applet);
	printf("%u renewals, %u scans, quality %d of %d\n", renewals, scans, signal_quality,
		quality_reports);
	return 0;
}
