/* Runs a program step by step and prints the address of every instruction: trace PROGRAM. */
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
  struct user_regs_struct registers;
  int status;
  pid_t pid = fork();
  if (!pid) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    execv(argv[1], argv + 1);
    return 1;
  }
  while (waitpid(pid, &status, 0) > 0 && !WIFEXITED(status)) {
    ptrace(PTRACE_GETREGS, pid, 0, &registers);
    printf("%llx\n", registers.rip);
    ptrace(PTRACE_SINGLESTEP, pid, 0, 0);
  }
  return 0;
}
