// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Allocations where Rust programs make them: collections, boxes, closures, threads, panics that unwind through Drop.
use std::collections::{BTreeMap, HashMap};

extern "C" {
    fn truth_ready();
    fn truth_arm();
    fn truth_disarm();
    fn truth_done() -> !;
}

// std::hint::black_box is younger than the compilers of some distributions.
#[inline(never)]
fn black_box<T>(value: T) -> T {
    let copy = unsafe { std::ptr::read_volatile(&value) };
    std::mem::forget(value);
    copy
}

fn armed<T>(run: impl FnOnce() -> T) -> T {
    unsafe { truth_arm() };
    let value = run();
    unsafe { truth_disarm() };
    value
}

#[inline(never)]
fn leaf(size: usize) -> Vec<u8> {
    armed(|| black_box(Vec::with_capacity(size)))
}

#[inline(never)]
fn nest(depth: u32) -> usize {
    if depth == 0 {
        return leaf(100).capacity();
    }
    nest(black_box(depth - 1)) + 1
}

struct Noisy(usize);

impl Drop for Noisy {
    #[inline(never)]
    fn drop(&mut self) {
        black_box(leaf(self.0));
    }
}

trait Shape {
    fn area(&self) -> usize;
}

struct Square(usize);

impl Shape for Square {
    #[inline(never)]
    fn area(&self) -> usize {
        leaf(self.0).capacity()
    }
}

#[inline(never)]
fn collections() {
    let mut map = HashMap::new();
    let mut tree = BTreeMap::new();
    let mut text = String::new();
    for i in 0..20 {
        armed(|| {
            map.insert(i, format!("number {i}"));
            tree.insert(i, vec![i; 10]);
            text.push_str("some more of it, and more");
        });
    }
    black_box((map, tree, text));
}

#[inline(never)]
fn sorting() {
    let mut numbers: Vec<u32> = (0..100).rev().collect();
    numbers.sort_by(|a, b| {
        if *a == 50 {
            black_box(leaf(40));
        }
        a.cmp(b)
    });
    numbers.sort_unstable_by_key(|n| {
        if *n == 51 {
            black_box(leaf(41));
        }
        !*n
    });
}

#[inline(never)]
fn panics(depth: u32) {
    let _noisy = Noisy(60 + depth as usize);
    if depth == 0 {
        panic!("on purpose");
    }
    panics(black_box(depth - 1));
}

fn main() {
    std::panic::set_hook(Box::new(|_| {
        black_box(leaf(30));
    }));
    unsafe { truth_ready() };
    nest(1);
    nest(12);
    nest(100);
    collections();
    sorting();
    let shapes: Vec<Box<dyn Shape>> = vec![Box::new(Square(20)), Box::new(Square(21))];
    black_box(shapes.iter().map(|s| s.area()).sum::<usize>());
    std::thread::spawn(|| nest(3)).join().unwrap();
    std::thread::scope(|s| {
        s.spawn(|| collections());
    });
    assert!(std::panic::catch_unwind(|| panics(3)).is_err());
    assert!(std::thread::spawn(|| panics(1)).join().is_err());
    unsafe { truth_done() }
}
