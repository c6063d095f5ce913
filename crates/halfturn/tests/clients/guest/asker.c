/* Asks a disk for blocks, as several processes do: asker DISK SECONDS CLASS..., each class r|w:from:to:bytes:outstanding:r|s with from
   and to in bytes, random or sequential places. Processes begin one second after the other; what they ask counts from three seconds
   after the last has begun. Prints a line for each: its number, how many ended, mean and 99th percentile in ms; and one with how many ms
   the machine's processors were busy meanwhile, as it counts its ticks. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct class { char way, place; unsigned long long from, to, bytes; int outstanding; };

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void fail(const char *what) {
    perror(what);
    _exit(1);
}

static void ask(aio_context_t ring, struct iocb *block, const struct class *class, unsigned long long *next, uint64_t *dice) {
    *dice ^= *dice << 13, *dice ^= *dice >> 7, *dice ^= *dice << 17;
    unsigned long long at = class->from + *dice % ((class->to - class->from) / class->bytes) * class->bytes;
    if (class->place == 's') {
        at = *next;
        *next = at + 2 * class->bytes > class->to ? class->from : at + class->bytes;
    }
    block->aio_offset = at;
    if (syscall(SYS_io_submit, ring, 1, &block) != 1) fail("io_submit");
}

static void run(const char *disk, int number, const struct class *class, double from, double until) {
    enum { MOST = 64, SAMPLES = 1 << 20 };
    static struct iocb blocks[MOST];
    static double asked[MOST], times[SAMPLES];
    int file = open(disk, O_RDWR | O_DIRECT), count = 0;
    if (file < 0) fail(disk);
    aio_context_t ring = 0;
    if (syscall(SYS_io_setup, MOST, &ring)) fail("io_setup");
    unsigned long long next = class->from;
    uint64_t dice = 88172645463325252ull + 7919ull * number;
    double sum = 0;
    for (int i = 0; i < class->outstanding; i++) {
        void *buffer;
        if (posix_memalign(&buffer, 4096, class->bytes)) fail("memory");
        memset(buffer, 7, class->bytes);
        blocks[i].aio_fildes = file;
        blocks[i].aio_lio_opcode = class->way == 'r' ? IOCB_CMD_PREAD : IOCB_CMD_PWRITE;
        blocks[i].aio_buf = (uintptr_t)buffer;
        blocks[i].aio_nbytes = class->bytes;
        blocks[i].aio_data = i;
        asked[i] = now_ms();
        ask(ring, &blocks[i], class, &next, &dice);
    }
    for (;;) {
        struct io_event event;
        if (syscall(SYS_io_getevents, ring, 1, 1, &event, 0) != 1) continue;
        double now = now_ms();
        int i = event.data;
        if (event.res != (long long)class->bytes) fail("a request failed");
        if (now > until) break;
        if (asked[i] >= from && count < SAMPLES) sum += times[count++] = now - asked[i];
        asked[i] = now;
        ask(ring, &blocks[i], class, &next, &dice);
    }
    if (!count) fail("nothing ended");
    qsort(times, count, sizeof *times, compare);
    printf("CLASS %d %d %.3f %.3f\n", number, count, sum / count, times[count * 99 / 100]);
    fflush(stdout);
    _exit(0);
}

static double busy_ms(void) {
    unsigned long long user, nice, kernel, idle, wait, hard, soft;
    FILE *file = fopen("/proc/stat", "r");
    if (!file || fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &kernel, &idle, &wait, &hard, &soft) != 7) fail("/proc/stat");
    fclose(file);
    return (user + nice + kernel + hard + soft) * 1e3 / sysconf(_SC_CLK_TCK);
}

static void sleep_until(double then) {
    double left = then - now_ms();
    if (left > 0) usleep(left * 1e3);
}

int main(int count, char **words) {
    double begun = now_ms(), from = begun + 1e3 * (count - 3) + 3e3, until = from + 1e3 * atof(words[2]);
    for (int i = 3; i < count; i++) {
        struct class class;
        if (sscanf(words[i], "%c:%llu:%llu:%llu:%d:%c", &class.way, &class.from, &class.to, &class.bytes, &class.outstanding, &class.place) != 6)
            return 2;
        if (fork()) {
            sleep(1);
            continue;
        }
        run(words[1], i - 3, &class, from, until);
    }
    sleep_until(from);
    double busy = busy_ms();
    sleep_until(until);
    busy = busy_ms() - busy;
    while (wait(0) > 0) {
    }
    printf("BUSY %.0f\n", busy);
    return 0;
}
