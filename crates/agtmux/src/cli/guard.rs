//! `--if-…`: what has to be so for an action to be carried out. The same flags for every verb that acts on an agent.

use agtmux_wire::action::Aim;
use clap::Args;

use super::DurationArg;
use super::acting::fresh_action;

/// The conditions of an action, as flags. A verb takes them with `#[command(flatten)]`.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Only if")]
pub struct GuardArgs {
    /// This runtime is there, by its id or a beginning of it
    #[arg(long, value_name = "ID")]
    if_runtime: Option<String>,
    /// It is in this state
    #[arg(long, value_name = "STATE")]
    if_state: Option<String>,
    /// Its state changed no longer ago than this, such as 30s or 5m
    #[arg(long, value_name = "DURATION")]
    if_updated_within: Option<DurationArg>,
    /// Act though its state is not what it was; never sets aside whom the action is aimed at
    #[arg(long)]
    force_stale: bool,
}

impl GuardArgs {
    /// To whom, and if what is so, as the API takes it.
    pub fn aim(self, reference: String) -> Aim {
        Aim {
            reference: Some(reference),
            action_id: Some(fresh_action()),
            snapshot_id: None,
            if_runtime: self.if_runtime,
            if_state: self.if_state,
            if_updated_within_ms: self
                .if_updated_within
                .map(|DurationArg(within)| u64::try_from(within.as_millis()).unwrap_or(u64::MAX)),
            if_prompt: None,
            force_stale: self.force_stale,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::GuardArgs;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        guard: GuardArgs,
    }

    #[test]
    fn flags_become_the_conditions_of_the_request() {
        let line = ["x", "--if-runtime=rt_1", "--if-state=idle", "--if-updated-within=1m30s", "--force-stale"];
        let aim = Line::try_parse_from(line).unwrap().guard.aim("%3".to_owned());
        assert_eq!(aim.reference.as_deref(), Some("%3"));
        assert_eq!(aim.if_runtime.as_deref(), Some("rt_1"));
        assert_eq!(aim.if_state.as_deref(), Some("idle"));
        assert_eq!(aim.if_updated_within_ms, Some(90_000));
        assert!(aim.force_stale);
        assert!(Line::try_parse_from(["x", "--if-updated-within=-1s"]).is_err());
    }
}
