/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: libgusb pull request #84 ("Do not call the hotplug callback with the mutex held", a rare
 *     deadlock in fwupd): idle_hotplug_cb holds idle_events_mutex while it calls device_added, which reads
 *     the device's serial number by a transfer and waits for its end (control_transfer). Transfers are
 *     ended by the usb event thread. When a dock with two devices is plugged in, that thread gets the
 *     second hotplug event first, and wants idle_events_mutex for it (hotplug_arrived). So the transfer
 *     never ends.
 *   culprit: idle_hotplug_cb|hotplug_arrived|idle_events_mutex
 *   victim: metadata
 * case: healthy
 *   args: healthy
 *   run: live 2500
 *   ask: why
 *   culprit: nothing
 */

/* A daemon that updates firmware watches the USB bus. A thread handles the bus, and the main loop the
 * devices. */
#include <gio/gio.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct bus_event {
	gint64 due;
	char *arrived; /* a device's name, or NULL: the end of a transfer */
	struct transfer *transfer;
};

struct transfer {
	GMutex mutex;
	GCond ended;
	bool done;
};

static GMutex bus_mutex;
static GCond bus_changed;
static GList *bus_events; /* by time */

static GMutex idle_events_mutex;
static GPtrArray *idle_events;
static guint idle_id;

static bool unlocked; /* whether callbacks run without the mutex */
static unsigned devices;

/* ---- the bus ---- */

static gint by_time(gconstpointer a, gconstpointer b)
{
	const struct bus_event *one = a, *other = b;

	return one->due < other->due ? -1 : one->due > other->due;
}

static void bus_add(const char *arrived, struct transfer *transfer, unsigned ms)
{
	struct bus_event *event = g_new0(struct bus_event, 1);

	event->due = g_get_monotonic_time() + ms * 1000;
	event->arrived = g_strdup(arrived);
	event->transfer = transfer;
	g_mutex_lock(&bus_mutex);
	bus_events = g_list_insert_sorted(bus_events, event, by_time);
	g_cond_signal(&bus_changed);
	g_mutex_unlock(&bus_mutex);
}

static struct bus_event *bus_next(void)
{
	struct bus_event *event = NULL;

	g_mutex_lock(&bus_mutex);
	while (!event) {
		if (!bus_events) {
			g_cond_wait(&bus_changed, &bus_mutex);
			continue;
		}
		event = bus_events->data;
		if (event->due > g_get_monotonic_time()) {
			g_cond_wait_until(&bus_changed, &bus_mutex, event->due);
			event = NULL;
		} else {
			bus_events = g_list_delete_link(bus_events, bus_events);
		}
	}
	g_mutex_unlock(&bus_mutex);
	return event;
}

/* ---- the devices, in the main loop ---- */

/* Asks the device, and waits for its answer. */
static void control_transfer(void)
{
	struct transfer transfer = {.done = false};

	g_mutex_init(&transfer.mutex);
	g_cond_init(&transfer.ended);
	bus_add(NULL, &transfer, 40);
	g_mutex_lock(&transfer.mutex);
	while (!transfer.done)
		g_cond_wait(&transfer.ended, &transfer.mutex);
	g_mutex_unlock(&transfer.mutex);
	g_cond_clear(&transfer.ended);
	g_mutex_clear(&transfer.mutex);
}

static void device_added(const char *name)
{
	control_transfer(); /* its serial number */
	devices++;
	printf("%s\n", name);
	fflush(stdout);
}

static gboolean idle_hotplug_cb(gpointer data)
{
	GPtrArray *events;
	guint i;

	(void)data;
	g_mutex_lock(&idle_events_mutex);
	events = idle_events;
	idle_events = g_ptr_array_new_with_free_func(g_free);
	idle_id = 0;
	if (unlocked)
		g_mutex_unlock(&idle_events_mutex);
	for (i = 0; i < events->len; i++)
		device_added(events->pdata[i]);
	if (!unlocked)
		g_mutex_unlock(&idle_events_mutex);
	g_ptr_array_unref(events);
	return G_SOURCE_REMOVE;
}

/* ---- the event thread ---- */

static void hotplug_arrived(char *name)
{
	g_mutex_lock(&idle_events_mutex);
	g_ptr_array_add(idle_events, name);
	if (!idle_id)
		idle_id = g_idle_add(idle_hotplug_cb, NULL);
	g_mutex_unlock(&idle_events_mutex);
}

static void transfer_end(struct transfer *transfer)
{
	g_mutex_lock(&transfer->mutex);
	transfer->done = true;
	g_cond_signal(&transfer->ended);
	g_mutex_unlock(&transfer->mutex);
}

static gpointer usb_event_thread(gpointer data)
{
	struct bus_event *event;

	(void)data;
	for (;;) {
		event = bus_next();
		if (event->arrived)
			hotplug_arrived(event->arrived);
		else
			transfer_end(event->transfer);
		g_free(event);
	}
	return NULL;
}

static GMutex count_mutex;
static GCond counted;
static gint count = -1;

static gboolean count_devices(gpointer data)
{
	(void)data;
	g_mutex_lock(&count_mutex);
	count = (gint)devices;
	g_cond_signal(&counted);
	g_mutex_unlock(&count_mutex);
	return G_SOURCE_REMOVE;
}

/* Downloads what is known of firmware for the devices that the main loop knows. */
static gpointer metadata(gpointer data)
{
	(void)data;
	for (;;) {
		g_mutex_lock(&count_mutex);
		count = -1;
		g_idle_add(count_devices, NULL);
		while (count < 0)
			g_cond_wait(&counted, &count_mutex);
		g_mutex_unlock(&count_mutex);
		g_usleep(70000);
	}
	return NULL;
}

/* Writes the history of updates. */
static gpointer history(gpointer data)
{
	(void)data;
	for (;;)
		g_usleep(25000);
	return NULL;
}

/* Somebody plugs in and out. The dock has a hub and a network card, the one 20 ms after the other. */
static gboolean plug(gpointer data)
{
	static unsigned times;
	char *name;

	(void)data;
	if (++times % 7 == 6) {
		bus_add("dock hub", NULL, 0);
		bus_add("dock network card", NULL, 20);
		return G_SOURCE_CONTINUE;
	}
	name = g_strdup_printf("stick %u", times);
	bus_add(name, NULL, 0);
	g_free(name);
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	GMainLoop *loop;

	if (argc < 2)
		return 2;
	unlocked = !strcmp(argv[1], "healthy");
	idle_events = g_ptr_array_new_with_free_func(g_free);
	loop = g_main_loop_new(NULL, FALSE);
	g_thread_new("usb events", usb_event_thread, NULL);
	g_thread_new("metadata", metadata, NULL);
	g_thread_new("history", history, NULL);
	g_timeout_add(120, plug, NULL);
	g_main_loop_run(loop);
	return 0;
}
