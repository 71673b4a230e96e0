//! What `explain` says of pipelines on every profile that comes with corelane: as text to be read, and held line by
//! line against the profiles' own files by a test that knows neither the planner nor the reader of records.

mod document;
mod graphs;
mod model;
mod profile;
mod rows;
mod snapshots;

/// The explanation of a pipeline of these tests, every port of which is such a device.
fn explain(text: &str, profile: &str) -> corelane::explain::Explanation {
    let caps = snapshots::ports(text).into_iter().map(|port| (port, profile.to_owned()));
    let overrides = corelane::Overrides { caps: caps.collect(), ..Default::default() };
    let pipeline = corelane::Pipeline::load("test.ron", text, &overrides);
    let pipeline = pipeline.unwrap_or_else(|problems| panic!("{problems}"));
    let machine = corelane::Machine::from_ron("Machine(packages: 1, cores: 2, threads: 1)");
    let plan = pipeline.plan(&snapshots::registry(), &machine.expect("a machine"));
    plan.unwrap_or_else(|failure| panic!("{profile}: {failure}")).explain()
}
