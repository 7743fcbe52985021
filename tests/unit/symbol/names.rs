// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Compiled by the symbol tests; not part of them.
use std::collections::HashMap;

trait Shape {
    fn boxed(&self) -> Box<Vec<u8>>;
}

struct Square<T>(T);

impl Shape for Square<f64> {
    #[inline(never)]
    fn boxed(&self) -> Box<Vec<u8>> {
        Box::new(vec![self.0 as u8; 100])
    }
}

#[inline(never)]
pub fn build(count: usize) -> HashMap<String, usize> {
    (0..count).map(|i| (format!("k{}", i), i)).collect()
}

fn main() {
    let map = build(std::env::args().count());
    let shape: Box<dyn Shape> = Box::new(Square(map.len() as f64));
    println!("{}", shape.boxed().len());
}
