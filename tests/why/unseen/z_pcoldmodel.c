/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=recognize face
 *   truth: The model is loaded lazily: the first request begins "load model", which takes 230 ms in a thread of the pool, and each request that comes meanwhile waits for it. The healthy server loads it before it serves.
 *   culprit: load model|load_model
 *   victim: embed picture
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A service that recognizes faces: libuv's pool of threads runs the model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <unistd.h>
#include <uv.h>

enum {
	REQUESTS = 36,
	WEIGHTS = 4096
};

struct picture {
	int number;
	double score;
};

static struct thrum_promise *model; /* NULL: not asked for yet */
static double weights[WEIGHTS];
static struct picture pictures[REQUESTS];
static int recognized;

/* Runs in a thread of the pool. */
static int load_model(void *data, struct thrum_value *result)
{
	(void)data;
	(void)result;
	for (int layer = 0; layer < 23; layer++) {
		usleep(10000); /* reads a layer from the disk */
		for (int i = layer; i < WEIGHTS; i += 23)
			weights[i] = (double)(i % 17) / 17;
	}
	return 0;
}

/* Returns a promise for the model. It is loaded once. */
static struct thrum_promise *get_model(struct thrum_loop *loop)
{
	if (!model)
		model = thrum_work(loop, "load model", load_model, NULL, NULL);
	return thrum_promise_ref(model);
}

static int embed(void *data, struct thrum_value *result)
{
	struct picture *picture = data;

	(void)result;
	for (int i = 0; i < WEIGHTS; i++)
		picture->score += weights[i] * ((i + picture->number) % 5);
	usleep(2000);
	return 0;
}

static struct thrum_promise *embed_picture(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_work(loop, "embed picture", embed, data, NULL);
}

static struct thrum_promise *recognize(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	recognized++;
	return thrum_promise_label(thrum_promise_should_resolve(thrum_promise_bind(get_model(loop),
					   embed_picture, data, NULL)),
		"recognize face");
}

static struct thrum_promise *serve(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *all[REQUESTS];

	(void)value;
	(void)data;
	for (int i = 0; i < REQUESTS; i++) {
		pictures[i].number = i;
		all[i] = thrum_promise_bind(thrum_sleep(loop, (uint64_t)i * 12), recognize,
			&pictures[i], NULL);
	}
	return thrum_promise_join(loop, all, REQUESTS);
}

int main(int argc, char **argv)
{
	int broken = argc > 1 && !strcmp(argv[1], "broken");
	struct thrum_promise *ready;
	struct thrum_loop *loop;
	int result;

	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	ready = broken ? thrum_promise_return(loop, thrum_value_none()) : get_model(loop);
	result = thrum_promise_run(thrum_promise_bind(ready, serve, NULL, NULL));
	printf("%d recognized\n", recognized);
	thrum_promise_unref(model);
	thrum_stop();
	return result != 0;
}
