function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
class Tree {
  constructor(depth) { if (depth > 0) { this.left = new Tree(depth - 1); this.right = new Tree(depth - 1); } }
  size() { return 1 + (this.left ? this.left.size() + this.right.size() : 0); }
}
const end = Date.now() + 600;
let total = 0;
while (Date.now() < end) { total += fib(18) + new Tree(9).size(); }
console.log(total > 0);
