/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: authenticate starts the thread auth-action and joins it. The action's prompt is answered by a source in the
 *     worker's main context, which nobody runs while the worker is blocked in the join: the two wait for each other.
 *   culprit: pam-worker|authenticate|auth-action|converse
 *   victim: \bmain\b|user
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A lock screen: its window's thread, and a worker in which modules ask for the password. */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct screen {
	GMainContext *worker_context;
	GMutex lock;
	GCond changed;
	bool is_prompt_shown;
	char password[16]; /* "" until the user has answered */
};

static bool runs_in_caller;
static struct screen screen;

static void show_prompt(void)
{
	g_mutex_lock(&screen.lock);
	screen.is_prompt_shown = true;
	g_cond_broadcast(&screen.changed);
	g_mutex_unlock(&screen.lock);
}

/* Runs in the worker's context, when the user has pressed Enter. */
static gboolean take_answer(gpointer data)
{
	g_mutex_lock(&screen.lock);
	g_strlcpy(screen.password, data, sizeof(screen.password));
	g_cond_broadcast(&screen.changed);
	g_mutex_unlock(&screen.lock);
	return G_SOURCE_REMOVE;
}

static bool has_answer(void)
{
	bool has;

	g_mutex_lock(&screen.lock);
	has = screen.password[0] != '\0';
	g_mutex_unlock(&screen.lock);
	return has;
}

/* The conversation function that a module calls: asks the user, and returns with the answer. */
static void converse(void)
{
	show_prompt();
	if (g_main_context_is_owner(screen.worker_context)) {
		while (!has_answer())
			g_main_context_iteration(screen.worker_context, TRUE);
		return;
	}
	g_mutex_lock(&screen.lock);
	while (!screen.password[0])
		g_cond_wait(&screen.changed, &screen.lock);
	g_mutex_unlock(&screen.lock);
}

static gpointer run_action(gpointer data)
{
	bool *is_allowed = data;

	converse();
	*is_allowed = strcmp(screen.password, "secret") == 0;
	return NULL;
}

static bool authenticate(void)
{
	bool is_allowed = false;

	if (runs_in_caller)
		run_action(&is_allowed);
	else
		g_thread_join(g_thread_new("auth-action", run_action, &is_allowed));
	return is_allowed;
}

static gpointer run_worker(gpointer data)
{
	bool *is_allowed = data;

	g_main_context_acquire(screen.worker_context);
	g_main_context_push_thread_default(screen.worker_context);
	*is_allowed = authenticate();
	g_main_context_pop_thread_default(screen.worker_context);
	g_main_context_release(screen.worker_context);
	return NULL;
}

/* The window: waits for the prompt, and sends what the user types to the worker. */
static void play_user(void)
{
	static char password[] = "secret";
	GSource *source = g_idle_source_new();

	g_mutex_lock(&screen.lock);
	while (!screen.is_prompt_shown)
		g_cond_wait(&screen.changed, &screen.lock);
	g_mutex_unlock(&screen.lock);
	g_source_set_callback(source, take_answer, password, NULL);
	g_source_attach(source, screen.worker_context);
	g_source_unref(source);
}

int main(int argc, char **argv)
{
	bool is_allowed = false;
	GThread *worker;

	runs_in_caller = argc > 1 && strcmp(argv[1], "healthy") == 0;
	g_mutex_init(&screen.lock);
	g_cond_init(&screen.changed);
	screen.worker_context = g_main_context_new();
	worker = g_thread_new("pam-worker", run_worker, &is_allowed);
	play_user();
	g_thread_join(worker);
	g_main_context_unref(screen.worker_context);
	puts(is_allowed ? "unlocked" : "wrong password");
	return 0;
}
