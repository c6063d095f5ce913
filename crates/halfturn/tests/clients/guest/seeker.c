/* Gives a disk SEEK(10) by SG_IO for places anywhere on it, and then reads a block at as many: seeker DISK. Prints how many seeks were
   taken, what each took on the mean, and what a read took, in ms. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <scsi/sg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define PLACES 50

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static uint64_t dice = 88172645463325252u;

static uint64_t roll(uint64_t limit) {
    dice ^= dice << 13, dice ^= dice >> 7, dice ^= dice << 17;
    return dice % limit;
}

int main(int count, char **words) {
    if (count != 2) return 2;
    int disk = open(words[1], O_RDONLY | O_DIRECT), taken = 0, read = 0;
    char *memory = aligned_alloc(4096, 4096);
    if (disk < 0) return 1;
    uint64_t blocks = (uint64_t)lseek(disk, 0, SEEK_END) / 512;
    double began = now_ms();
    for (int i = 0; i < PLACES; i++) {
        uint32_t at = roll(blocks);
        unsigned char command[10] = {0x2b, 0, at >> 24, at >> 16, at >> 8, at}, sense[32] = {0};
        sg_io_hdr_t told;
        memset(&told, 0, sizeof told);
        told.interface_id = 'S', told.cmdp = command, told.cmd_len = sizeof command;
        told.sbp = sense, told.mx_sb_len = sizeof sense, told.dxfer_direction = SG_DXFER_NONE, told.timeout = 5000;
        if (ioctl(disk, SG_IO, &told)) return 1;
        taken += !told.status && !told.host_status && !told.driver_status;
    }
    double sought = now_ms();
    for (int i = 0; i < PLACES; i++) read += pread(disk, memory, 512, roll(blocks) * 512) == 512;
    double ended = now_ms();
    if (read < PLACES) return 1;
    printf("SEEKS %d %.3f %.3f\n", taken, (sought - began) / PLACES, (ended - sought) / PLACES);
    return 0;
}
