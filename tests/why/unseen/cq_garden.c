/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: All zones share one pump, a mutex. water_zone locks it, and pump_off unlocks it in a callback
 *     of bind, which runs only after success. In round 3 the moisture sensor of zone 4 doesn't answer, and
 *     the time-out makes the promise fail. pump_off is skipped, so zone 4 ends and its lock of the pump
 *     stays. All zones wait for the pump from then on. The fix unlocks in finalize.
 *   culprit: zone 4|soil 4|pump_off|probe_soil
 *   victim: zone [1235]|main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* The controller of a greenhouse: five zones are watered in turn, by one pump. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	ZONES = 5,
	ROUNDS = 5,
	ROOTED_ZONE = 4, /* a root has torn the wire of its sensor */
	ROOTED_ROUND = 3,
	PATIENCE_MS = 60
};

static struct zone {
	int number, round;
	int watered, dry;
} zones[ZONES];

static struct thrum_mutex *pump;
static struct thrum_resolver *torn_wire;
static bool broken;

/* ---- The sensor ----------------------------------------------------------------------------- */

/* Returns a promise for the answer of the sensor. */
static struct thrum_promise *probe_soil(struct thrum_loop *loop, struct zone *zone)
{
	struct thrum_promise *answer;

	if (zone->number == ROOTED_ZONE && zone->round == ROOTED_ROUND)
		answer = thrum_promise_task(loop, NULL, &torn_wire);
	else
		answer = thrum_sleep(loop, 6);
	return thrum_promise_labelf(answer, "soil %d", zone->number);
}

/* ---- The pump ------------------------------------------------------------------------------- */

static struct thrum_promise *pump_off(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	thrum_mutex_unlock(pump);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *pump_off_finally(struct thrum_loop *loop, void *data)
{
	return pump_off(loop, NULL, data);
}

static struct thrum_promise *close_valve(struct thrum_loop *loop, void *value, void *data)
{
	struct zone *zone = data;

	(void)value;
	zone->watered++;
	return thrum_sleep(loop, 3);
}

static struct thrum_promise *watch_soil(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_timeout(probe_soil(loop, data), PATIENCE_MS), close_valve,
		data, NULL);
}

static struct thrum_promise *open_valve(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *done;

	(void)value;
	done = thrum_promise_bind(thrum_sleep(loop, 12), watch_soil, data, NULL);
	if (broken)
		return thrum_promise_bind(done, pump_off, NULL, NULL);
	return thrum_promise_finalize(done, pump_off_finally, NULL, NULL);
}

/* ---- Zones ---------------------------------------------------------------------------------- */

static struct thrum_promise *note_dry(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	struct zone *zone = data;

	printf("zone %d: %s\n", zone->number, failure->message);
	zone->dry++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *water_zone(struct thrum_loop *loop, struct zone *zone)
{
	struct thrum_promise *done = thrum_promise_bind(thrum_mutex_lock(pump), open_valve, zone,
		NULL);

	done = thrum_promise_catch(done, note_dry, zone, NULL);
	(void)loop;
	return thrum_promise_labelf(done, "water zone %d", zone->number);
}

static struct thrum_promise *next_round(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *rest(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 50), next_round, data, NULL);
}

static struct thrum_promise *next_round(struct thrum_loop *loop, void *value, void *data)
{
	struct zone *zone = data;

	(void)value;
	if (zone->round == ROUNDS)
		return thrum_promise_return(loop, thrum_value_none());
	zone->round++;
	return thrum_promise_bind(water_zone(loop, zone), rest, zone, NULL);
}

static struct thrum_promise *tend_zone(struct thrum_loop *loop, struct zone *zone)
{
	struct thrum_promise *all = thrum_promise_bind(thrum_promise_pause(loop), next_round, zone,
		NULL);

	return thrum_promise_labelf(all, "zone %d", zone->number);
}

/* The lamp in the door shows that the controller works. */
static void blink(uv_timer_t *timer)
{
	int *lamp = timer->data;

	*lamp = !*lamp;
}

int main(int argc, char **argv)
{
	struct thrum_promise *tended[ZONES], *day;
	struct thrum_loop *loop;
	uv_timer_t lamp_timer;
	int lamp = 0, status;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	pump = thrum_mutex_create(loop, "pump");
	uv_timer_init(uv_default_loop(), &lamp_timer);
	lamp_timer.data = &lamp;
	uv_timer_start(&lamp_timer, blink, 100, 100);
	for (int i = 0; i < ZONES; i++) {
		zones[i].number = i + 1;
		tended[i] = tend_zone(loop, &zones[i]);
	}
	day = thrum_promise_label(thrum_promise_join(loop, tended, ZONES), "day");
	status = thrum_promise_run(thrum_promise_should_resolve(day));
	thrum_stop();
	for (int i = 0; i < ZONES; i++)
		printf("zone %d: %d watered, %d dry\n", i + 1, zones[i].watered, zones[i].dry);
	uv_close((uv_handle_t *)&lamp_timer, NULL);
	thrum_resolver_drop(torn_wire);
	thrum_mutex_destroy(pump);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return status != 0;
}
