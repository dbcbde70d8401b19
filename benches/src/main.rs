//! Benchmarks (scratch).
mod bare;
use prony_engine::*;
use std::time::Duration;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let addr = args[1].parse().unwrap();
    let http = args[2] == "http";
    unsafe { let mut set: libc::cpu_set_t = std::mem::zeroed(); libc::CPU_SET(1, &mut set); libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set); }
    let request = protocol::HttpRequest::get("127.0.0.1:9000", "/some/path");
    let bytes = if http { request.encode() } else { b"hello\n".to_vec() };
    let ex = bare::Exchange::ask(addr, &bytes).unwrap();
    for _ in 0..3 { for c in [1usize, 4, 64, 256, 1024] {
        let (w, d) = (Duration::from_millis(200), Duration::from_millis(1000));
        let e = bare::epoll(addr, c, &ex, w, d).unwrap();
        let u = bare::uring(addr, c, &ex, w, d).unwrap();
        let mut line = format!("c={c:5} bare epoll {:7.0}/s {:.3}us  uring {:7.0}/s {:.3}us", e.answers as f64 / e.elapsed.as_secs_f64(), e.cpu as f64 / e.answers as f64/1e3, u.answers as f64 / u.elapsed.as_secs_f64(), u.cpu as f64 / u.answers as f64/1e3);
        for t in [TransportKind::Epoll, TransportKind::IoUring] {
            let dialogue = if http { Dialogue::http(&request, protocol::Expect { prefix: b"/some/path at ".to_vec(), length: Some(43), status: Some(200) }) } else { Dialogue::Echo(bytes.clone()) };
            let mut plan = Plan::closed(Target::Tcp(addr), dialogue, c as u32);
            plan.cpus = vec![1]; plan.transport = t;
            let o = run(&plan, &Control::at_once(1_000_000_000), |_| {}).unwrap();
            line += &format!("  {t} {:7.0}/s {:.3}us (wrong {} p99 {}us)", o.throughput(), o.generator.work as f64 / o.outcomes.ok as f64 / 1e3, o.outcomes.failed(), o.response.value_at_quantile(0.99)/1000);
        }
        println!("{line}");
    } }
}
