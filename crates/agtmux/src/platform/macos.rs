//! Processes and the boot clock on macOS, from `ps` and `sysctl`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use rustix::time::{ClockId, clock_gettime};

use super::table::{ProcessTable, Row};
use super::{Stat, ps};

pub(super) fn boot_id() -> String {
    static BOOT_ID: OnceLock<String> = OnceLock::new();
    BOOT_ID.get_or_init(|| output("/usr/sbin/sysctl", &["-n", "kern.bootsessionuuid"]).trim().to_owned()).clone()
}

pub(super) fn boot_clock_ns() -> u64 {
    // Unlike on Linux, this clock runs on while the machine sleeps.
    let now = clock_gettime(ClockId::Monotonic);
    u64::try_from(now.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

pub(super) fn process_stat(pid: u32) -> Option<Stat> {
    Some(process(pid)?.stat)
}

pub(super) fn process_argv(pid: u32) -> Vec<String> {
    process(pid).and_then(|row| row.argv).unwrap_or_default()
}

pub(super) fn process_environment(pid: u32) -> BTreeMap<OsString, OsString> {
    let pid = pid.to_string();
    let with = run_ps(&["-E", "-ww", "-o", "command=", "-p", &pid]);
    let without = run_ps(&["-ww", "-o", "command=", "-p", &pid]);
    ps::parse_environment(&with, &without)
}

pub(super) fn process_cwd(pid: u32) -> Option<PathBuf> {
    let listed = output("/usr/sbin/lsof", &["-a", "-p", &pid.to_string(), "-d", "cwd", "-Fn"]);
    ps::parse_open_files(&listed).pop()
}

pub(super) fn open_files(pid: u32) -> Vec<PathBuf> {
    ps::parse_open_files(&output("/usr/sbin/lsof", &["-p", &pid.to_string(), "-Fn"]))
}

pub(super) fn listeners(port: u16) -> Vec<u32> {
    let listed = output("/usr/sbin/lsof", &["-nP", &format!("-iTCP:{port}"), "-sTCP:LISTEN", "-t"]);
    listed.lines().filter_map(|pid| pid.trim().parse().ok()).collect()
}

/// `lsof` names both ends of a connection alike, so that they cannot be counted.
pub(super) fn unix_clients(_path: &Path) -> Option<Vec<u64>> {
    None
}

pub(super) fn tcp_clients(_port: u16) -> Option<Vec<u64>> {
    None
}

pub(super) fn sockets_of(_pid: u32) -> Vec<u64> {
    Vec::new()
}

/// The way to look up several processes: one run of `ps` for all of them.
pub(super) fn stats() -> impl Fn(u32) -> Option<Stat> {
    let table = ProcessTable::new(all_processes());
    move |pid| table.get(pid).cloned()
}

/// Every process, with its arguments: `ps` gives them in the same pass.
pub(super) fn all_processes() -> Vec<Row> {
    processes(&["-ax"])
}

/// `ps` lists all processes at the price of one.
pub(super) fn subtree(_root_pid: u32) -> Option<Vec<Row>> {
    None
}

pub(super) fn started_at_unix_ms(start: u64) -> u64 {
    start * 1_000
}

pub(super) fn rss_bytes(pid: u32) -> Option<u64> {
    let kilobytes: u64 = run_ps(&["-o", "rss=", "-p", &pid.to_string()]).trim().parse().ok()?;
    Some(kilobytes * 1024)
}

pub(super) fn cpu_time_ns(pid: u32) -> Option<u64> {
    ps::parse_cpu_time(run_ps(&["-o", "time=", "-p", &pid.to_string()]).trim())
}

fn process(pid: u32) -> Option<Row> {
    processes(&["-p", &pid.to_string()]).into_iter().find(|row| row.stat.pid == pid)
}

fn processes(selection: &[&str]) -> Vec<Row> {
    let names = ps::parse_names(&run_ps(&[selection, ps::NAME_COLUMNS].concat()));
    ps::parse_processes(&run_ps(&[selection, ps::COLUMNS].concat()), &names)
}

fn run_ps(args: &[&str]) -> String {
    output("/bin/ps", args)
}

/// What a program prints, or nothing. Times are asked for in one time zone and one language.
fn output(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).env("TZ", "UTC0").env("LC_ALL", "C").output();
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}
