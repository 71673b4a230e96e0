/*
 * The least that a program between two taps can do: read a frame from one, write it to the other, both ways.
 *
 * The virtio-net header passes through as it is and every offload is accepted, so checksums left undone and
 * superpackets cross whole. One thread, one buffer, two system calls a frame: a ceiling for forwarders over taps.
 * It looks at no byte, keeps no statistics but what it prints at the end (frames, bytes, frames refused), and knows
 * one queue a tap.
 *
 *     tapcopy [--spin] TAP TAP      creates both taps or attaches to them; ends by SIGINT or SIGTERM
 *
 * --spin looks again and again instead of sleeping in poll.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Newer than some systems' headers. */
#ifndef TUN_F_USO4
#define TUN_F_USO4 0x20
#define TUN_F_USO6 0x40
#endif

enum {
	HEADER = 10,		 /* struct virtio_net_hdr without anything after it */
	FRAME_MAX = 65536 + 256, /* a superpacket with its headers */
	BUDGET = 32,		 /* frames before the other direction has its turn */
};

struct direction {
	int from, to;
	uint64_t frames, bytes, refused;
};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static void fail(const char *what, const char *name)
{
	fprintf(stderr, "tapcopy: %s %s: %s\n", what, name, strerror(errno));
	exit(1);
}

static int open_tap(const char *name)
{
	struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	int header = HEADER;
	unsigned long most = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN;
	int fd;

	if (strlen(name) >= IFNAMSIZ) {
		errno = ENAMETOOLONG;
		fail("cannot open", name);
	}
	strcpy(request.ifr_name, name);
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		fail("cannot open /dev/net/tun for", name);
	if (ioctl(fd, TUNSETIFF, &request) < 0)
		fail("cannot create or attach to", name);
	if (ioctl(fd, TUNSETVNETHDRSZ, &header) < 0)
		fail("cannot set the header's size of", name);
	/* Kernels before 6.2 know no USO. */
	if (ioctl(fd, TUNSETOFFLOAD, most | TUN_F_USO4 | TUN_F_USO6) < 0 && ioctl(fd, TUNSETOFFLOAD, most) < 0)
		fail("cannot accept offloads on", name);
	return fd;
}

/* Copies until nothing is left or the budget is spent; whether anything came. */
static bool copy(struct direction *way, char *buffer)
{
	int done = 0;

	for (; done < BUDGET; done++) {
		ssize_t length = read(way->from, buffer, FRAME_MAX);

		if (length <= 0)
			break;
		if (write(way->to, buffer, (size_t)length) == length) {
			way->frames++;
			way->bytes += (uint64_t)length;
		} else {
			way->refused++; /* the interface is down, or its queue full */
		}
	}
	return done > 0;
}

static void report(const char *from, const char *to, const struct direction *way)
{
	printf("%s to %s: %llu frames, %llu bytes, %llu refused\n", from, to, (unsigned long long)way->frames,
	       (unsigned long long)way->bytes, (unsigned long long)way->refused);
}

int main(int argc, char **argv)
{
	static char buffer[FRAME_MAX] __attribute__((aligned(64)));
	struct sigaction action = { .sa_handler = on_signal };
	bool spin = argc > 1 && strcmp(argv[1], "--spin") == 0;
	char **names = argv + 1 + spin;
	struct direction there = { 0 }, back = { 0 };

	if (argc != 3 + spin) {
		fprintf(stderr, "usage: tapcopy [--spin] TAP TAP\n");
		return 2;
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	there.from = back.to = open_tap(names[0]);
	there.to = back.from = open_tap(names[1]);
	while (!stop) {
		bool came = copy(&there, buffer);

		came |= copy(&back, buffer);
		if (!came && !spin) {
			struct pollfd both[2] = { { .fd = there.from, .events = POLLIN },
						  { .fd = back.from, .events = POLLIN } };

			poll(both, 2, -1);
		}
	}
	report(names[0], names[1], &there);
	report(names[1], names[0], &back);
	return 0;
}
