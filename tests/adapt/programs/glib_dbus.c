/* SPDX-License-Identifier: ISC */
/*
 * A program that offers an object on the bus calls itself and waits for the answer, in a callback of the
 * loop that should answer; with "name" by a name that it owns and a proxy. With "thread" another thread
 * calls, with "apart" another thread's loop answers. Where it hangs, SIGALRM ends it.
 */
#include <gio/gio.h>
#include <string.h>
#include <unistd.h>

#define NAME "org.example.Stock"
#define PATH "/org/example/Stock"

static const char xml[] = "<node><interface name='" NAME "'>"
			  "<method name='Count'><arg type='i' direction='out'/></method>"
			  "</interface></node>";
static const char *how = "";
static GDBusConnection *bus;
static GMainLoop *main_loop;

static void answer(GDBusConnection *connection, const char *sender, const char *path,
	const char *interface, const char *method, GVariant *parameters,
	GDBusMethodInvocation *invocation, gpointer data)
{
	(void)connection, (void)sender, (void)path, (void)interface, (void)method;
	(void)parameters, (void)data;
	g_dbus_method_invocation_return_value(invocation, g_variant_new("(i)", 3));
}

static void offer(void)
{
	static const GDBusInterfaceVTable table = {.method_call = answer};
	GDBusNodeInfo *info = g_dbus_node_info_new_for_xml(xml, NULL);

	g_dbus_connection_register_object(bus, PATH, info->interfaces[0], &table, NULL, NULL, NULL);
	g_dbus_node_info_unref(info);
}

static GVariant *call(GError **error)
{
	GDBusProxy *proxy;
	GVariant *result;

	if (strcmp(how, "name") != 0)
		return g_dbus_connection_call_sync(bus, g_dbus_connection_get_unique_name(bus),
			PATH, NAME, "Count", NULL, NULL, 0, -1, NULL, error);
	proxy = g_dbus_proxy_new_sync(bus,
		G_DBUS_PROXY_FLAGS_DO_NOT_LOAD_PROPERTIES |
			G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS,
		NULL, NAME, PATH, NAME, NULL, error);
	result = g_dbus_proxy_call_sync(proxy, "Count", NULL, 0, -1, NULL, error);
	g_object_unref(proxy);
	return result;
}

static gpointer ask(gpointer unused)
{
	GError *error = NULL;
	GVariant *result = call(&error);
	gint32 count = 0;

	if (result) {
		g_variant_get(result, "(i)", &count);
		g_variant_unref(result);
	}
	g_print("%d%s\n", count, error ? error->message : "");
	g_clear_error(&error);
	g_main_loop_quit(main_loop);
	return unused;
}

static gboolean on_time(gpointer unused)
{
	if (strcmp(how, "thread") == 0 || strcmp(how, "busy") == 0)
		g_thread_unref(g_thread_new("asker", ask, NULL));
	else
		ask(unused);
	while (strcmp(how, "busy") == 0)
		continue;
	return G_SOURCE_REMOVE;
}

static gpointer serve(gpointer loop)
{
	GMainContext *context = g_main_loop_get_context(loop);

	g_main_context_push_thread_default(context);
	offer();
	g_main_loop_run(loop);
	g_main_context_pop_thread_default(context);
	return NULL;
}

int main(int argc, char **argv)
{
	GMainContext *context = g_main_context_new();
	GMainLoop *other = g_main_loop_new(context, FALSE);
	GThread *server = NULL;

	how = argc > 1 ? argv[1] : "";
	alarm(5);
	bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, NULL);
	if (!bus)
		return 1;
	if (strcmp(how, "name") == 0)
		g_bus_own_name_on_connection(bus, NAME, 0, NULL, NULL, NULL, NULL);
	if (strcmp(how, "apart") == 0)
		server = g_thread_new("server", serve, other);
	else
		offer();
	main_loop = g_main_loop_new(NULL, FALSE);
	g_timeout_add(100, on_time, NULL);
	g_main_loop_run(main_loop);
	g_main_loop_quit(other);
	if (server)
		g_thread_join(server);
	return 0;
}
