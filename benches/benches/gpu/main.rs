//! What the device can do, and what kernels make of it.
//!
//! First the device's own limits are measured, with kernels too: bytes copied per second, products and sums per second, atomic
//! additions per second, what one launch costs. Then every program runs on arrays that are there, and its time on the device is compared with
//! the time that the bytes it has to move, the operations it has to make, or its additions would take at the limit.
//!
//! ```text
//! cargo bench --bench gpu                     all, on the best device
//! cargo bench --bench gpu -- sort softmax     what has one of these in its name
//! cargo bench --bench gpu -- --json FILE      the same figures for programs
//! cargo bench --bench gpu -- --profile NAME   where the time of one goes
//! ```
//!
//! Results of devices that are software are marked; their sizes are smaller.

mod kernels;

use std::error::Error;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use array_dsl::prelude::*;
use array_dsl::{GpuKind, GpuProfile};
use array_dsl_benches::numbers;
use ndarray::{Array1, Array2, Array3};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The least that a program has to do.
#[derive(Clone, Copy)]
enum Least {
    /// Bytes that it reads and writes.
    Bytes(f64),
    /// Operations on floats of 32 bits.
    Operations(f64),
    /// Atomic additions.
    Additions(f64),
    /// Launches.
    Launches(f64),
}

/// What was measured of a program.
struct Row {
    name: String,
    /// Seconds.
    device: f64,
    wall: f64,
    dispatches: u64,
    /// The share of the limit.
    share: Option<f64>,
    of: &'static str,
}

/// The device with its limits, and what was found so far.
struct Bench {
    gpu: Gpu,
    filters: Vec<String>,
    profiled: Option<String>,
    /// Bytes, operations and additions per second; seconds of a launch.
    limits: [f64; 4],
    rows: Vec<Row>,
    is_software: bool,
}

/// Time to spend on the repetitions of a program.
const TIME: Duration = Duration::from_millis(400);

/// So many times they are begun anew, of which the best counts: the clock of a device goes up and down by more than a factor of two.
const ROUNDS: u32 = 8;

impl Bench {
    /// Whether the command line asks for it.
    fn is_selected(&self, name: &str) -> bool {
        let wanted = self.profiled.as_ref().map_or(&self.filters[..], std::slice::from_ref);
        wanted.is_empty() || wanted.iter().any(|w| name.contains(w.as_str()))
    }

    /// Sizes for this device: those of software are smaller by this factor.
    fn sized(&self, n: usize, factor: usize) -> usize {
        if self.is_software { (n / factor).max(1) } else { n }
    }

    /// Measures a program.
    fn measure<T>(
        &mut self,
        name: &str,
        least: Option<Least>,
        mut run: impl FnMut(&Gpu) -> Result<T, array_dsl::Error>,
    ) -> Outcome<()> {
        if !self.is_selected(name) {
            return Ok(());
        }
        let gpu = self.gpu.clone();
        let before = gpu.statistics().dispatches;
        drop(run(&gpu)?);
        gpu.synchronize()?;
        let dispatches = gpu.statistics().dispatches - before;
        let timed = |run: &mut dyn FnMut(&Gpu) -> Result<T, array_dsl::Error>, times: u32| -> Outcome<f64> {
            let start = Instant::now();
            for _ in 0..times {
                drop(run(&gpu)?);
            }
            gpu.synchronize()?;
            Ok(start.elapsed().as_secs_f64() / f64::from(times))
        };
        let once = timed(&mut run, 1)?.max(1e-6);
        let repetitions = (TIME.as_secs_f64() / f64::from(ROUNDS) / once).clamp(1.0, 50.0) as u32;
        let rounds = if once > TIME.as_secs_f64() { 1 } else { ROUNDS };
        let mut wall = f64::INFINITY;
        for _ in 0..rounds {
            wall = wall.min(timed(&mut run, repetitions)?);
        }
        let device = match self.profiles(&mut run, rounds) {
            Ok(profiles) => {
                let best = profiles.iter().min_by_key(|p| p.device()).ok_or("no profile")?;
                if self.profiled.is_some() {
                    println!("{name}\n{best}\n");
                }
                best.device().as_secs_f64()
            }
            Err(_) => f64::NAN,
        };
        // Without timestamps the host's clock has to do; runs of many launches overlap in it.
        let taken = if device.is_nan() { wall } else { device };
        let [bytes, operations, additions, launch] = self.limits;
        let (share, of) = match least {
            None => (None, ""),
            Some(Least::Bytes(n)) => (Some(n / bytes / taken), "bandwidth"),
            Some(Least::Operations(n)) => (Some(n / operations / taken), "operations"),
            Some(Least::Additions(n)) => (Some(n / additions / taken), "additions"),
            Some(Least::Launches(n)) => (Some(n * launch / wall), "launches"),
        };
        let row = Row { name: name.to_string(), device, wall, dispatches, share, of };
        println!("{}", line(&row));
        self.rows.push(row);
        Ok(())
    }

    fn profiles<T>(
        &self,
        run: &mut impl FnMut(&Gpu) -> Result<T, array_dsl::Error>,
        times: u32,
    ) -> Result<Vec<GpuProfile>, array_dsl::Error> {
        let one = |_| {
            let (result, profile) = self.gpu.profile(|| run(&self.gpu))?;
            result.map(|_| profile)
        };
        (0..times).map(one).collect()
    }

    /// The best time on the device of a program in seconds.
    fn best<T>(&self, mut run: impl FnMut(&Gpu) -> Result<T, array_dsl::Error>) -> Outcome<f64> {
        drop(run(&self.gpu)?);
        match self.profiles(&mut run, 5) {
            Ok(profiles) => {
                Ok(profiles.iter().map(|p| p.device().as_secs_f64()).fold(f64::INFINITY, f64::min))
            }
            Err(_) => {
                self.gpu.synchronize()?;
                let start = Instant::now();
                drop(run(&self.gpu)?);
                self.gpu.synchronize()?;
                Ok(start.elapsed().as_secs_f64())
            }
        }
    }

    /// Measures the limits.
    fn limits(&mut self) -> Outcome<()> {
        let gpu = self.gpu.clone();
        let n = self.sized(1 << 26, 8);
        let x = gpu.upload(&numbers::<_, _, f32>(n))?;
        let copy = self.best(|gpu| gpu.run(kernels::copied, (&x,)))?;
        let (points, trips) = (1 << 20, self.sized(4096, 64) as i64);
        let x = gpu.upload(&numbers::<_, _, f32>(points))?;
        let chains = self.best(|gpu| gpu.run(kernels::chains, (&x, trips)))?;
        let n = self.sized(1 << 24, 16);
        let at =
            gpu.upload(&Array1::from_shape_fn(n, |i| (i.wrapping_mul(0x9E37_79B1) >> 4) as i32 & 0xF_FFFF))?;
        let atomic = self.best(|gpu| gpu.run(kernels::counts, (1 << 20, &at)))?;
        let one = gpu.upload(&numbers::<_, _, f32>(1))?;
        let mut y = gpu.run(kernels::copied, (&one,))?;
        gpu.synchronize()?;
        let (start, times) = (Instant::now(), 2000);
        for _ in 0..times {
            y = gpu.run(kernels::copied, (&y,))?;
        }
        gpu.synchronize()?;
        let launch = start.elapsed().as_secs_f64() / f64::from(times);
        let bytes = 8.0 * self.sized(1 << 26, 8) as f64 / copy;
        let operations = 16.0 * points as f64 * trips as f64 / chains;
        self.limits = [bytes, operations, n as f64 / atomic, launch];
        println!(
            "copy {:.1} GB/s, f32 {:.2} TFLOP/s, atomic additions {:.2} G/s, a launch of a run {:.2} us\n",
            bytes / 1e9,
            operations / 1e12,
            n as f64 / atomic / 1e9,
            launch * 1e6
        );
        Ok(())
    }

    fn arrays(&mut self) -> Outcome<()> {
        let gpu = self.gpu.clone();
        let n = self.sized(1 << 25, 16);
        let bytes = |arrays: f64| Some(Least::Bytes(4.0 * arrays * n as f64));
        let (x, y) = (gpu.upload(&numbers::<_, _, f32>(n))?, gpu.upload(&numbers::<_, _, f32>(n))?);
        self.measure("saxpy 2^25", bytes(3.0), |gpu| gpu.run(kernels::saxpy, (2.0, &x, &y)))?;
        self.measure("gelu 2^25", bytes(2.0), |gpu| gpu.run(kernels::gelu, (&x,)))?;
        self.measure("wave 2^25", bytes(1.0), |gpu| gpu.run(kernels::wave, (&x,)))?;
        self.measure("wave 2^25, value and gradient", bytes(2.0), |gpu| {
            gpu.run(value_and_grad(kernels::wave), (&x,))
        })?;
        self.measure("sum 2^25", bytes(1.0), |gpu| gpu.run(kernels::total, (&x,)))?;
        self.measure("cumsum 2^25", bytes(2.0), |gpu| gpu.run(kernels::prefixes, (&x,)))?;
        self.measure("filtered sum 2^25", bytes(1.0), |gpu| gpu.run(kernels::kept, (&x,)))?;
        drop(y);
        for (rows, columns) in
            [(10_000_000, 3), (1_000_000, 32), (100_000, 300), (5000, 20_000), (3, 10_000_000)]
        {
            let name = format!("{rows} x {columns}");
            let shape = if rows > columns {
                (self.sized(rows, 16), columns)
            } else {
                (rows, self.sized(columns, 16))
            };
            if !["row sums", "column sums", "cumsum of rows"]
                .iter()
                .any(|k| self.is_selected(&format!("{k} {name}")))
            {
                continue;
            }
            let bytes = |arrays: f64| Some(Least::Bytes(4.0 * arrays * (shape.0 * shape.1) as f64));
            let x = gpu.upload(&numbers::<_, _, f32>(shape))?;
            self.measure(&format!("row sums {name}"), bytes(1.0), |gpu| gpu.run(kernels::row_sums, (&x,)))?;
            self.measure(&format!("column sums {name}"), bytes(1.0), |gpu| {
                gpu.run(kernels::column_sums, (&x,))
            })?;
            self.measure(&format!("cumsum of rows {name}"), bytes(2.0), |gpu| {
                gpu.run(kernels::row_prefixes, (&x,))
            })?;
        }
        Ok(())
    }

    fn bins(&mut self) -> Outcome<()> {
        let gpu = self.gpu.clone();
        let n = self.sized(1 << 24, 16);
        let w = gpu.upload(&numbers::<_, _, f32>(n))?;
        for k in [10usize, 1000, 1_000_000] {
            if !["counts", "weights", "pullback of a gather"]
                .iter()
                .any(|b| self.is_selected(&format!("{b} in {k} bins")))
            {
                continue;
            }
            let at = Array1::from_shape_fn(n, |i| ((i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) % k) as i32);
            let at = gpu.upload(&at)?;
            let x = gpu.upload(&numbers::<_, _, f32>(k))?;
            let bytes = |arrays: f64| Some(Least::Bytes(4.0 * arrays * n as f64));
            let least = |arrays| if k > 10_000 { Some(Least::Additions(n as f64)) } else { bytes(arrays) };
            self.measure(&format!("counts in {k} bins"), least(1.0), |gpu| {
                gpu.run(kernels::counts, (k as i64, &at))
            })?;
            self.measure(&format!("weights in {k} bins"), least(2.0), |gpu| {
                gpu.run(kernels::weights, (k as i64, &at, &w))
            })?;
            self.measure(&format!("pullback of a gather in {k} bins"), least(2.0), |gpu| {
                gpu.run(vjp(kernels::gathered), (&x, &at, &w))
            })?;
        }
        Ok(())
    }

    fn sorts(&mut self) -> Outcome<()> {
        let gpu = self.gpu.clone();
        for log in [16, 20, 24] {
            let n = self.sized(1 << log, 16);
            // Four passes over keys and positions, each read and written.
            let least = Some(Least::Bytes(n as f64 * 4.0 * 16.0));
            let x = gpu.upload(&numbers::<_, _, f32>(n))?;
            self.measure(&format!("sort 2^{log}"), least, |gpu| gpu.run(kernels::sorted, (&x,)))?;
            self.measure(&format!("argsort 2^{log}"), least, |gpu| gpu.run(kernels::order, (&x,)))?;
        }
        let (rows, columns) = (self.sized(10_000, 16), 1000);
        let x = gpu.upload(&numbers::<_, _, f32>((rows, columns)))?;
        let least = Some(Least::Bytes((rows * columns) as f64 * 8.0));
        self.measure("sort of rows 10000 x 1000", least, |gpu| gpu.run(kernels::sorted_rows, (&x,)))
    }

    fn products(&mut self) -> Outcome<()> {
        let gpu = self.gpu.clone();
        let matrix = |n, m| gpu.upload(&numbers::<_, _, f32>((n, m)));
        for n in [256, 512, 1024, 2048, 4096, 8192] {
            if self.is_software && n > 1024 {
                continue;
            }
            let least = Some(Least::Operations(2.0 * (n * n * n) as f64));
            let (a, b) = (matrix(n, n)?, matrix(n, n)?);
            self.measure(&format!("matmul {n}"), least, |gpu| gpu.run(kernels::product, (&a, &b)))?;
            if n == 1024 || n == 4096 {
                self.measure(&format!("matmul {n}, transposed"), least, |gpu| {
                    gpu.run(kernels::product_by_transposed, (&a, &b))
                })?;
                self.measure(
                    &format!("matmul {n}, pullback"),
                    Some(Least::Operations(4.0 * (n * n * n) as f64)),
                    |gpu| gpu.run(vjp(kernels::product), (&a, &b, &a)),
                )?;
            }
        }
        for (n, k, m) in [(65_536, 784, 32), (16, 4096, 4096), (1 << 20, 64, 64), (64, 1 << 20, 64)] {
            let (n, k) = if n > k { (self.sized(n, 64), k) } else { (n, self.sized(k, 64)) };
            let (a, b) = (matrix(n, k)?, matrix(k, m)?);
            let (flops, bytes) = (2.0 * (n * k * m) as f64, 4.0 * (n * k + k * m + n * m) as f64);
            let by_bytes = bytes / self.limits[0] > flops / self.limits[1];
            let least = if by_bytes { Least::Bytes(bytes) } else { Least::Operations(flops) };
            self.measure(&format!("matmul {n} x {k} x {m}"), Some(least), |gpu| {
                gpu.run(kernels::product, (&a, &b))
            })?;
        }
        let n = self.sized(8192, 8);
        let (a, x) = (matrix(n, 8192)?, gpu.upload(&numbers::<_, _, f32>(8192))?);
        let least = Some(Least::Bytes(4.0 * (n * 8192) as f64));
        self.measure("matrix times vector 8192", least, |gpu| gpu.run(kernels::by_vector, (&a, &x)))?;
        let h = self.sized(256, 16);
        let cube = |n, m| gpu.upload(&numbers::<_, _, f32>((h, n, m)));
        let (a, b): (GpuArray<f32, _>, GpuArray<f32, _>) = (cube(128, 128)?, cube(128, 128)?);
        let least = Some(Least::Operations(2.0 * h as f64 * 128f64.powi(3)));
        self.measure("256 products of 128", least, |gpu| gpu.run(kernels::products, (&a, &b)))?;
        let n = self.sized(4096, 8);
        let (x, w, b) = (matrix(n, 1024)?, matrix(1024, 1024)?, gpu.upload(&numbers::<_, _, f32>(1024))?);
        let least = Some(Least::Operations(2.0 * n as f64 * 1024.0 * 1024.0));
        self.measure("layer 4096 x 1024 x 1024", least, |gpu| gpu.run(kernels::layer, (&x, &w, &b)))
    }

    fn networks(&mut self) -> Outcome<()> {
        let gpu = self.gpu.clone();
        let n = self.sized(8192, 16);
        let bytes = |arrays: f64| Some(Least::Bytes(4.0 * arrays * (n * 4096) as f64));
        let (z, g) =
            (gpu.upload(&numbers::<_, _, f32>((n, 4096)))?, gpu.upload(&numbers::<_, _, f32>((n, 4096)))?);
        self.measure("softmax of rows 8192 x 4096", bytes(2.0), |gpu| gpu.run(kernels::softmax_rows, (&z,)))?;
        self.measure("softmax of rows, pullback", bytes(4.0), |gpu| {
            gpu.run(vjp(kernels::softmax_rows), (&z, &g))
        })?;
        self.measure("layer norm 8192 x 4096", bytes(2.0), |gpu| gpu.run(kernels::normalized, (&z,)))?;
        self.measure("layer norm, pullback", bytes(4.0), |gpu| gpu.run(vjp(kernels::normalized), (&z, &g)))?;
        drop((z, g));

        let (h, n, d) = (self.sized(16, 8), self.sized(1024, 4), 64);
        let operations = |times: f64| Some(Least::Operations(times * 4.0 * (h * n * n * d) as f64));
        let block = || -> Result<_, array_dsl::Error> {
            let x: Array3<f32> = numbers((h, n, d));
            gpu.upload(&x)
        };
        let (q, k, v, g) = (block()?, block()?, block()?, block()?);
        self.measure("attention 16 x 1024 x 64", operations(1.0), |gpu| {
            gpu.run(kernels::attention, (&q, &k, &v))
        })?;
        self.measure("attention, pullback", operations(3.0), |gpu| {
            gpu.run(vjp(kernels::attention), (&q, &k, &v, &g))
        })?;

        let (n, d, m) = (self.sized(1024, 8), 192, 512);
        let x: Array2<f32> = numbers((n, d));
        let (h, c): (Array2<f32>, Array2<f32>) = (numbers((n, m)), numbers((n, m)));
        let (wx, wh): (Array3<f32>, Array3<f32>) = (numbers((4, d, m)), numbers((4, m, m)));
        let b: Array2<f32> = numbers((4, m));
        let (x, h, c) = (gpu.upload(&x)?, gpu.upload(&h)?, gpu.upload(&c)?);
        let (wx, wh, b) = (gpu.upload(&(wx * 0.1))?, gpu.upload(&(wh * 0.1))?, gpu.upload(&b)?);
        let operations = |times: f64| Some(Least::Operations(times * 8.0 * (n * m * (d + m)) as f64));
        self.measure("LSTM step", operations(1.0), |gpu| {
            gpu.run(kernels::lstm_step, (&x, &h, &c, &wx, &wh, &b))
        })?;
        self.measure("LSTM step, value and gradient", operations(3.0), |gpu| {
            gpu.run(value_and_grad(kernels::lstm_step), (&x, &h, &c, &wx, &wh, &b))
        })
    }

    fn points(&mut self) -> Outcome<()> {
        let gpu = self.gpu.clone();
        let (n, k, d) = (self.sized(100_000, 16), 25, 32);
        let operations = |times: f64| Some(Least::Operations(times * 4.0 * (n * k * d) as f64));
        let x = gpu.upload(&numbers::<_, _, f32>((n, d)))?;
        let (alpha, mu) = (gpu.upload(&numbers::<_, _, f32>(k))?, gpu.upload(&numbers::<_, _, f32>((k, d)))?);
        let q = gpu.upload(&numbers::<_, _, f32>((k, d)))?;
        self.measure("GMM 10^5 x 32, 25", operations(1.0), |gpu| {
            gpu.run(kernels::mixture, (&alpha, &mu, &q, &x))
        })?;
        self.measure("GMM, gradient", operations(3.0), |gpu| {
            gpu.run(grad(kernels::mixture), (&alpha, &mu, &q, &x))
        })?;

        let (n, k, d) = (self.sized(100_000, 16), 100, 16);
        let operations = |times: f64| Some(Least::Operations(times * 3.0 * (n * k * d) as f64));
        let (x, c) = (gpu.upload(&numbers::<_, _, f32>((n, d)))?, gpu.upload(&numbers::<_, _, f32>((k, d)))?);
        self.measure("k-means 10^5 x 16, 100", operations(1.0), |gpu| gpu.run(kernels::clusters, (&x, &c)))?;
        self.measure("k-means, gradient", operations(1.0), |gpu| gpu.run(grad(kernels::clusters), (&x, &c)))?;

        let n = self.sized(16_384, 8);
        let operations = |times: f64| Some(Least::Operations(times * 14.0 * (n * n) as f64));
        let x = gpu.upload(&numbers::<_, _, f32>((n, 3)))?;
        let m = gpu.upload(&numbers::<_, _, f32>(n))?;
        self.measure("N-body 16384", operations(1.0), |gpu| gpu.run(kernels::energy, (&x, &m)))?;
        self.measure("N-body, gradient", operations(2.0), |gpu| gpu.run(grad(kernels::energy), (&x, &m)))
    }

    /// Runs of many small steps.
    fn launches(&mut self) -> Outcome<()> {
        let gpu = self.gpu.clone();
        let x = gpu.upload(&numbers::<_, _, f32>(1000))?;
        self.measure("100 runs on 1000 numbers", Some(Least::Launches(100.0)), |gpu| {
            let mut y = gpu.run(kernels::copied, (&x,))?;
            for _ in 1..100 {
                y = gpu.run(kernels::copied, (&y,))?;
            }
            Ok(y)
        })
    }

    /// The figures as JSON.
    fn json(&self) -> String {
        let mut out = format!(
            "{{\"device\":{:?},\"software\":{},\"bytes_per_second\":{:.4e},\"operations_per_second\":{:.4e},\
             \"atomic_additions_per_second\":{:.4e},\"launch_seconds\":{:.4e},\"programs\":[",
            self.gpu.info().to_string(),
            self.is_software,
            self.limits[0],
            self.limits[1],
            self.limits[2],
            self.limits[3]
        );
        let number = |x: f64| if x.is_finite() { format!("{x:.4e}") } else { "null".into() };
        for (k, r) in self.rows.iter().enumerate() {
            let comma = if k > 0 { "," } else { "" };
            let _ = write!(
                out,
                "{comma}\n{{\"name\":{:?},\"device_seconds\":{},\"wall_seconds\":{},\"dispatches\":{},\"share\":{},\"of\":{:?}}}",
                r.name,
                number(r.device),
                number(r.wall),
                r.dispatches,
                r.share.map_or("null".into(), number),
                r.of
            );
        }
        out + "\n]}\n"
    }
}

fn line(r: &Row) -> String {
    let share = r.share.map_or(String::new(), |s| format!("{:>6.1} % of {}", 100.0 * s, r.of));
    format!(
        "{:44} device {:>11.1} us, a run {:>11.1} us, {:>4} dispatches {share}",
        r.name,
        r.device * 1e6,
        r.wall * 1e6,
        r.dispatches
    )
}

fn main() -> Outcome<()> {
    let (mut filters, mut json, mut profiled) = (Vec::new(), None, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--json" => json = args.next(),
            "--profile" => profiled = args.next(),
            // What cargo adds.
            "--bench" | "--test" => {}
            other => filters.push(other.to_string()),
        }
    }
    let gpu = match Gpu::new() {
        Ok(gpu) => gpu,
        Err(error) => {
            println!("{error}: nothing is measured");
            return Ok(());
        }
    };
    let is_software = gpu.info().kind == GpuKind::Cpu;
    println!("{}{}", gpu.info(), if is_software { ": software, no measure of any device" } else { "" });
    let mut bench = Bench { gpu, filters, profiled, limits: [1.0; 4], rows: Vec::new(), is_software };
    bench.limits()?;
    let groups = [
        Bench::arrays,
        Bench::bins,
        Bench::sorts,
        Bench::products,
        Bench::networks,
        Bench::points,
        Bench::launches,
    ];
    for group in groups {
        if let Err(error) = group(&mut bench) {
            println!("ended: {error}");
        }
    }
    if let Some(file) = json {
        std::fs::write(file, bench.json())?;
    }
    Ok(())
}
