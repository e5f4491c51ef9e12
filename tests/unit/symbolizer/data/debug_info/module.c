/* A kernel module as far as debug info goes: code in .text, .text.unlikely and .init.text. Made with make.sh. */
#include "module.h"
int mod_flush(struct ring *ring, int count);
__attribute__((section(".init.text"))) int mod_init(struct ring *ring) {
  ring->head = ring->tail = 0;
  return ring_push(ring, 1);
}
__attribute__((cold, noinline)) int mod_fail(struct ring *ring, int why) {
  ring->tail = ring->head;
  return ring_push(ring, why) - why;
}
int
mod_work(struct ring *ring, int count)
{
  int done = 0;
  for (int i = 0; i < count; i++)
    if (ring_push(ring, i))
      return mod_fail(ring, i);
    else
      done++;
  return mod_flush(ring, done);
}
