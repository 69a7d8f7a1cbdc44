//! I12 on real clocks: a reminder is never early, comes once, and is at most a second late once somebody can see to it; whatever
//! happens to the daemon and to its clocks meanwhile.
//!
//! A suspend is played: the daemon stands still, and the clock that stands still during a suspend is moved back by as much. The wall clock
//! is moved for the daemon alone. The boot clock, by which it is judged here what is early, is nobody's to move.

use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Composer, MovedDaemon, TestEnvironment, wait_for};

const HOUR: i64 = 60 * 60 * 1_000;

/// When a reminder is due, in seconds and in milliseconds.
const DELAY: (&str, i64) = ("3s", 3_000);

/// How late it may be.
const LATE: i64 = 1_000;

fn boot_ms() -> i64 {
    i64::try_from(agtmux::platform::boot_clock_ns() / 1_000_000).unwrap()
}

fn ms(value: &Value) -> i64 {
    value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_millisecond()
}

/// A reminder that was asked for.
struct Reminder<'e> {
    environment: &'e TestEnvironment,
    composer: Composer,
    id: String,
    /// The boot clock before it was asked for.
    asked: i64,
    /// When it is due on the daemon's clock.
    due: i64,
}

impl<'e> Reminder<'e> {
    #[track_caller]
    fn ask(environment: &'e TestEnvironment) -> Self {
        let composer = Composer::start(environment, "tells=1");
        let asked = boot_ms();
        let words = ["sm", "remind", &composer.pane, DELAY.0, "look at the build", "--json"];
        let kept = environment.agtmux(&words).ok().json();
        let (id, due) = (kept["id"].as_str().unwrap().to_owned(), ms(&kept["not_before"]));
        Self { environment, composer, id, asked, due }
    }

    /// Waits until it has come, and demands that it was in time. `runnable` is when a daemon could see to it, on the daemon's clock.
    #[track_caller]
    fn comes_in_time(&self, runnable: i64) {
        let given = wait_for("the reminder", || {
            let given = self.composer.submitted();
            if given.is_empty() { Err("nothing was submitted") } else { Ok(given) }
        });
        let after = boot_ms() - self.asked;
        assert!(after >= DELAY.1, "{after} ms after it was asked for: {given:?}");
        let came = wait_for("the reminder to be confirmed", || {
            let now = self.environment.agtmux(&["sm", "show", &self.id, "--json"]).ok().json();
            if now["status"] == "confirmed" { Ok(now) } else { Err(format!("{now:#}")) }
        });
        let leased = came["steps"].as_array().unwrap().iter().find(|step| step["to"] == "leased").unwrap();
        let late = ms(&leased["at"]) - self.due.max(runnable);
        println!("{late} ms late");
        assert!(late <= LATE, "{late} ms late: {came:#}");
        assert!(ms(&leased["at"]) >= self.due, "{came:#}");
    }

    /// Demands that it came once: what is sent behind it comes behind it.
    #[track_caller]
    fn came_once(&self) {
        let words = ["sm", "send", &self.composer.pane, "the next", "--wait", "20s"];
        self.environment.agtmux(&words).ok();
        let given = self.composer.submitted();
        let count = given.iter().filter(|text| text.contains("look at the build")).count();
        assert_eq!((count, given.len()), (1, 2), "{given:?}");
    }
}

#[test]
fn a_reminder_outlives_daemons() {
    // Before its time and after it; a second daemon that is killed when it has come forgets nothing.
    for down in [500, DELAY.1 + 500] {
        let environment = TestEnvironment::with_tmux();
        let mut daemon = MovedDaemon::start(&environment);
        let reminder = Reminder::ask(&environment);
        daemon.kill();
        sleep(Duration::from_millis(down.unsigned_abs()));
        daemon.run();
        reminder.comes_in_time(daemon.wall_ms());
        daemon.kill();
        daemon.run();
        reminder.came_once();
    }
}

#[test]
fn a_reminder_outlives_a_pause_and_a_suspend() {
    for is_suspend in [false, true] {
        let environment = TestEnvironment::with_tmux();
        let mut daemon = MovedDaemon::start(&environment);
        let reminder = Reminder::ask(&environment);
        daemon.stopped(|daemon| {
            sleep(Duration::from_millis(DELAY.1.unsigned_abs() + 1_000));
            daemon.move_monotonic(if is_suspend { -(DELAY.1 + 1_000) } else { 0 });
        });
        reminder.comes_in_time(daemon.wall_ms());
        reminder.came_once();
    }
}

#[test]
fn a_wall_clock_that_jumps_moves_no_reminder() {
    for jump in [HOUR, -HOUR] {
        let environment = TestEnvironment::with_tmux();
        let mut daemon = MovedDaemon::start(&environment);
        let reminder = Reminder::ask(&environment);
        daemon.move_wall(jump);
        // The daemon has read it once, and goes by the boot clock from then on.
        reminder.comes_in_time(reminder.due);
        reminder.came_once();
    }
}

/// No daemon goes back behind what it has logged; how long nobody ran cannot be known then, and nothing is early for that.
#[test]
fn a_wall_clock_that_was_set_back_while_no_daemon_ran_makes_nothing_early() {
    let environment = TestEnvironment::with_tmux();
    let mut daemon = MovedDaemon::start(&environment);
    let reminder = Reminder::ask(&environment);
    daemon.kill();
    daemon.move_wall(-HOUR);
    daemon.run();
    reminder.comes_in_time(reminder.due);
    reminder.came_once();
}
