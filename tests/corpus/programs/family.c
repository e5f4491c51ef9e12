/* Processes: children that share their parent's memory map, and children that replace it (exec of argv[2]). */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static volatile unsigned long sink;

NOINLINE static void parent_work(void) {
    for (int i = 0; i < 2000000; i++) sink = sink * 3 + 1;
}

NOINLINE static void child_work(void) {
    for (int i = 0; i < 4000000; i++) sink = sink * 7 + 1;
}

NOINLINE static int born(int number, const char *program) {
    pid_t pid = fork();
    if (pid) return waitpid(pid, NULL, 0) != pid;
    if (number % 2) execl(program, program, "3", (char *)NULL);
    prctl(PR_SET_NAME, "offspring");
    child_work();
    _exit(0);
}

int main(int argc, char **argv) {
    int children = argc > 1 ? atoi(argv[1]) : 4;
    for (int i = 0; i < children; i++) {
        parent_work();
        born(i, argc > 2 ? argv[2] : "/demo/calls");
    }
    return 0;
}
