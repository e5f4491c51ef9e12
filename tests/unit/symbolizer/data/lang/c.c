#include <stdio.h>
#include <stdlib.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static __attribute__((noinline)) int sorted(int n) {
  int *values = malloc(n * sizeof *values);
  for (int i = 0; i < n; i++)
    values[i] = (i * 7919) % 10007;
  qsort(values, n, sizeof *values, compare);
  int middle = values[n / 2];
  free(values);
  return middle;
}
__attribute__((noinline)) unsigned hash(const char *text) {
  unsigned value = 5381;
  while (*text)
    value = value * 33 + *text++;
  return value;
}
int main(void) {
  unsigned total = 0;
  char text[64];
  for (int i = 0; i < 9000; i++) {
    total += sorted(2000);
    for (int k = 0; k < 300; k++) {
      sprintf(text, "%d-%d", i, k);
      total += hash(text);
    }
  }
  printf("%u\n", total);
}
