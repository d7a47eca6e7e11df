/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: build_target runs in the thread pool, which has three threads. link_program pushes its
 *     objects to the same pool and waits there until they are built. When three programs are linked at a
 *     time, all threads of the pool wait for objects that stand in its queue.
 *   culprit: link_program|build_target
 *   victim: build_all
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */
/* A build tool: targets are built in a GThreadPool; a main loop shows the progress. */
#include <gio/gio.h>
#include <string.h>

#define PROGRAMS 3
#define OBJECTS 4

struct target {
	char name[32];
	gboolean built;
	int objects_left;
	struct target *program;          /* of an object */
	struct target *objects[OBJECTS]; /* of a program */
};

static GThreadPool *pool;
static GMutex graph_lock;
static GCond target_built;
static struct target programs[PROGRAMS], objects[PROGRAMS][OBJECTS];
static gboolean link_waits;
static int targets_built, builds;

static void mark_built(struct target *target)
{
	g_mutex_lock(&graph_lock);
	target->built = TRUE;
	targets_built++;
	g_cond_broadcast(&target_built);
	if (!link_waits && target->program && --target->program->objects_left == 0)
		g_thread_pool_push(pool, target->program, NULL);
	g_mutex_unlock(&graph_lock);
}

static void compile_object(struct target *object)
{
	guint hash = 5381;

	for (int i = 0; i < 100000; i++)
		hash = hash * 33 + (guint)(unsigned char)object->name[i % 8];
	g_usleep(4000 + hash % 2000);
	mark_built(object);
}

static void build_objects(struct target *program)
{
	for (int i = 0; i < OBJECTS; i++)
		g_thread_pool_push(pool, program->objects[i], NULL);
}

static void link_program(struct target *program)
{
	g_usleep(3000); /* reads the list of objects */
	if (link_waits)
		build_objects(program);
	g_mutex_lock(&graph_lock);
	for (int i = 0; i < OBJECTS; i++)
		while (!program->objects[i]->built)
			g_cond_wait(&target_built, &graph_lock);
	g_mutex_unlock(&graph_lock);
	g_usleep(6000);
	mark_built(program);
}

static void build_target(void *data, void *unused)
{
	struct target *target = data;

	(void)unused;
	if (target->program)
		compile_object(target);
	else
		link_program(target);
}

static void push_all(void)
{
	for (int i = 0; i < PROGRAMS; i++)
		if (link_waits)
			g_thread_pool_push(pool, &programs[i], NULL);
		else
			build_objects(&programs[i]); /* the last of them pushes the program */
}

static void *build_all(void *data)
{
	GMainLoop *loop = data;

	for (builds = 0; builds < 1000; builds++) {
		g_mutex_lock(&graph_lock);
		for (int i = 0; i < PROGRAMS; i++) {
			programs[i].built = FALSE;
			programs[i].objects_left = OBJECTS;
			for (int j = 0; j < OBJECTS; j++)
				objects[i][j].built = FALSE;
		}
		g_mutex_unlock(&graph_lock);
		push_all();
		g_mutex_lock(&graph_lock);
		for (int i = 0; i < PROGRAMS; i++)
			while (!programs[i].built)
				g_cond_wait(&target_built, &graph_lock);
		g_mutex_unlock(&graph_lock);
		g_usleep(10000); /* until a file changes */
	}
	g_main_loop_quit(loop);
	return NULL;
}

static gboolean show_progress(void *data)
{
	(void)data;
	g_mutex_lock(&graph_lock);
	g_print("build %d: %d targets\n", builds, targets_built);
	g_mutex_unlock(&graph_lock);
	return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv)
{
	GMainLoop *loop = g_main_loop_new(NULL, FALSE);
	GThread *thread;

	link_waits = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < PROGRAMS; i++) {
		g_snprintf(programs[i].name, sizeof(programs[i].name), "program%d", i);
		for (int j = 0; j < OBJECTS; j++) {
			g_snprintf(objects[i][j].name, sizeof(objects[i][j].name), "object%d-%d.o",
				i, j);
			programs[i].objects[j] = &objects[i][j];
			objects[i][j].program = &programs[i];
		}
	}
	pool = g_thread_pool_new(build_target, NULL, 3, TRUE, NULL);
	if (!pool)
		return 1;
	g_timeout_add(200, show_progress, NULL);
	thread = g_thread_new("build_all", build_all, loop);
	g_main_loop_run(loop);
	g_thread_join(thread);
	g_main_loop_unref(loop);
	return 0;
}
