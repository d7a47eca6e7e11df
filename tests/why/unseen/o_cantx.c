/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: A frame is not acknowledged on the bus; handle_interrupts (thread can-isr) counts the error and forgets to post tx_complete, as it does after a frame that was sent. The thread telemetry waits for tx_complete before its next frame for ever.
 *   culprit: can-isr|handle_interrupts
 *   victim: telemetry|send_telemetry|can_write_frame|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A driver for a CAN controller with one buffer for transmission, and a vehicle that sends its telemetry over it. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	FRAMES = 40,
	UNHEARD = 23 /* no node is awake to acknowledge this one */
};

enum interrupt {
	INTERRUPT_TX = 1,
	INTERRUPT_ERROR,
	INTERRUPT_OFF
};

struct can_frame {
	uint32_t id;
	uint8_t length, data[8];
};

static sem_t tx_complete; /* the buffer for transmission is free */
static int bus[2];        /* [0]: the driver's end; [1]: the controller's */
static int sent, errors;
static bool broken;

static void can_write_frame(const struct can_frame *frame)
{
	while (sem_wait(&tx_complete))
		continue;
	if (send(bus[0], frame, sizeof *frame, 0) < 0)
		perror("bus");
}

/* Stands for the interrupt's handler. */
static void *handle_interrupts(void *unused)
{
	uint8_t reason;

	(void)unused;
	pthread_setname_np(pthread_self(), "can-isr");
	while (recv(bus[0], &reason, sizeof reason, 0) == sizeof reason) {
		switch (reason) {
		case INTERRUPT_TX:
			sent++;
			sem_post(&tx_complete);
			break;
		case INTERRUPT_ERROR:
			errors++;
			if (!broken)
				sem_post(&tx_complete);
			break;
		default: return NULL;
		}
	}
	return NULL;
}

static void *run_controller(void *unused)
{
	struct can_frame frame;
	uint8_t reason;

	(void)unused;
	pthread_setname_np(pthread_self(), "can-hw");
	while (recv(bus[1], &frame, sizeof frame, 0) == sizeof frame) {
		usleep(500 + 100 * frame.length);
		reason = frame.id == UNHEARD ? INTERRUPT_ERROR : INTERRUPT_TX;
		if (frame.id == 0)
			reason = INTERRUPT_OFF;
		if (send(bus[1], &reason, sizeof reason, 0) < 0 || frame.id == 0)
			break;
	}
	return NULL;
}

static void *send_telemetry(void *unused)
{
	struct can_frame frame = {.length = 8};

	(void)unused;
	pthread_setname_np(pthread_self(), "telemetry");
	for (uint32_t i = 1; i <= FRAMES; i++) {
		frame.id = i;
		memset(frame.data, (int)i, sizeof frame.data);
		can_write_frame(&frame);
		usleep(1000);
	}
	frame.id = 0; /* switches the controller off */
	can_write_frame(&frame);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t isr, controller, telemetry;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&tx_complete, 0, 1);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, bus))
		return 1;
	pthread_create(&isr, NULL, handle_interrupts, NULL);
	pthread_create(&controller, NULL, run_controller, NULL);
	pthread_create(&telemetry, NULL, send_telemetry, NULL);
	pthread_join(telemetry, NULL);
	pthread_join(controller, NULL);
	pthread_join(isr, NULL);
	printf("%d sent, %d errors\n", sent, errors);
	return 0;
}
