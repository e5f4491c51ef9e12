/* Compiles the same loop three times: twice to one address, once moved elsewhere, and writes a jitdump with lines. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static uint64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static FILE *dump;
static void record(uint32_t id, const void *body, uint32_t size) {
  uint32_t head[2] = {id, 16 + size};
  uint64_t time = now();
  fwrite(head, 8, 1, dump), fwrite(&time, 8, 1, dump), fwrite(body, size, 1, dump), fflush(dump);
}
static void load(unsigned char *code, int size, const char *name, uint64_t index) {
  unsigned char body[512], *at = body;
  uint64_t lines[2] = {(uint64_t)code, 2};
  memcpy(at, lines, 16), at += 16;
  for (int i = 0; i < 2; i++) {
    uint64_t place = (uint64_t)code + 4 * i;
    int32_t line[2] = {10 * (int)index + i, 0};
    memcpy(at, &place, 8), memcpy(at + 8, line, 8), strcpy((char *)at + 16, "/srv/demo/loop.src"), at += 16 + 19;
  }
  record(2, body, at - body);
  uint32_t pid[2] = {getpid(), getpid()};
  uint64_t words[4] = {(uint64_t)code, (uint64_t)code, size, index};
  at = body;
  memcpy(at, pid, 8), memcpy(at + 8, words, 32), strcpy((char *)at + 40, name), at += 41 + strlen(name);
  memcpy(at, code, size);
  record(0, body, at + size - body);
}
int main(void) {
  char path[64];
  sprintf(path, "jit-%d.dump", (int)getpid());
  int file = open(path, O_CREAT | O_TRUNC | O_RDWR, 0644);
  dump = fdopen(file, "w+");
  uint32_t head[6] = {0x4A695444, 1, 40, 62, 0, getpid()};
  uint64_t rest[2] = {now(), 0};
  fwrite(head, 24, 1, dump), fwrite(rest, 16, 1, dump), fflush(dump);
  mmap(0, sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
  unsigned char *code = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  /* mov $n,%ecx; 1: dec %ecx; jnz 1b; ret */
  unsigned char loop[] = {0xb9, 0, 0, 0, 0x0a, 0xff, 0xc9, 0x75, 0xfc, 0xc3};
  memcpy(code, loop, sizeof loop);
  load(code, sizeof loop, "first", 1);
  ((void (*)(void))code)();
  load(code, sizeof loop, "second", 2);
  ((void (*)(void))code)();
  uint32_t pid[2] = {getpid(), getpid()};
  uint64_t words[5] = {(uint64_t)code, (uint64_t)code, (uint64_t)code + 4096, sizeof loop, 2};
  unsigned char body[48];
  memcpy(code + 4096, loop, sizeof loop);
  memcpy(body, pid, 8), memcpy(body + 8, words, 40);
  record(1, body, 48);
  ((void (*)(void))(code + 4096))();
}
