/*
 * Round trips of one UDP datagram, each timed on its own, so that there is a median and a tail and not only a mean.
 *
 *     pingpong serve PORT                          sends each datagram back, until it is ended
 *     pingpong ADDRESS PORT FRAME SECONDS          prints: round trips, median, 99th percentile (us), lost
 *
 * FRAME is the Ethernet frame's length with its FCS, so 64 carries 18 bytes of payload (IPv4). A datagram that is not
 * back within 100 ms counts as lost and the next one is sent. Both ends sleep in the kernel while they wait.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
	OVERHEAD = 14 + 20 + 8 + 4, /* Ethernet, IPv4, UDP, FCS */
	TIMES_MAX = 4 << 20,	    /* more are not kept */
};

static void fail(const char *what)
{
	fprintf(stderr, "pingpong: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static _Noreturn void serve(uint16_t port)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_port = htons(port) };
	char buffer[65536];
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&own, sizeof own) < 0)
		fail("cannot bind");
	for (;;) {
		struct sockaddr_in from;
		socklen_t size = sizeof from;
		ssize_t length = recvfrom(fd, buffer, sizeof buffer, 0, (struct sockaddr *)&from, &size);

		if (length > 0)
			sendto(fd, buffer, (size_t)length, 0, (struct sockaddr *)&from, size);
	}
}

/* One round trip in ns, or 0 where the datagram is lost. Late ones of earlier numbers are read and forgotten. */
static uint64_t round_trip(int fd, char *buffer, size_t length, uint32_t number)
{
	uint64_t start = now_ns();

	memcpy(buffer, &number, sizeof number);
	if (send(fd, buffer, length, 0) < 0)
		return 0;
	for (;;) {
		uint32_t back;
		ssize_t got = recv(fd, buffer, length, 0);

		if (got < 0)
			return 0;
		memcpy(&back, buffer, sizeof back);
		if (back == number)
			return now_ns() - start;
	}
}

static int ascending(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static char buffer[65536];
	struct sockaddr_in peer = { .sin_family = AF_INET };
	struct timeval patience = { .tv_usec = 100000 };
	uint32_t *times, kept = 0, lost = 0, number = 0;
	size_t length;
	uint64_t end;
	int fd;

	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		serve((uint16_t)atoi(argv[2]));
	if (argc != 5 || atoi(argv[3]) < 64 || atoi(argv[3]) > 1518) {
		fprintf(stderr, "usage: pingpong serve PORT | pingpong ADDRESS PORT FRAME(64..1518) SECONDS\n");
		return 2;
	}
	peer.sin_port = htons((uint16_t)atoi(argv[2]));
	length = (size_t)atoi(argv[3]) - OVERHEAD;
	times = malloc(TIMES_MAX * sizeof *times);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (!times || fd < 0 || inet_pton(AF_INET, argv[1], &peer.sin_addr) != 1 ||
	    connect(fd, (struct sockaddr *)&peer, sizeof peer) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) < 0)
		fail("cannot reach the other side");
	end = now_ns() + (uint64_t)(atof(argv[4]) * 1e9);
	while (now_ns() < end && kept < TIMES_MAX) {
		uint64_t took = round_trip(fd, buffer, length, ++number);

		if (took)
			times[kept++] = (uint32_t)took;
		else
			lost++;
	}
	if (kept == 0) {
		fprintf(stderr, "pingpong: nothing came back\n");
		return 1;
	}
	qsort(times, kept, sizeof *times, ascending);
	printf("%u %.2f %.2f %u\n", kept, times[kept / 2] / 1e3, times[(uint64_t)kept * 99 / 100] / 1e3, lost);
	return 0;
}
