/* Reads a disk as people do who do not wait for one another: reader DISK SECONDS PER_SECOND SEED. Blocks of 4 KiB anywhere, at random
   instants. Prints how many were read, mean and 99th percentile in ms, from when each was to be asked for. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST 100000
#define SIZE 4096

static struct iocb blocks[MOST];
static double asked[MOST], waited[MOST];

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static uint64_t dice;

static uint64_t roll(void) {
    dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
    return dice;
}

int main(int count, char **words) {
    if (count != 5) return 2;
    double seconds = atof(words[2]), rate = atof(words[3]);
    dice = 88172645463325252u + 7919u * (uint64_t)atoi(words[4]);
    int disk = open(words[1], O_RDONLY | O_DIRECT);
    if (disk < 0) fail(words[1]);
    uint64_t places = (uint64_t)lseek(disk, 0, SEEK_END) / SIZE;
    char *memory = aligned_alloc(SIZE, 256 * SIZE);
    aio_context_t ring = 0;
    if (syscall(SYS_io_setup, 256, &ring)) fail("io_setup");
    double began = now_s(), next = began;
    int begun = 0, ended = 0;
    while (ended < begun || next < began + seconds) {
        while (next < began + seconds && next <= now_s() && begun < MOST && begun - ended < 256) {
            struct iocb *block = &blocks[begun];
            block->aio_data = begun, block->aio_lio_opcode = IOCB_CMD_PREAD, block->aio_fildes = disk;
            block->aio_buf = (uint64_t)(memory + begun % 256 * SIZE), block->aio_nbytes = SIZE;
            block->aio_offset = roll() % places * SIZE;
            asked[begun++] = next;
            if (syscall(SYS_io_submit, ring, 1, &block) != 1) fail("io_submit");
            next -= log((roll() >> 11) * 0x1p-53 + 1e-18) / rate;
        }
        double until = next < began + seconds ? next - now_s() : 1.0;
        if (until < 0) until = 0;
        struct timespec patience = {(time_t)until, (long)((until - (time_t)until) * 1e9)};
        struct io_event events[16];
        int some = syscall(SYS_io_getevents, ring, begun > ended ? 1 : 0, 16, events, &patience);
        if (begun == ended && until > 0) nanosleep(&patience, NULL);
        for (int at = 0; at < some; at++) {
            if (events[at].res != SIZE) return 3;
            waited[ended++] = (now_s() - asked[events[at].data]) * 1e3;
        }
    }
    double sum = 0;
    for (int at = 0; at < ended; at++) sum += waited[at];
    qsort(waited, ended, sizeof *waited, compare);
    printf("READER %d %.3f %.3f\n", ended, sum / ended, waited[ended * 99 / 100]);
    return 0;
}
