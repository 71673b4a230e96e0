//! How `Classify` is written in a description, and what it asks of the plan.

use super::budget::{self, TooLarge};
use super::compile::Wishes;
use super::field::{Field, KEYS};
use super::rule::Rule;
use super::set::Set;
use super::table::Classifier;
use super::value::Wanted;
use super::{Action, Classify, Rules, never};
use crate::config::raw::{self, Pair};
use corelane_runtime::Error;
use corelane_runtime::stage::spec::{KeyInfo, Role, Traits};
use corelane_runtime::stage::{
    Args, BuildContext, Built, ConfigError, CounterId, OutputId, Row, RowError, StageConfig,
    StageInfo, StageSpec,
};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

/// What `Classify` is.
pub const INFO: StageInfo = StageInfo {
    name: "Classify",
    summary: "Sends each packet where the first rule that it matches says.",
    role: Role::Middle,
    subject: None,
    keys: &[
        KeyInfo {
            name: "rules",
            kind: "list of rules such as (dst: \"10.0.0.0/8\", to: \"chain\")",
            default: Some("[]"),
            doc: "the rules, in the order in which they are tried",
        },
        KeyInfo {
            name: "table",
            kind: "name of a table of rules",
            default: Some("none"),
            doc: "a table whose rows are rules too, tried behind `rules`",
        },
        KeyInfo {
            name: "otherwise",
            kind: "chain",
            default: Some("next stage"),
            doc: "where packets go that no rule matches",
        },
    ],
    drop_reasons: &[],
    counters: &["unmatched"],
};

/// Packets that no rule matched.
pub(super) const UNMATCHED: CounterId = CounterId(0);

/// The kind of stage `Classify`.
#[derive(Clone, Copy, Debug)]
pub struct ClassifySpec;

/// Arguments of `Classify`.
#[derive(Debug, Default)]
pub struct ClassifyConfig {
    /// Those of the arguments, then those of the table.
    rules: Vec<Rule>,
    /// Names of rules, to see at once that one is taken.
    names: BTreeSet<String>,
    table: Option<String>,
    otherwise: Option<String>,
    /// What is made of them, once it is: the same for every copy.
    compiled: OnceLock<Arc<Rules>>,
}

impl StageSpec for ClassifySpec {
    fn info(&self) -> &'static StageInfo {
        &INFO
    }

    fn doc(&self) -> &'static str {
        static DOC: OnceLock<String> = OnceLock::new();
        DOC.get_or_init(doc)
    }

    fn example(&self) -> &'static str {
        "Classify(rules: [(udp_dst: 4789, to: \"to\")], otherwise: \"otherwise\")"
    }

    fn configure(&self, args: Args<'_>) -> Result<Box<dyn StageConfig>, Vec<ConfigError>> {
        Ok(Box::new(ClassifyConfig::read(args.text)?))
    }
}

/// What rules can say, for the catalogue.
fn doc() -> String {
    let mut doc = String::from(
        "A rule is a list of keys that must all match, and what becomes of the packet: `to` names a chain (the next \
         stage without it), `set_mark` gives it a mark, `name` names the rule's counter, which is `rule.0` and so on \
         without it. A key implies its protocol, and speaks of the outermost headers that are left. A value is one, a \
         range such as 8000..=8099, a list of those, or Not(..) of either.\n\nKeys:",
    );
    for key in &KEYS {
        let expected = key.expected;
        doc.push_str(&format!("\n\n`{}`: {expected}.", key.name));
    }
    doc
}

impl ClassifyConfig {
    fn read(text: &str) -> Result<ClassifyConfig, Vec<ConfigError>> {
        let pairs = raw::pairs(text).map_err(|error| vec![error])?;
        let (mut config, mut errors) = (ClassifyConfig::default(), Vec::new());
        for pair in &pairs {
            match text.get(pair.key.clone()).unwrap_or_default() {
                "rules" => errors.extend(config.rules(text, pair)),
                "table" => match raw::value(text, pair, "the name of a table in quotes") {
                    Ok(name) => config.table = Some(name),
                    Err(error) => errors.push(error),
                },
                "otherwise" => match raw::value(text, pair, "the name of a chain in quotes") {
                    Ok(chain) => config.otherwise = Some(chain),
                    Err(error) => errors.push(error),
                },
                _ => {
                    errors.push(raw::unknown_key(text, &pair.key, &["rules", "table", "otherwise"]))
                }
            }
        }
        if config.rules.is_empty() && config.table.is_none() && errors.is_empty() {
            errors.push(ConfigError::at("rules", "`rules` must be given"));
        }
        errors.extend(config.too_large().map(|(_, message)| ConfigError::at("rules", message)));
        if errors.is_empty() { Ok(config) } else { Err(errors) }
    }

    /// Reads the rules; everything that is wrong in them.
    fn rules(&mut self, text: &str, pair: &Pair) -> Vec<ConfigError> {
        let Some(items) = raw::items(text, pair.value.clone()) else {
            let span = Some((pair.value.start, pair.value.end));
            let message = "expected a list of rules: [(key: value, ..), ..]".to_owned();
            return vec![ConfigError { span, key: Some("rules".to_owned()), message }];
        };
        let mut errors = Vec::new();
        for item in items {
            let rule = Rule::read(text.get(item.clone()).unwrap_or_default());
            let moved = |error: ConfigError| ConfigError {
                span: error.span.map(|(from, to)| (from + item.start, to + item.start)),
                ..error
            };
            match rule.and_then(|rule| self.add(text.get(item.clone()).unwrap_or_default(), rule)) {
                Ok(()) => {}
                Err(wrong) => errors.extend(wrong.into_iter().map(moved)),
            }
        }
        errors
    }

    /// Takes a rule, read from `text`, that some packet can match.
    fn add(&mut self, text: &str, rule: Rule) -> Result<(), Vec<ConfigError>> {
        if let Some((key, message)) = never::matches_nothing(&rule) {
            let pairs = raw::pairs(text).unwrap_or_default();
            let is_key = |pair: &&Pair| text.get(pair.key.clone()) == Some(key);
            let at = pairs.iter().find(is_key).map_or(0..text.len(), |pair| pair.value.clone());
            let (span, key) = (Some((at.start, at.end)), Some(key.to_owned()));
            return Err(vec![ConfigError { span, key, message }]);
        }
        if let Some(name) = rule.name.as_ref().filter(|name| self.names.contains(*name)) {
            let message =
                format!("there is a rule named `{name}` already; give each a name of its own");
            return Err(vec![ConfigError {
                span: Some((0, 1)),
                key: Some("name".to_owned()),
                message,
            }]);
        }
        self.names.extend(rule.name.clone());
        self.rules.push(rule);
        Ok(())
    }

    /// Where there are more rules than tables can be made for: the first of those, and the sentence.
    fn too_large(&self) -> Option<(usize, String)> {
        let TooLarge { rule, bytes } = budget::check(&self.rules, budget::BYTES_MAX).err()?;
        let message = format!(
            "{} rules need up to {} MiB of tables, and {} MiB are possible; make fewer of them, or spread them over \
             several `Classify`",
            self.rules.len(),
            bytes.div_ceil(1 << 20),
            budget::BYTES_MAX >> 20
        );
        Some((rule, message))
    }

    /// Chains that rules and `otherwise` send to, each once, with the key that names them.
    fn outputs(&self) -> Vec<(String, String)> {
        let mut known = BTreeSet::new();
        let rules = self.rules.iter().filter_map(|rule| Some(("to", rule.to.as_ref()?)));
        let otherwise = self.otherwise.iter().map(|chain| ("otherwise", chain));
        let outputs = rules.chain(otherwise).filter(|(_, chain)| known.insert(*chain));
        outputs.map(|(key, chain)| (key.to_owned(), chain.clone())).collect()
    }

    fn compile(&self, ctx: &dyn BuildContext) -> Result<Rules, Error> {
        let chains = self.outputs();
        let chains: BTreeMap<&str, usize> = chains
            .iter()
            .enumerate()
            .map(|(place, (_, chain))| (chain.as_str(), place + 1))
            .collect();
        let output = |chain: Option<&String>| {
            let chain = chain.and_then(|chain| chains.get(chain.as_str()));
            chain.map_or(OutputId::NEXT, |&output| OutputId(output))
        };
        let actions = self.rules.iter().enumerate().map(|(number, rule)| Action {
            output: output(rule.to.as_ref()),
            mark: rule.mark,
            counter: CounterId(INFO.counters.len() + number),
        });
        let wishes: Result<Vec<Wishes>, Error> =
            self.rules.iter().map(|rule| wishes(rule, ctx)).collect();
        Ok(Rules {
            actions: actions.collect(),
            classifier: Classifier::new(&wishes?),
            otherwise: output(self.otherwise.as_ref()),
        })
    }
}

impl StageConfig for ClassifyConfig {
    fn traits(&self) -> Traits {
        let once = |names: BTreeSet<&String>| names.into_iter().cloned().collect();
        Traits {
            outputs: self.outputs(),
            ends: self.otherwise.is_some() && self.rules.iter().all(|rule| rule.to.is_some()),
            addressed: once(self.rules.iter().flat_map(Rule::addressed).collect()),
            named_ports: once(self.rules.iter().flat_map(Rule::ports).collect()),
            table: self.table.clone(),
            ..Traits::default()
        }
    }

    fn take_rows(&mut self, rows: &[Row<'_>]) -> Result<(), Vec<RowError>> {
        let (mut errors, own) = (Vec::new(), self.rules.len());
        for (number, row) in rows.iter().enumerate() {
            let read = Rule::read(row.text).and_then(|rule| self.add(row.text, rule));
            let wrong = read.err().into_iter().flatten();
            errors.extend(wrong.map(|error| RowError { row: number, error }));
        }
        // Where some are wrong, the numbers of rules are not those of rows.
        if let Some((rule, message)) = self.too_large().filter(|_| errors.is_empty()) {
            let error = ConfigError { span: Some((0, 1)), key: None, message };
            errors.push(RowError { row: rule.saturating_sub(own), error });
        }
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    fn extra_counters(&self) -> Vec<String> {
        let names = self.rules.iter().enumerate();
        names
            .map(|(number, rule)| match &rule.name {
                Some(name) => format!("rule.{name}"),
                None => format!("rule.{number}"),
            })
            .collect()
    }

    fn build(&self, ctx: &mut dyn BuildContext) -> Result<Built, Error> {
        let rules = match self.compiled.get() {
            Some(rules) => Arc::clone(rules),
            None => {
                let rules = Arc::new(self.compile(ctx)?);
                Arc::clone(self.compiled.get_or_init(|| rules))
            }
        };
        Ok(Built::restartable(move || Classify::new(Arc::clone(&rules))))
    }
}

/// What a rule asks for, with the addresses and numbers of the ports that it names.
pub(super) fn wishes(rule: &Rule, ctx: &dyn BuildContext) -> Result<Wishes, Error> {
    let mut wishes = Wishes::new();
    for (field, Wanted { not, set, own, ports }) in &rule.wanted {
        let mut set = set.clone();
        for port in own {
            let missing = || Error::user(format!("port {port}"), "`Own` needs its addresses");
            let info = ctx.port_info(port).ok_or_else(missing)?;
            info.addresses.iter().for_each(|(address, _)| add(&mut set, *address));
        }
        let numbers = ports.iter().map(|port| u64::from(ctx.port_number(port)));
        set.narrow.extend(numbers.map(|number| (number, number)));
        let set = set.normal();
        let field: Field = *field;
        let max = field.largest();
        wishes.insert(field, if *not { set.negated(max, field.has_wide()) } else { set });
    }
    Ok(wishes)
}

fn add(set: &mut Set, address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            let value = u64::from(u32::from(address));
            set.narrow.push((value, value));
        }
        IpAddr::V6(address) => {
            let value = u128::from(address);
            set.wide.push((value, value));
        }
    }
}
