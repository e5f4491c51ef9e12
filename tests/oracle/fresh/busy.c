/* What the modes record: busy WHAT [N]. Built by programs.py, with frame pointers and without. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

__attribute__((noinline)) void work(uint64_t rounds) {
    for (uint64_t i = 0; i < rounds; i++) sink += i * sink + 1;
}

__attribute__((noinline)) void reads(void) { /* kernel stacks below a user stack */
    char buffer[65536];
    int file = open("/dev/zero", O_RDONLY);
    for (int i = 0; i < 8; i++) sink += read(file, buffer, sizeof buffer);
    close(file);
}

__attribute__((noinline)) void descend(int depth) { /* stacks of many depths */
    if (depth) descend(depth - 1); else work(2000);
    sink++;
}

static void spin(double seconds) {
    for (double end = now() + seconds; now() < end;) { work(9000); reads(); descend(sink % 200); }
}

__attribute__((noinline)) void noise(int depth) { /* stack dumps that do not compress */
    uint64_t words[400], state = sink + depth + 1;
    for (int i = 0; i < 400; i++) words[i] = (state = state * 6364136223846793005u + 1442695040888963407u) >> 1;
    if (depth) noise(depth - 1); else work(20000);
    sink += words[sink % 400];
}

static void noisy(double seconds) {
    for (double end = now() + seconds; now() < end;) noise(12);
}

static void faults(double seconds) {
    for (double end = now() + seconds; now() < end;) {
        char *pages = mmap(0, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (int i = 0; i < 4 << 20; i += 4096) pages[i] = 1;
        munmap(pages, 4 << 20);
    }
}

static void *thread(void *number) {
    char name[16];
    snprintf(name, sizeof name, "worker %ld", (long)number % 7);
    pthread_setname_np(pthread_self(), name);
    for (int i = 0; i < 5; i++) { work(20000); usleep(1000); }
    return 0;
}

static void threads(long count) {
    pthread_t all[4096];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (long i = 0; i < count; i++) pthread_create(all + i, &small, thread, (void *)i);
    for (long i = 0; i < count; i++) pthread_join(all[i], 0);
}

static void *spinner(void *seconds) { spin(*(double *)seconds); return 0; }

static void wide(double seconds) {
    pthread_t all[8];
    for (int i = 0; i < 8; i++) pthread_create(all + i, 0, spinner, &seconds);
    for (int i = 0; i < 8; i++) pthread_join(all[i], 0);
}

static void forks(long count, int depth) {
    for (long i = 0; i < count; i++)
        if (!fork()) {
            work(200000);
            if (depth && i % 8 == 0) forks(4, depth - 1);
            _exit(0);
        }
    while (wait(0) > 0) ;
}

static void renames(double seconds) {
    char name[16];
    int number = 0;
    for (double end = now() + seconds; now() < end; spin(.01)) {
        snprintf(name, sizeof name, number % 2 ? "name-%d" : "two words %d", number % 5);
        prctl(PR_SET_NAME, name), number++;
    }
}

static void compiled(double seconds) { /* three functions of a just-in-time compiler; its map leaves the last one out */
    unsigned char loop[] = {0x55, 0x48, 0x89, 0xe5, 0xb8, 0, 0, 2, 0, 0xff, 0xc8, 0x75, 0xfc, 0x5d, 0xc3};
    unsigned char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(path, "w");
    for (int i = 0; i < 3; i++) {
        memcpy(code + 64 * i, loop, sizeof loop);
        if (i < 2) fprintf(map, "%lx 40 compiled %d(int, char)\n", (long)(code + 64 * i), i);
    }
    fclose(map);
    for (double end = now() + seconds; now() < end;)
        for (int i = 0; i < 3; i++) ((void (*)(void))(code + 64 * i))();
}

static void in_memory(char **words) { /* runs words from a memfd */
    int from = open("/proc/self/exe", O_RDONLY), to = memfd_create("hidden", 0);
    char buffer[65536];
    for (ssize_t n; (n = read(from, buffer, sizeof buffer)) > 0;) sink += write(to, buffer, n);
    extern char **environ;
    fexecve(to, words, environ);
}

static void handler(int number) { work(30000 + number); }

static void signals(double seconds) {
    signal(SIGUSR1, handler);
    for (double end = now() + seconds; now() < end; work(10000)) raise(SIGUSR1);
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "spin";
    double number = count > 2 ? atof(words[2]) : .5;
    if (!strcmp(what, "spin")) spin(number);
    if (!strcmp(what, "noise")) noisy(number);
    if (!strcmp(what, "faults")) faults(number);
    if (!strcmp(what, "threads")) threads(number);
    if (!strcmp(what, "wide")) wide(number);
    if (!strcmp(what, "forks")) forks(number, 2);
    if (!strcmp(what, "renames")) renames(number);
    if (!strcmp(what, "compiled")) compiled(number);
    if (!strcmp(what, "signals")) signals(number);
    if (!strcmp(what, "memfd")) in_memory((char *[]){"hidden", "spin", words[2], 0});
    if (!strcmp(what, "execs") && number > 0) { /* runs itself again and again, under two names */
        char rest[16];
        snprintf(rest, sizeof rest, "%d", (int)number - 1);
        spin(.02);
        execl("/proc/self/exe", (int)number % 2 ? "odd" : "even", "execs", rest, NULL);
    }
    return 0;
}
