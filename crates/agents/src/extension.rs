//! A user's file that changes some of what a built-in manifest says, and leaves the rest to it.

use serde::Deserialize;

use crate::aside::AsideRules;
use crate::interrupt::InterruptRules;
use crate::launch::LaunchRules;
use crate::manifest::{Manifest, ManifestError};
use crate::screen::{ComposerRules, DialogRules, ScreenRules};
use crate::send::SendRules;
use crate::translate::SignRule;
use crate::ttl::TtlTable;

/// What `extends = "claude"` may change. Rules are replaced by id and added; every other table counts as a whole, and
/// lifetimes one by one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Extension {
    #[expect(dead_code, reason = "read before, by whoever decides that this is an extension")]
    contract: u32,
    pub(crate) extends: String,
    recorded: Option<Vec<String>>,
    #[serde(default)]
    screen: ScreenRules,
    composer: Option<ComposerRules>,
    dialog: Option<DialogRules>,
    send: Option<SendRules>,
    aside: Option<AsideRules>,
    interrupt: Option<InterruptRules>,
    launch: Option<LaunchRules>,
    titles: Option<Vec<SignRule>>,
    notices: Option<Vec<SignRule>>,
    #[serde(default)]
    ttl: TtlTable,
}

impl Extension {
    /// The extension in a file; none if the file is a manifest of its own.
    pub(crate) fn parse(text: &str) -> Result<Option<Self>, ManifestError> {
        #[derive(Deserialize)]
        struct Kind {
            extends: Option<toml::Value>,
        }
        match toml::from_str::<Kind>(text) {
            Ok(Kind { extends: Some(_) }) => {
                Manifest::check_contract(text)?;
                toml::from_str(text).map(Some).map_err(|error| ManifestError::from_toml(text, &error))
            }
            // What is wrong with a manifest, its own reader says best.
            Ok(Kind { extends: None }) | Err(_) => Ok(None),
        }
    }

    /// The manifest with the changes.
    pub(crate) fn applied_to(self, mut manifest: Manifest) -> Manifest {
        manifest.recorded = self.recorded.unwrap_or(manifest.recorded);
        manifest.screen = manifest.screen.overlaid_by(self.screen);
        manifest.composer = self.composer.or(manifest.composer);
        manifest.dialog = self.dialog.unwrap_or(manifest.dialog);
        manifest.send = self.send.unwrap_or(manifest.send);
        manifest.aside = self.aside.or(manifest.aside);
        manifest.interrupt = self.interrupt.unwrap_or(manifest.interrupt);
        manifest.launch = self.launch.unwrap_or(manifest.launch);
        manifest.titles = self.titles.unwrap_or(manifest.titles);
        manifest.notices = self.notices.unwrap_or(manifest.notices);
        for (fact, sources) in self.ttl {
            manifest.ttl.entry(fact).or_default().extend(sources);
        }
        manifest
    }
}
