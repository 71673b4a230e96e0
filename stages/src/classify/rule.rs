//! A rule: what a packet must be, and what becomes of it.
//!
//! Rules in the arguments of the stage and rows of a table are read alike. It promises that a key is looked at or
//! refused, each mistake at its place, and that no rule asks for what no packet is.

use super::field::{Field, KEYS};
use super::value::{self, Wanted};
use crate::config::raw::{self, Pair};
use corelane_runtime::stage::ConfigError;

/// One rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rule {
    /// What its counter is called.
    pub(super) name: Option<String>,
    /// All of these must hold.
    pub(super) wanted: Vec<(Field, Wanted)>,
    /// The chain that packets go to; the next stage otherwise.
    pub(super) to: Option<String>,
    /// The mark that packets are given.
    pub(super) mark: Option<u16>,
}

/// Keys of a rule that match nothing.
const OTHERS: [&str; 3] = ["to", "set_mark", "name"];
/// Longest name of a rule, characters.
const NAME_MAX: usize = 64;
/// Keys that are to come, and with what.
const LATER: [(&str, &str); 1] = [("teid", "GTP")];

impl Rule {
    /// Reads `(key: value, ..)`.
    ///
    /// # Errors
    /// Everything that is wrong with it; places are in `text`.
    pub(super) fn read(text: &str) -> Result<Rule, Vec<ConfigError>> {
        let pairs = raw::pairs(text).map_err(|error| vec![error])?;
        if !text.trim_start().starts_with('(') || pairs.is_empty() && !raw::is_empty(text) {
            let message = "a rule is (key: value, ..); write keys and values in parentheses";
            let span = Some((0, text.len()));
            return Err(vec![ConfigError { span, key: None, message: message.to_owned() }]);
        }
        let (mut rule, mut errors) = (Rule::default(), Vec::new());
        for pair in &pairs {
            errors.extend(rule.entry(text, pair).err());
        }
        errors.extend(contradiction(text, &pairs));
        if errors.is_empty() { Ok(rule) } else { Err(errors) }
    }

    fn entry(&mut self, text: &str, pair: &Pair) -> Result<(), ConfigError> {
        let written = text.get(pair.key.clone()).unwrap_or_default();
        match written {
            "to" => self.to = Some(raw::value(text, pair, "the name of a chain in quotes")?),
            "set_mark" => {
                self.mark = Some(raw::value(text, pair, "a number from 0 to 65535")?);
            }
            "name" => {
                let name: String = raw::value(text, pair, "a name in quotes")?;
                check_name(&name).map_err(|message| at_value(text, pair, message))?;
                self.name = Some(name);
            }
            _ => match KEYS.iter().find(|key| key.name == written) {
                Some(key) => self.wanted.push((key.field, value::read(text, pair, key)?)),
                None => return Err(unknown(text, pair, written)),
            },
        }
        Ok(())
    }

    /// Ports whose addresses it must be told.
    pub(super) fn addressed(&self) -> impl Iterator<Item = &String> {
        self.wanted.iter().flat_map(|(_, wanted)| &wanted.own)
    }

    /// Ports whose numbers it must be told.
    pub(super) fn ports(&self) -> impl Iterator<Item = &String> {
        self.wanted.iter().flat_map(|(_, wanted)| &wanted.ports)
    }
}

fn at_value(text: &str, pair: &Pair, message: String) -> ConfigError {
    let key = text.get(pair.key.clone()).map(str::to_owned);
    ConfigError { span: Some((pair.value.start, pair.value.end)), key, message }
}

fn unknown(text: &str, pair: &Pair, written: &str) -> ConfigError {
    if let Some((_, with)) = LATER.iter().find(|(later, _)| *later == written) {
        let message = format!("`{written}` cannot be matched yet; it is to come with {with}");
        let key = Some(written.to_owned());
        return ConfigError { span: Some((pair.key.start, pair.key.end)), key, message };
    }
    if matches!(written, "drop" | "Drop" | "action" | "deny" | "accept") {
        let message = format!(
            "there is no key `{written}`; a rule sends packets to a chain: `to: \"refuse\"`, and under `chains` \
             `\"refuse\": [Drop(\"refused\")]`"
        );
        let key = Some(written.to_owned());
        return ConfigError { span: Some((pair.key.start, pair.key.end)), key, message };
    }
    let known: Vec<&str> = KEYS.iter().map(|key| key.name).chain(OTHERS).collect();
    raw::unknown_key(text, &pair.key, &known)
}

/// A name stands in reports and in what is expected of them, behind `rule.`.
fn check_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let is_word = name.chars().all(fits) && name.contains(|c: char| !c.is_ascii_digit());
    if is_word && name.len() <= NAME_MAX {
        return Ok(());
    }
    Err(format!(
        "expected a name of letters, digits, `_` and `-`, at most {NAME_MAX}, and not digits alone"
    ))
}

/// Keys of which no packet has both.
fn contradiction(text: &str, pairs: &[Pair]) -> Option<ConfigError> {
    let key = |pair: &&Pair| text.get(pair.key.clone()).unwrap_or_default();
    let starts = |start: &'static str| pairs.iter().find(move |pair| key(pair).starts_with(start));
    let (tcp, udp) = (starts("tcp_")?, starts("udp_")?);
    let later = if tcp.key.start > udp.key.start { tcp } else { udp };
    let message =
        format!("no packet has both `{}` and `{}`; make two rules of it", key(&tcp), key(&udp));
    let key = key(&later).to_owned();
    Some(ConfigError { span: Some((later.key.start, later.key.end)), key: Some(key), message })
}
