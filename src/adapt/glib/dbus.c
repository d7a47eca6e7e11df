/* SPDX-License-Identifier: ISC */
/*
 * Calls over D-Bus that wait for the answer. If the program calls a name of its own, GLib's thread receives
 * the call, and attaches a source that handles it to the context of the object. If that is a context which
 * the calling thread runs, it can't run that source before the call ends. So the call waits for the source,
 * and that for the task that calls.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

#include "adapt/glib/glib.h"
#include "adapt/look/look.h"

#define ASKS 8u  /* threads that call at the same time; further calls are as others */
#define NAMES 8u /* that the program owns */
#define NAME_MAX_LENGTH 255

REAL(g_dbus_connection_get_unique_name)
REAL(g_dbus_proxy_get_connection)
REAL(g_dbus_proxy_get_name)
REAL(g_bus_unown_name)
REAL(g_main_context_default)

static struct ask {
	_Atomic uint32_t tid;          /* of the thread that calls; 0: it is free */
	_Atomic uint64_t call, caller; /* tasks */
	_Atomic uint64_t source;       /* the latest of another context for which the call waits */
	const void *_Atomic context;   /* that it runs */
	_Atomic bool is_elsewhere;     /* a source of another context handles a call meanwhile */
	char label[80];                /* of the source that handles the call */
} asks[ASKS];
static _Atomic int ask_count;

static struct {
	_Atomic int state; /* 0: it is free, 1: is being set, 2: is set */
	char name[NAME_MAX_LENGTH + 1];
} names[NAMES];
/* A name was given up: which are left isn't known. */
static _Atomic bool are_unknown;

/* ---- Names ------------------------------------------------------------------------------------- */

static void note_name(const char *name)
{
	if (!name || strlen(name) > NAME_MAX_LENGTH || !is_chosen(ADAPTER_GLIB))
		return;
	for (unsigned i = 0; i < NAMES; i++) {
		int before = 0;

		if (!atomic_compare_exchange_strong(&names[i].state, &before, 1))
			continue;
		strcpy(names[i].name, name);
		atomic_store(&names[i].state, 2);
		return;
	}
}

static bool owns(GDBusConnection *connection, const char *name)
{
	const char *unique = connection ? real_g_dbus_connection_get_unique_name(NULL)(connection)
					: NULL;

	if (!name || (unique && strcmp(unique, name) == 0))
		return name != NULL;
	for (unsigned i = 0; i < NAMES && !atomic_load(&are_unknown); i++)
		if (atomic_load(&names[i].state) == 2 && strcmp(names[i].name, name) == 0)
			return true;
	return false;
}

#define OWN(function, parameters, arguments) \
	REAL(function) \
	STAND_IN guint function parameters \
	{ \
		note_name(name); \
		return real_##function(CALLER) arguments; \
	}
OWN(g_bus_own_name,
	(GBusType type, const gchar *name, GBusNameOwnerFlags flags, GBusAcquiredCallback on_bus,
		GBusNameAcquiredCallback on_name, GBusNameLostCallback on_lost, gpointer data,
		GDestroyNotify notify),
	(type, name, flags, on_bus, on_name, on_lost, data, notify))
OWN(g_bus_own_name_on_connection,
	(GDBusConnection * connection, const gchar *name, GBusNameOwnerFlags flags,
		GBusNameAcquiredCallback on_name, GBusNameLostCallback on_lost, gpointer data,
		GDestroyNotify notify),
	(connection, name, flags, on_name, on_lost, data, notify))

STAND_IN void g_bus_unown_name(guint id)
{
	atomic_store(&are_unknown, true);
	real_g_bus_unown_name(CALLER)(id);
}

/* ---- Calls ------------------------------------------------------------------------------------- */

static void begin_own(thrum_task call, const char *method)
{
	for (unsigned i = 0; i < ASKS; i++) {
		uint32_t none = 0;

		if (!atomic_compare_exchange_strong(&asks[i].tid, &none, own_tid()))
			continue;
		snprintf(asks[i].label, sizeof asks[i].label, "handling of the own call %s",
			method ? method : "");
		atomic_store(&asks[i].is_elsewhere, false);
		atomic_store(&asks[i].source, THRUM_TASK_NONE);
		atomic_store(&asks[i].context, thrum__adapt_glib_context());
		atomic_store(&asks[i].caller, thrum_task_current());
		atomic_store(&asks[i].call, call);
		atomic_fetch_add(&ask_count, 1);
		return;
	}
}

void thrum__adapt_glib_asks(thrum_task call, struct _GDBusConnection *connection, const char *name,
	const char *method)
{
	int error = errno;

	thrum__adapt_is_told = true;
	if (owns(connection, name))
		begin_own(call, method);
	errno = error;
}

void thrum__adapt_glib_asks_by(thrum_task call, struct _GDBusProxy *proxy, const char *method)
{
	if (proxy)
		thrum__adapt_glib_asks(call, real_g_dbus_proxy_get_connection(NULL)(proxy),
			real_g_dbus_proxy_get_name(NULL)(proxy), method);
}

void thrum__adapt_glib_asked(thrum_task call)
{
	thrum__adapt_is_told = false;
	for (unsigned i = 0; i < ASKS && atomic_load(&ask_count) > 0; i++) {
		if (!call || atomic_load(&asks[i].call) != call)
			continue;
		atomic_store(&asks[i].call, THRUM_TASK_NONE);
		atomic_fetch_sub(&ask_count, 1);
		atomic_store(&asks[i].tid, 0);
	}
}

/* Others may call the program at the same time. If any source of another context handles a call meanwhile,
 * that may be the own one, which then will be answered. */
static void handle(struct ask *ask, thrum_task call, thrum_task source, const void *context)
{
	if (context != atomic_load(&ask->context)) {
		atomic_store(&ask->is_elsewhere, true);
		atomic_store(&ask->source, source);
		thrum_task_wait(call, source);
	} else if (!atomic_load(&ask->is_elsewhere)) {
		thrum_task_label(source, ask->label);
		thrum_task_wait(call, source);
		thrum_task_wait(source, atomic_load(&ask->caller));
	}
}

void thrum__adapt_glib_handles(thrum_task source, const void *context)
{
	if (!context)
		context = real_g_main_context_default(NULL)();
	for (unsigned i = 0; i < ASKS && atomic_load(&ask_count) > 0; i++) {
		thrum_task call = atomic_load(&asks[i].call);

		if (call && atomic_load(&asks[i].tid) != own_tid())
			handle(&asks[i], call, source, context);
	}
}

/* The method may be answered later. */
void thrum__adapt_glib_handled(thrum_task source)
{
	for (unsigned i = 0; i < ASKS && atomic_load(&ask_count) > 0; i++) {
		thrum_task call = atomic_load(&asks[i].call);

		if (call && atomic_load(&asks[i].source) == source)
			thrum_task_read(call, source);
	}
}
