// Bytes that a web server sent for each path, without requests from blocked addresses.
use std::collections::BTreeMap;

type Addresses = Vec<String>;

fn address(number: usize) -> String {
    format!("10.0.{}.{}", number / 250, number % 250)
}

fn request(number: usize) -> String {
    format!("{} GET /item/{} 200 {}", address(number * 7919 % 4000), number % 100, number % 1500)
}

fn is_blocked(blocked: &Addresses, from: &str) -> bool {
    blocked.iter().any(|one| one == from)
}

fn bytes_by_path(blocked: &Addresses, requests: usize) -> BTreeMap<String, u64> {
    let mut bytes = BTreeMap::new();
    for number in 0..requests {
        let line = request(number);
        let fields: Vec<&str> = line.split(' ').collect();
        if !is_blocked(blocked, fields[0]) {
            *bytes.entry(fields[2].to_string()).or_insert(0) += fields[4].parse::<u64>().unwrap();
        }
    }
    bytes
}

fn main() {
    let blocked: Addresses = (0..4000).step_by(2).map(address).collect();
    println!("{} bytes", bytes_by_path(&blocked, 1_000_000).values().sum::<u64>());
}
