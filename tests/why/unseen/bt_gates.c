/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: reassign_gate runs in the gate thread and calls assign_and_wait, which puts the work into the queue of the gate thread
 *     itself and waits for it. So the gate thread waits for what only it could do, and all later flights with it.
 *   culprit: reassign_gate|assign_and_wait
 *   victim: desk|flights
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */

/* Gates of an airport: one thread owns the plan of the gates, and others ask it for changes. */
#include <glib.h>
#include <stdio.h>
#include <string.h>

struct assignment {
	int flight;
	int gate;
	GMutex mutex;
	GCond done_cond;
	gboolean done;
};

static GMainContext *gate_context;
static GThread *gate_thread;
static int gates[24];
static gint assigned, moved;
static gboolean check_owner;

static gboolean run_assignment(gpointer data)
{
	struct assignment *assignment = data;

	g_usleep(500);
	for (int i = 0; i < 24; i++) {
		int gate = (assignment->flight + i) % 24;

		if (gates[gate] == 0 || i == 23) {
			gates[gate] = assignment->flight;
			assignment->gate = gate;
			break;
		}
	}
	g_atomic_int_inc(&assigned);
	g_mutex_lock(&assignment->mutex);
	assignment->done = TRUE;
	g_cond_signal(&assignment->done_cond);
	g_mutex_unlock(&assignment->mutex);
	return G_SOURCE_REMOVE;
}

/* Finds a gate for a flight, and returns its number. */
static int assign_and_wait(int flight)
{
	struct assignment assignment = {.flight = flight};
	GSource *source;

	if (check_owner && g_thread_self() == gate_thread) {
		run_assignment(&assignment);
		return assignment.gate;
	}
	g_mutex_init(&assignment.mutex);
	g_cond_init(&assignment.done_cond);
	source = g_idle_source_new();
	g_source_set_priority(source, G_PRIORITY_DEFAULT);
	g_source_set_callback(source, run_assignment, &assignment, NULL);
	g_source_attach(source, gate_context);
	g_source_unref(source);
	g_mutex_lock(&assignment.mutex);
	while (!assignment.done)
		g_cond_wait(&assignment.done_cond, &assignment.mutex);
	g_mutex_unlock(&assignment.mutex);
	g_mutex_clear(&assignment.mutex);
	g_cond_clear(&assignment.done_cond);
	return assignment.gate;
}

/* A gate is out of order: its flight moves to another one. */
static gboolean reassign_gate(gpointer data)
{
	int gate = GPOINTER_TO_INT(data);
	int flight = gates[gate];

	if (flight != 0) {
		int other = assign_and_wait(flight);

		gates[gate] = 0;
		moved++;
		printf("flight %d moves from gate %d to gate %d\n", flight, gate, other);
	}
	return G_SOURCE_REMOVE;
}

static gboolean free_gates(gpointer data)
{
	static int next;

	(void)data;
	gates[next++ % 24] = 0;
	return G_SOURCE_CONTINUE;
}

static gpointer gate_main(gpointer data)
{
	GMainLoop *loop = g_main_loop_new(gate_context, FALSE);
	GSource *departures = g_timeout_source_new(40);

	(void)data;
	gate_thread = g_thread_self();
	g_source_set_callback(departures, free_gates, NULL, NULL);
	g_source_attach(departures, gate_context);
	g_main_loop_run(loop);
	return NULL;
}

static gpointer desk_main(gpointer data)
{
	for (int i = 0;; i++) {
		assign_and_wait(GPOINTER_TO_INT(data) * 1000 + i);
		g_usleep(30000);
	}
	return NULL;
}

static gboolean on_technician(gpointer data)
{
	static int gate;
	GSource *source = g_idle_source_new();

	(void)data;
	gate = (gate + 5) % 24;
	g_source_set_callback(source, reassign_gate, GINT_TO_POINTER(gate), NULL);
	g_source_attach(source, gate_context);
	g_source_unref(source);
	return G_SOURCE_CONTINUE;
}

static gboolean on_board(gpointer data)
{
	(void)data;
	printf("assigned %d\n", g_atomic_int_get(&assigned));
	fflush(stdout);
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);

	check_owner = argc > 1 && !strcmp(argv[1], "healthy");
	gate_context = g_main_context_new();
	g_thread_new("gates", gate_main, NULL);
	g_thread_new("desk A", desk_main, GINT_TO_POINTER(1));
	g_thread_new("desk B", desk_main, GINT_TO_POINTER(2));
	g_timeout_add(450, on_technician, NULL);
	g_timeout_add(200, on_board, NULL);
	g_main_loop_run(loop);
	return 0;
}
