/* SPDX-License-Identifier: ISC */
/*
 * After libusb/libusb #234.
 *
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: The thread "events" runs the commands of others after each handle_events that was interrupted.
 *     interrupt_event_handler notes the interrupt only if no other event is pending. Once a device is plugged in while
 *     the thread is busy with a page, so the flag POLLFDS_MODIFIED is pending: the interrupt is dropped,
 *     handle_events clears the flag and polls on, and the command "stop streams" is never run.
 *   culprit: interrupt_event_handler|post_command|run_commands|handle_events
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A scanner's driver: one thread handles the events of all devices, and runs commands for the others. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_DEVICES = 4,
	PAGES = 8,
	BUSY_PAGE = 6
};
enum {
	POLLFDS_MODIFIED = 1,
	USER_INTERRUPT = 2
};

struct device {
	int pipe[2];
	void (*on_data)(const char *data);
};

struct command {
	void (*run)(void);
	bool done;
};

static struct {
	pthread_mutex_t event_data_lock;
	unsigned event_flags;
	int event_pipe[2];
	struct device *devices[MAX_DEVICES];
	int device_count;
	/* of the thread that handles events */
	struct pollfd polls[MAX_DEVICES + 1];
	int poll_count;
} context = {.event_data_lock = PTHREAD_MUTEX_INITIALIZER};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t executed;
	struct command *pending;
} commands = {.mutex = PTHREAD_MUTEX_INITIALIZER, .executed = PTHREAD_COND_INITIALIZER};

static bool broken, stopped;
static sem_t page_begins;
static int pages, keys, streams;

/* ---- The library ---------------------------------------------------------------------------- */

static void signal_event(void)
{
	if (write(context.event_pipe[1], "e", 1) != 1)
		exit(2);
}

static void clear_event(void)
{
	char byte;

	if (read(context.event_pipe[0], &byte, 1) != 1)
		exit(2);
}

static void add_device(struct device *device)
{
	pthread_mutex_lock(&context.event_data_lock);
	context.devices[context.device_count++] = device;
	if (!context.event_flags)
		signal_event();
	context.event_flags |= POLLFDS_MODIFIED;
	pthread_mutex_unlock(&context.event_data_lock);
}

/* Lets the call of handle_events that runs, or else the next one, return true. */
static void interrupt_event_handler(void)
{
	pthread_mutex_lock(&context.event_data_lock);
	if (!context.event_flags) {
		signal_event();
		context.event_flags |= USER_INTERRUPT;
	} else if (!broken) {
		context.event_flags |= USER_INTERRUPT;
	}
	pthread_mutex_unlock(&context.event_data_lock);
}

/* The caller holds the lock. */
static void update_polls(void)
{
	if (!(context.event_flags & POLLFDS_MODIFIED))
		return;
	context.polls[0] = (struct pollfd){.fd = context.event_pipe[0], .events = POLLIN};
	for (int i = 0; i < context.device_count; i++)
		context.polls[i + 1] = (struct pollfd){.fd = context.devices[i]->pipe[0],
			.events = POLLIN};
	context.poll_count = context.device_count + 1;
	context.event_flags &= ~POLLFDS_MODIFIED;
	if (!context.event_flags)
		clear_event();
}

/* Handles the next events of the devices. Returns true if it was interrupted. */
static bool handle_events(void)
{
	bool interrupted = false;
	char data[64];

	pthread_mutex_lock(&context.event_data_lock);
	update_polls();
	pthread_mutex_unlock(&context.event_data_lock);
	if (poll(context.polls, (nfds_t)context.poll_count, -1) < 0)
		exit(2);
	if (context.polls[0].revents) {
		pthread_mutex_lock(&context.event_data_lock);
		update_polls();
		if (context.event_flags & USER_INTERRUPT) {
			context.event_flags &= ~USER_INTERRUPT;
			clear_event();
			interrupted = true;
		}
		pthread_mutex_unlock(&context.event_data_lock);
		return interrupted;
	}
	for (int i = 1; i < context.poll_count; i++)
		if (context.polls[i].revents && read(context.polls[i].fd, data, sizeof(data)) > 0)
			context.devices[i - 1]->on_data(data);
	return false;
}

/* ---- The driver ----------------------------------------------------------------------------- */

static void run_commands(void)
{
	pthread_mutex_lock(&commands.mutex);
	if (commands.pending) {
		commands.pending->run();
		commands.pending->done = true;
		commands.pending = NULL;
		pthread_cond_broadcast(&commands.executed);
	}
	pthread_mutex_unlock(&commands.mutex);
}

static void *event_thread(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "events");
	while (!stopped)
		if (handle_events())
			run_commands();
	return NULL;
}

/* Has the event thread run a command, and waits for its end. */
static void post_command(void (*run)(void))
{
	struct command command = {.run = run};

	pthread_mutex_lock(&commands.mutex);
	commands.pending = &command;
	interrupt_event_handler();
	while (!command.done)
		pthread_cond_wait(&commands.executed, &commands.mutex);
	pthread_mutex_unlock(&commands.mutex);
}

static void start_streams(void)
{
	streams++;
}

static void stop_streams(void)
{
	streams--;
}

static void stop_events(void)
{
	stopped = true;
}

static void on_page(const char *data)
{
	sem_post(&page_begins);
	usleep(data[0] == '0' + BUSY_PAGE ? 120000 : 3000); /* unpacks the page */
	pages++;
}

static void on_key(const char *data)
{
	(void)data;
	keys++;
}

/* The buttons of the scanner: somebody plays with them. */
static void *buttons(void *data)
{
	struct device *device = data;

	pthread_setname_np(pthread_self(), "buttons");
	while (!__atomic_load_n(&stopped, __ATOMIC_RELAXED)) {
		if (write(device->pipe[1], "k", 1) != 1)
			break;
		usleep(20000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct device panel = {.on_data = on_key}, scanner = {.on_data = on_page},
			     tray = {.on_data = on_key};
	pthread_t event, pressing;

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	sem_init(&page_begins, 0, 0);
	if (pipe(context.event_pipe) || pipe(panel.pipe) || pipe(scanner.pipe) || pipe(tray.pipe))
		return 2;
	add_device(&panel);
	add_device(&scanner);
	if (pthread_create(&event, NULL, event_thread, NULL) ||
		pthread_create(&pressing, NULL, buttons, &panel))
		return 2;
	usleep(30000); /* the scanner warms up */
	for (int page = 1; page <= PAGES; page++) {
		char request = (char)('0' + page);

		post_command(start_streams);
		if (write(scanner.pipe[1], &request, 1) != 1)
			return 2;
		sem_wait(&page_begins);
		usleep(5000);
		if (page == BUSY_PAGE)
			add_device(&tray); /* is plugged in */
		post_command(stop_streams);
		usleep(15000);
	}
	post_command(stop_events);
	pthread_join(event, NULL);
	pthread_join(pressing, NULL);
	printf("%d pages, %d keys, %d streams left\n", pages, keys, streams);
	return 0;
}
