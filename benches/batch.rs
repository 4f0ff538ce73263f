//! Batches: many events at a time, beside the bare loops of `limits.rs` that mark what the machine can do.
//!
//! ```text
//! cargo bench --bench batch
//! ```
//! Throughput is in events; that of columns in events of one rule. Events are drawn with a fixed seed, each class as
//! often as any other unless a name says otherwise. Traces of 16,384 events stay in the first two levels of cache, that
//! of the long trace (1 MiB) and the blocks of lanes (2 MiB) do not.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "a bench that cannot go on has failed")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tracelaw_corpora::generate::Random;
use tracelaw_runtime::batch::columns::{Shape, Watch, truth};
use tracelaw_runtime::batch::{Compose, LANES, Lanes, Table};

mod limits;

const EVENTS: usize = 1 << 14;
const LONG: usize = 1 << 20;
const STATES: usize = 16;

fn symbols(random: &mut Random, count: usize, classes: usize) -> Vec<u8> {
    (0..count).map(|_| random.below(classes) as u8).collect()
}

/// Pieces of equal length.
fn sessions(symbols: &[u8], count: usize) -> Vec<&[u8]> {
    symbols.chunks_exact(symbols.len() / count).collect()
}

/// A random table of 16 states; no edge is marked.
fn table(random: &mut Random, shift: u32) -> (Vec<u8>, Vec<u8>) {
    (symbols(random, STATES << shift, STATES), vec![0; STATES << shift])
}

fn walks(c: &mut Criterion) {
    let mut random = Random::new(5);
    let (next, marks) = table(&mut random, 3);
    let premultiplied: [u8; 128] = std::array::from_fn(|edge| next[edge] << 3);
    let masks: [[u32; 2]; 64] = std::array::from_fn(|_| [1 << random.below(32), 1 << random.below(32)]);
    let walked = symbols(&mut random, EVENTS, 8);
    let sliced = symbols(&mut random, EVENTS, 64);
    let table = Table::new(&next, 3, STATES).unwrap().with_marks(&marks).unwrap();

    let mut group = c.benchmark_group("batch");
    group.throughput(Throughput::Elements(EVENTS as u64));
    group.bench_function("limit: dependent walk", |b| {
        b.iter(|| limits::dependent_walk(&premultiplied, 0, black_box(&walked)))
    });
    let four: [&[u8]; 4] = sessions(&walked, 4).try_into().unwrap();
    group.bench_function("limit: 4 interleaved", |b| {
        b.iter(|| limits::interleaved4(&premultiplied, [0; 4], black_box(four)))
    });
    group.bench_function("limit: bit-sliced word", |b| {
        b.iter(|| limits::bit_sliced_word(&masks, 0, black_box(&sliced)))
    });
    group.bench_function("run", |b| b.iter(|| table.run(0, black_box(&walked))));
    group.bench_function("run, marks", |b| b.iter(|| table.run_marked(0, black_box(&walked), |_, _| {})));
    for count in [3, 4, 64] {
        let columns = sessions(&walked, count);
        let mut states = vec![0; count];
        group.bench_function(BenchmarkId::new("interleaved, sessions", count), |b| {
            b.iter(|| table.run_interleaved(&mut states, black_box(&columns)))
        });
    }
    let (mut unequal, mut rest) = (Vec::new(), &walked[..]);
    while !rest.is_empty() {
        let (first, others) = rest.split_at((20 + random.below(100)).min(rest.len()));
        unequal.push(first);
        rest = others;
    }
    let mut states = vec![0; unequal.len()];
    group.bench_function("interleaved, sessions of 20 to 120 events", |b| {
        b.iter(|| table.run_interleaved(&mut states, black_box(&unequal)))
    });

    // Two classes lead on from state to state, the other six change nothing.
    let calm: Vec<u8> = (0..STATES << 3)
        .map(|edge| ((edge >> 3) + if edge % 8 < 2 { 1 } else { 0 }) as u8 % STATES as u8)
        .collect();
    let calm = Table::new(&calm, 3, STATES).unwrap().with_marks(&marks).unwrap();
    for apart in [1, 10, 100, 1000] {
        let class = |random: &mut Random| match random.below(apart) {
            0 => random.below(2),
            _ => 2 + random.below(6),
        };
        let symbols: Vec<u8> = (0..EVENTS).map(|_| class(&mut random) as u8).collect();
        group.bench_function(BenchmarkId::new("skipping, events between changes", apart), |b| {
            b.iter(|| calm.run_skipping(0, black_box(&symbols), |_, _| {}))
        });
    }
    group.finish();
}

fn vectors(c: &mut Criterion) {
    let mut random = Random::new(6);
    let mut group = c.benchmark_group("batch");
    for (name, shift) in [("8 classes", 3), ("32 classes", 5)] {
        let (next, marks) = table(&mut random, shift);
        let table = Table::new(&next, shift, STATES).unwrap().with_marks(&marks).unwrap();
        let composed = Compose::new(table).unwrap();
        let long = symbols(&mut random, LONG, 1 << shift);
        group.throughput(Throughput::Elements(LONG as u64));
        group.bench_function(BenchmarkId::new("one long trace", name), |b| {
            b.iter(|| composed.run(0, black_box(&long), |_, _| {}))
        });
    }
    for shift in [2, 3, 4] {
        let (next, marks) = table(&mut random, shift);
        let lanes =
            Lanes::new(&Table::new(&next, shift, STATES).unwrap().with_marks(&marks).unwrap()).unwrap();
        let drawn = symbols(&mut random, EVENTS * LANES, 1 << shift);
        let blocks = drawn.as_chunks::<LANES>().0;
        let (mut states, mut counts) = ([0; LANES], [0; LANES]);
        for (name, blocks) in [("in cache", &blocks[..64]), ("in memory", blocks)] {
            group.throughput(Throughput::Elements((blocks.len() * LANES) as u64));
            group.bench_function(BenchmarkId::new(format!("128 lanes, {} classes", 1 << shift), name), |b| {
                b.iter(|| lanes.run(&mut states, &mut counts, black_box(blocks)))
            });
        }
    }
    group.finish();
}

fn columns(c: &mut Criterion) {
    let mut random = Random::new(7);
    let mut group = c.benchmark_group("batch");
    group.throughput(Throughput::Elements(EVENTS as u64));
    // Of eight classes, one makes `a` true and another `b`.
    let drawn = symbols(&mut random, EVENTS, 8);
    let (mut a, mut b, mut breaches) = (vec![0; EVENTS / 64], vec![0; EVENTS / 64], vec![0; EVENTS / 64]);
    truth(&drawn, &[1, 0, 0, 0], &mut a);
    truth(&drawn, &[2, 0, 0, 0], &mut b);
    for shape in [
        Shape::Absence,
        Shape::Response,
        Shape::Precedence,
        Shape::Before,
        Shape::NotSuccession,
        Shape::ChainResponse,
    ] {
        group.bench_function(BenchmarkId::new("columns", format!("{shape:?}")), |bench| {
            bench.iter(|| {
                let mut watch = Watch::new(shape);
                watch.run(EVENTS, black_box(&a), black_box(&b), &mut breaches);
                watch
            })
        });
    }
    group.bench_function("columns of symbols", |bench| {
        bench.iter(|| truth(black_box(&drawn), &[1, 0, 0, 0], &mut a))
    });
    group.finish();
}

criterion_group!(benches, walks, vectors, columns);
criterion_main!(benches);
