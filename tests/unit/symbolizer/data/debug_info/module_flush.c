#include "module.h"
int mod_flush(struct ring *ring, int count) {
  int sum = 0;
  while (ring->tail != ring->head && count-- > 0) {
    sum += ring->slots[ring->tail];
    ring->tail = ring_next(ring->tail);
  }
  return sum;
}
