/* One thread: plain calls, recursion, a static function, page faults and system calls, for a given number of rounds. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile unsigned long sink;

NOINLINE static void spin(unsigned long rounds) {
    for (unsigned long i = 0; i < rounds; i++) sink = sink * 5 + i;
}

NOINLINE static unsigned long descend(int depth) {
    if (depth == 0) {
        spin(20000);
        return sink;
    }
    unsigned long below = descend(depth - 1);
    return below + 1; /* an addition after the call keeps it from being a jump */
}

NOINLINE void touch_pages(size_t bytes) {
    char *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t at = 0; at < bytes; at += 4096) area[at] = 1;
    munmap(area, bytes);
}

NOINLINE void read_zeros(size_t bytes) {
    static char buffer[1 << 16];
    int zero = open("/dev/zero", O_RDONLY);
    for (size_t done = 0; done < bytes; done += sizeof buffer)
        if (read(zero, buffer, sizeof buffer) < 0) break;
    close(zero);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 10;
    for (int i = 0; i < rounds; i++) {
        sink += descend(3 + i % 20);
        touch_pages(1 << 20);
        read_zeros(4 << 20);
        spin(100000);
    }
    return 0;
}
