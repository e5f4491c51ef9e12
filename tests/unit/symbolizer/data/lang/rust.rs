use std::collections::HashMap;
#[inline(never)] fn words(n: u64) -> usize { let mut m: HashMap<String, u64> = HashMap::new(); for i in 0..n { *m.entry(format!("k{}", i % 97)).or_insert(0) += i; } m.len() }
#[inline(never)] fn sums(v: &[u64]) -> u64 { v.iter().filter(|x| **x % 3 == 0).map(|x| x * x).sum() }
trait Shape { fn area(&self) -> f64; }
struct Sq(f64); struct Ci(f64);
impl Shape for Sq { fn area(&self) -> f64 { self.0 * self.0 } }
impl Shape for Ci { fn area(&self) -> f64 { self.0.sin() * self.0 } }
fn main() { let v: Vec<u64> = (0..5000).collect(); let mut t = 0.0; let s: Vec<Box<dyn Shape>> = (0..100).map(|i| if i % 2 == 0 { Box::new(Sq(i as f64)) as Box<dyn Shape> } else { Box::new(Ci(i as f64)) }).collect();
 for _ in 0..600 { t += words(2000) as f64 + sums(&v) as f64; for _ in 0..50 { t += s.iter().map(|x| x.area()).sum::<f64>(); } } println!("{}", t); }
