// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Keeps blocks that a trait's method, a closure and a thread's closure ask for, by Rust's own containers.
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

trait Store {
    fn put(&mut self, key: &str, count: usize);
}

struct Cache<T> {
    map: HashMap<String, Vec<T>>,
}

impl<T: Clone + Default> Store for Cache<T> {
    #[inline(never)]
    fn put(&mut self, key: &str, count: usize) {
        self.map.insert(key.to_string(), vec![T::default(); count]);
    }
}

#[inline(never)]
fn remember<F: Fn(usize) -> String>(list: &mut Vec<String>, line: F, count: usize) {
    for i in 0..count {
        list.push(line(i));
    }
}

fn main() {
    let mut cache = Cache::<u32> { map: HashMap::new() };
    let mut list = Vec::new();
    for i in 0..500 {
        cache.put(&format!("key{}", i), 250);
    }
    remember(&mut list, |i| format!("a line of text with number {} in it, longer than that", i), 400);
    let shared: Arc<Mutex<Vec<Box<[u8; 512]>>>> = Arc::new(Mutex::new(Vec::new()));
    let theirs = shared.clone();
    let thread = std::thread::spawn(move || {
        for _ in 0..300 {
            theirs.lock().unwrap().push(Box::new([1u8; 512]));
        }
    });
    thread.join().unwrap();
    std::process::exit((cache.map.len() + list.len() != 900) as i32);
}
