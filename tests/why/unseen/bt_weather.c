/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: is_fresh compares the hour of the calibration table in the wrong unit, so the table that is kept is never found fresh.
 *     Each reading loads the calibration anew before it can be used, instead of once for each station.
 *   culprit: calibration
 *   victim: reading|round
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A collector for a network of weather stations: asks all of them in rounds, and corrects what they tell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define STATIONS 6
#define ROUNDS 12

struct station {
	const char *name;
	unsigned distance_ms;
	long loaded_at; /* when the calibration was loaded, in seconds; 0: never */
	double offset;
	double sum;
	unsigned readings;
};

static struct station stations[STATIONS] = {
	{.name = "harbour", .distance_ms = 6},
	{.name = "airport", .distance_ms = 8},
	{.name = "summit", .distance_ms = 12},
	{.name = "valley", .distance_ms = 9},
	{.name = "forest", .distance_ms = 10},
	{.name = "lake", .distance_ms = 7},
};
static int round_number;
static unsigned published;
static bool use_seconds;

static long now_seconds(void)
{
	return 1000000 + (long)(uv_hrtime() / 1000000000);
}

/* A table is good for an hour. */
static bool is_fresh(const struct station *station)
{
	long now = use_seconds ? now_seconds() : now_seconds() * 1000;

	return station->loaded_at != 0 && now - station->loaded_at < 3600;
}

static struct thrum_promise *store_calibration(struct thrum_loop *loop, void *value, void *data)
{
	struct station *station = data;

	(void)value;
	station->offset = 0.1 * (double)station->distance_ms;
	station->loaded_at = now_seconds();
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *load_calibration(struct thrum_loop *loop, struct station *station)
{
	struct thrum_promise *loaded;

	if (is_fresh(station))
		return thrum_promise_return(loop, thrum_value_none());
	loaded = thrum_promise_bind(thrum_sleep(loop, 25), store_calibration, station, NULL);
	return thrum_promise_labelf(loaded, "calibration %s", station->name);
}

static struct thrum_promise *correct(struct thrum_loop *loop, void *value, void *data)
{
	struct station *station = data;

	(void)value;
	station->sum += 15.0 + (double)(round_number % 4) - station->offset;
	station->readings++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *on_reading(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(load_calibration(loop, data), correct, data, NULL);
}

static struct thrum_promise *take_reading(struct thrum_loop *loop, struct station *station)
{
	struct thrum_promise *reading;

	reading = thrum_promise_bind(thrum_sleep(loop, station->distance_ms), on_reading, station,
		NULL);
	thrum_promise_labelf(reading, "reading %s", station->name);
	return thrum_promise_should_resolve(reading);
}

static struct thrum_promise *begin_round(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *publish(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *sent;

	(void)value;
	(void)data;
	published++;
	sent = thrum_sleep(loop, 5); /* the web server takes the map */
	thrum_promise_label(sent, "publish map");
	return thrum_promise_bind(sent, begin_round, NULL, NULL);
}

static struct thrum_promise *begin_round(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *readings[STATIONS], *round;

	(void)value;
	(void)data;
	if (round_number == ROUNDS)
		return thrum_promise_return(loop, thrum_value_none());
	round_number++;
	for (int i = 0; i < STATIONS; i++)
		readings[i] = take_reading(loop, &stations[i]);
	round = thrum_promise_join(loop, readings, STATIONS);
	thrum_promise_labelf(round, "round %d", round_number);
	return thrum_promise_bind(round, publish, NULL, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	struct thrum_promise *day;
	int result;

	use_seconds = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_start(NULL) || thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	day = begin_round(loop, NULL, NULL);
	thrum_promise_label(day, "day");
	thrum_promise_should_resolve(day);
	result = thrum_promise_run(day);
	for (int i = 0; i < STATIONS; i++)
		printf("%s: %.2f degrees\n", stations[i].name,
			stations[i].sum / stations[i].readings);
	printf("%u maps published\n", published);
	thrum_stop();
	return result ? 1 : 0;
}
