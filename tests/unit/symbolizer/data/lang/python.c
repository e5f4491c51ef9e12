/* CPython's perf trampoline in small: compiled stubs called py::name:file call one C function each, frame pointers kept.
   Real CPython without frame pointers shows its stubs only through DWARF unwinding. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile unsigned long sink;
__attribute__((noinline)) static void spin(int count) {
  for (int i = 0; i < count; i++)
    sink += i;
}
__attribute__((noinline)) void evaluate(void) {
  spin(200000);
  sink++;
}
int main(void) {
  static const char *names[] = {"py::<module>:/srv/demo/tool.py", "py::Tool.run:/srv/demo/tool.py",
                                "py::helper:/srv/demo/lib/util.py"};
  unsigned char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  /* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
  static const unsigned char stub[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
  char path[64];
  sprintf(path, "/tmp/perf-%d.map", (int)getpid());
  FILE *map = fopen(path, "w");
  for (int i = 0; i < 3; i++) {
    memcpy(code + 64 * i, stub, sizeof stub);
    fprintf(map, "%lx %x %s\n", (unsigned long)(code + 64 * i), 64, names[i]);
  }
  fclose(map);
  for (int i = 0; i < 1500; i++)
    ((void (*)(void (*)(void)))(code + 64 * (i % 3)))(evaluate);
}
