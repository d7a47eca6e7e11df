/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: Both walkers take persons from the stream "persons" and push the children of each into the same stream. In the
 *     fifth family the stream is full while both walkers push: nobody takes from it any more, and both wait for room for
 *     ever.
 *   culprit: walker|push_child|walk\b|persons
 *   victim: family 5|main
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A crawler of family trees: two walkers fetch persons from an archive, and walk on to their children. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	WALKERS = 2,
	FAMILIES = 6,
	ROOM = 6
};

struct person {
	unsigned family;
	unsigned generation;
	unsigned children;
	struct person *next;
};

struct walker {
	struct crawler *crawler;
	struct person *person; /* whom it has at the moment */
	unsigned pushed;
};

struct crawler {
	struct thrum_loop *loop;
	struct thrum_stream *persons;
	struct person *spare; /* those for whom the stream had no room */
	struct walker walkers[WALKERS];
	unsigned open; /* persons that are not done */
	unsigned done;
	unsigned family;
	struct thrum_resolver *family_done;
	unsigned saved;
	bool spill;
};

static struct thrum_promise *walk(struct thrum_loop *loop, void *data);

static struct person *person_create(unsigned family, unsigned generation)
{
	static const unsigned small[4] = {3, 2, 1, 0};
	static const unsigned large[4] = {10, 6, 0, 0};
	struct person *person = calloc(1, sizeof *person);

	if (!person)
		abort();
	person->family = family;
	person->generation = generation;
	person->children = family == 5 ? large[generation] : small[generation];
	return person;
}

static void person_done(struct walker *walker)
{
	struct crawler *crawler = walker->crawler;

	free(walker->person);
	walker->person = NULL;
	crawler->done++;
	if (--crawler->open == 0)
		thrum_resolver_resolve(crawler->family_done, thrum_value_none());
}

static struct thrum_promise *push_child(struct thrum_loop *loop, void *value, void *data)
{
	struct walker *walker = data;
	struct crawler *crawler = walker->crawler;
	struct person *child;

	(void)value;
	if (walker->pushed == walker->person->children) {
		person_done(walker);
		return walk(loop, walker);
	}
	walker->pushed++;
	crawler->open++;
	child = person_create(walker->person->family, walker->person->generation + 1);
	if (!crawler->spill)
		return thrum_promise_bind(thrum_stream_push(crawler->persons,
						  thrum_value_static(child)),
			push_child, walker, NULL);
	if (!thrum_stream_try_push(crawler->persons, thrum_value_static(child))) {
		child->next = crawler->spare;
		crawler->spare = child;
	}
	return push_child(loop, NULL, walker);
}

static struct thrum_promise *visit(struct thrum_loop *loop, void *value, void *data)
{
	struct walker *walker = data;

	if (!value) /* the stream is closed */
		return thrum_promise_return(loop, thrum_value_none());
	walker->person = value;
	walker->pushed = 0;
	return thrum_promise_bind(thrum_promise_labelf(thrum_sleep(loop, 3),
					  "fetch a person of family %u", walker->person->family),
		push_child, walker, NULL);
}

static struct thrum_promise *walk(struct thrum_loop *loop, void *data)
{
	struct walker *walker = data;
	struct crawler *crawler = walker->crawler;
	struct person *person = crawler->spare;

	if (person) {
		crawler->spare = person->next;
		return visit(loop, person, walker);
	}
	return thrum_promise_bind(thrum_stream_next(crawler->persons), visit, walker, NULL);
}

/* Saves what is known so far, as long as the crawler runs. */
static struct thrum_promise *save_again(struct thrum_loop *loop, void *value, void *data)
{
	struct crawler *crawler = data;

	(void)value;
	crawler->saved = crawler->done;
	return thrum_promise_bind(thrum_sleep(loop, 40), save_again, crawler, NULL);
}

static struct thrum_promise *autosave(struct thrum_loop *loop, void *data)
{
	return save_again(loop, NULL, data);
}

static struct thrum_promise *next_family(struct thrum_loop *loop, void *value, void *data)
{
	struct crawler *crawler = data;
	struct thrum_promise *family;
	char label[24];

	(void)value;
	if (crawler->family > 0)
		printf("family %u: %u persons so far\n", crawler->family, crawler->done);
	if (crawler->family == FAMILIES) {
		thrum_stream_close(crawler->persons);
		return thrum_promise_return(loop, thrum_value_none());
	}
	crawler->family++;
	crawler->open = 1;
	snprintf(label, sizeof label, "family %u", crawler->family);
	family = thrum_promise_task(loop, label, &crawler->family_done);
	thrum_promise_ignore_result(thrum_stream_push(crawler->persons,
		thrum_value_static(person_create(crawler->family, 0))));
	return thrum_promise_bind(family, next_family, crawler, NULL);
}

int main(int argc, char **argv)
{
	static struct crawler crawler;
	struct thrum_promise *parts[WALKERS + 1];
	struct thrum_promise *all;
	int error;

	crawler.spill = argc > 1 && !strcmp(argv[1], "healthy");
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (thrum_loop_create(uv_default_loop(), &crawler.loop))
		return 1;
	crawler.persons = thrum_stream_create(crawler.loop, "persons", ROOM);
	for (int i = 0; i < WALKERS; i++) {
		crawler.walkers[i].crawler = &crawler;
		parts[i] = thrum_promise_labelf(walk(crawler.loop, &crawler.walkers[i]),
			"walker %d", i + 1);
	}
	parts[WALKERS] = thrum_promise_label(next_family(crawler.loop, NULL, &crawler), "families");
	thrum_promise_async(crawler.loop, "autosave", autosave, &crawler, NULL);
	all = thrum_promise_join(crawler.loop, parts, WALKERS + 1);
	all = thrum_promise_should_resolve(thrum_promise_label(all, "main"));
	error = thrum_promise_run(all);
	thrum_stop();
	return error != 0;
}
