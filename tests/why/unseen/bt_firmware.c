/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: device 3 gets a bad checksum and gives up without reading its stream of chunks any more. The rollout still pushes
 *     chunks to it, and stops when that stream is full. So all other devices get no more chunks either.
 *   culprit: device 3|on_flash_failed|checksum
 *   victim: rollout|device [1245]\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A firmware updater: one image goes chunk by chunk to several devices, each of which flashes at its own pace. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define DEVICES 5
#define CHUNKS 40

struct device {
	int number;
	unsigned pace_ms;
	unsigned flashed;
	unsigned heartbeats;
	struct thrum_stream *chunks;
};

struct rollout {
	struct device devices[DEVICES];
	int chunk;
	int next_device;
};

static struct rollout rollout;
static char image[CHUNKS][256];
static bool drain_failed;

static struct thrum_promise *flash_chunk(struct thrum_loop *, void *value, void *data);

static struct thrum_promise *next_chunk(struct thrum_loop *loop, void *value, void *data)
{
	struct device *device = data;

	(void)loop;
	(void)value;
	return thrum_promise_bind(thrum_stream_next(device->chunks), flash_chunk, device, NULL);
}

static struct thrum_promise *flash_chunk(struct thrum_loop *loop, void *value, void *data)
{
	struct device *device = data;

	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	/* The oldest board has a worn out block. */
	if (device->number == 3 && device->flashed == 12)
		return thrum_promise_fail(loop, 7, "bad checksum in chunk %u", device->flashed);
	device->flashed++;
	return thrum_promise_bind(thrum_sleep(loop, device->pace_ms), next_chunk, device, NULL);
}

static struct thrum_promise *discard_chunk(struct thrum_loop *loop, void *value, void *data)
{
	struct device *device = data;

	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_stream_next(device->chunks), discard_chunk, device, NULL);
}

/* The device starts its old firmware again. */
static struct thrum_promise *on_flash_failed(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct device *device = data;

	printf("device %d: %s\n", device->number, failure->message);
	if (drain_failed)
		return thrum_promise_bind(thrum_stream_next(device->chunks), discard_chunk, device,
			NULL);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *send_chunk(struct thrum_loop *loop, void *value, void *data)
{
	struct device *device;

	(void)value;
	(void)data;
	if (rollout.next_device == DEVICES) {
		rollout.next_device = 0;
		rollout.chunk++;
	}
	if (rollout.chunk == CHUNKS) {
		for (int i = 0; i < DEVICES; i++)
			thrum_stream_close(rollout.devices[i].chunks);
		return thrum_promise_return(loop, thrum_value_none());
	}
	device = &rollout.devices[rollout.next_device++];
	return thrum_promise_bind(thrum_stream_push(device->chunks,
					  thrum_value_static(image[rollout.chunk])),
		send_chunk, NULL, NULL);
}

static struct thrum_promise *heartbeat(struct thrum_loop *loop, void *value, void *data)
{
	struct device *device = data;

	(void)value;
	device->heartbeats++;
	return thrum_promise_bind(thrum_sleep(loop, 100), heartbeat, device, NULL);
}

static struct thrum_promise *start_heartbeat(struct thrum_loop *loop, void *data)
{
	return heartbeat(loop, NULL, data);
}

int main(int argc, char **argv)
{
	struct thrum_promise *parts[DEVICES + 1], *all;
	struct thrum_loop *loop;
	int result;

	drain_failed = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_start(NULL) || thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	for (int i = 0; i < DEVICES; i++) {
		struct device *device = &rollout.devices[i];
		char label[40];

		device->number = i + 1;
		device->pace_ms = 8 + 3 * (unsigned)i;
		snprintf(label, sizeof(label), "chunks of device %d", i + 1);
		device->chunks = thrum_stream_create(loop, label, 4);
		parts[i] = thrum_promise_catch(next_chunk(loop, NULL, device), on_flash_failed,
			device, NULL);
		thrum_promise_labelf(parts[i], "device %d", i + 1);
		thrum_promise_should_resolve(parts[i]);
		snprintf(label, sizeof(label), "heartbeat %d", i + 1);
		thrum_promise_async(loop, label, start_heartbeat, device, NULL);
	}
	parts[DEVICES] = send_chunk(loop, NULL, NULL);
	thrum_promise_label(parts[DEVICES], "send image");
	all = thrum_promise_join(loop, parts, DEVICES + 1);
	thrum_promise_label(all, "rollout");
	thrum_promise_should_resolve(all);
	result = thrum_promise_run(all);
	for (int i = 0; i < DEVICES; i++)
		printf("device %d: %u of %d chunks\n", i + 1, rollout.devices[i].flashed, CHUNKS);
	thrum_stop();
	return result ? 1 : 0;
}
