/* SPDX-License-Identifier: ISC */
/*
 * After canonical/authd, pull request #1726.
 *
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: call_pam_action runs each action in a new thread and blocks the worker in g_thread_join. The action's
 *     conversation, converse, waits for an answer that the greeter posts to the worker's queue. Only the
 *     worker could take it from there, but it is in g_thread_join and waits for the action. Both wait for ever.
 *   culprit: call_pam_action|converse|pam-action|g_thread_join
 *   victim: greeter|clock_tick
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A lock screen: a greeter with a main loop, a worker for PAM, and a PAM module that runs actions. */
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct conversation {
	GMainLoop *wait;
	GMainContext *asker; /* the queue of the worker, to which answers are posted */
	char answer[32];
};

struct pam_handle {
	GMainContext *queue; /* the worker's */
	const char *user;
};

struct action {
	struct pam_handle *pam;
	int (*run)(struct pam_handle *pam);
	int result;
};

static GMainLoop *greeter;
static GMainContext *worker_queue;
static bool in_calling_thread;
static int unlocked;
static unsigned ticks;

/* ---- The greeter's side of a conversation ---- */

static gboolean prompt_response_received(gpointer data)
{
	struct conversation *conversation = data;

	g_main_loop_quit(conversation->wait);
	return G_SOURCE_REMOVE;
}

/* In the main loop: the user has typed. */
static gboolean respond(gpointer data)
{
	struct conversation *conversation = data;
	GSource *source = g_idle_source_new();

	strcpy(conversation->answer, "correct horse");
	g_source_set_name(source, "prompt response");
	g_source_set_callback(source, prompt_response_received, conversation, NULL);
	g_source_attach(source, conversation->asker);
	g_source_unref(source);
	return G_SOURCE_REMOVE;
}

/* PAM's callback: asks the user, and waits in the loop of the thread that calls. */
static void converse(const char *prompt, char *answer)
{
	struct conversation conversation = {.asker = worker_queue};

	(void)prompt;
	conversation.wait = g_main_loop_new(g_main_context_get_thread_default(), FALSE);
	g_timeout_add(30, respond, &conversation);
	g_main_loop_run(conversation.wait);
	g_main_loop_unref(conversation.wait);
	strcpy(answer, conversation.answer);
}

/* ---- The PAM module ---- */

static int pam_sm_open_session(struct pam_handle *pam)
{
	g_usleep(3000);
	return strlen(pam->user) ? 0 : 1;
}

static int pam_sm_acct_mgmt(struct pam_handle *pam)
{
	g_usleep(5000);
	return strcmp(pam->user, "nobody") ? 0 : 1;
}

static int pam_sm_authenticate(struct pam_handle *pam)
{
	char password[32];

	(void)pam;
	converse("Password: ", password);
	return strcmp(password, "correct horse");
}

static gpointer do_pam_action_thread(gpointer data)
{
	struct action *action = data;
	GMainContext *own = NULL;

	if (!in_calling_thread) {
		own = g_main_context_new();
		g_main_context_push_thread_default(own);
	}
	action->result = action->run(action->pam);
	if (own) {
		g_main_context_pop_thread_default(own);
		g_main_context_unref(own);
	}
	return NULL;
}

static int call_pam_action(struct pam_handle *pam, int (*run)(struct pam_handle *))
{
	struct action action = {pam, run, 1};

	if (in_calling_thread)
		do_pam_action_thread(&action);
	else
		g_thread_join(g_thread_new("pam-action", do_pam_action_thread, &action));
	return action.result;
}

/* ---- The worker ---- */

static gboolean leave(gpointer data)
{
	(void)data;
	g_main_loop_quit(greeter);
	return G_SOURCE_REMOVE;
}

static gpointer pam_worker(gpointer data)
{
	struct pam_handle pam = {worker_queue, data};

	g_main_context_push_thread_default(worker_queue);
	for (int i = 0; i < 6; i++) {
		if (call_pam_action(&pam, pam_sm_open_session) ||
			call_pam_action(&pam, pam_sm_acct_mgmt))
			break;
		g_usleep(5000);
	}
	for (int i = 0; i < 3; i++) {
		if (call_pam_action(&pam, pam_sm_authenticate))
			break;
		unlocked++;
	}
	g_main_context_pop_thread_default(worker_queue);
	g_idle_add(leave, NULL);
	return NULL;
}

static gboolean clock_tick(gpointer data)
{
	(void)data;
	ticks++;
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	GThread *worker;

	if (argc < 2)
		return 2;
	in_calling_thread = !strcmp(argv[1], "healthy");
	greeter = g_main_loop_new(NULL, FALSE);
	worker_queue = g_main_context_new();
	g_timeout_add(25, clock_tick, NULL);
	worker = g_thread_new("pam-worker", pam_worker, "anna");
	g_main_loop_run(greeter);
	g_thread_join(worker);
	printf("unlocked %d times, %u ticks\n", unlocked, ticks);
	return 0;
}
