/* Shared by the two units of the module: what is inlined stands in another file than what it is inlined into. */
struct ring {
  unsigned long head, tail, slots[16];
};
static inline unsigned long ring_next(unsigned long at) { return (at + 1) % 16; }
static inline int ring_push(struct ring *ring, unsigned long value) {
  unsigned long next = ring_next(ring->head);
  if (next == ring->tail)
    return -1;
  ring->slots[ring->head] = value;
  ring->head = next;
  return 0;
}
