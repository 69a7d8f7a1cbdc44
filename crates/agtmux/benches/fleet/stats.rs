//! Samples and what is told of them.

use std::time::Duration;

/// Durations of the same thing, measured again and again.
#[derive(Debug, Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn push(&mut self, sample: Duration) {
        self.0.push(sample);
    }

    /// The middle one.
    pub(crate) fn p50(&self) -> Duration {
        self.quantile(0.50)
    }

    /// All but one in a hundred are at most this; with fewer than a hundred samples it is the longest.
    pub(crate) fn p99(&self) -> Duration {
        self.quantile(0.99)
    }

    fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() as f64 * share).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// `1.23 ms (p99 4.56)`.
    pub(crate) fn text(&self) -> String {
        format!("{} (p99 {:.2})", millis(self.p50()), self.p99().as_secs_f64() * 1e3)
    }
}

impl Extend<Duration> for Samples {
    fn extend<I: IntoIterator<Item = Duration>>(&mut self, samples: I) {
        self.0.extend(samples);
    }
}

/// The middle of some figures.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

pub(crate) fn millis(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1e3)
}

pub(crate) fn ratio(measured: Duration, baseline: Duration) -> f64 {
    measured.as_secs_f64() / baseline.as_secs_f64().max(f64::EPSILON)
}
