//! The everyday stages keep the rules that every stage must keep, with other arguments than those of their examples.

use corelane::testing::{check_spec, check_stage};
use corelane_stages::{capture, mirror, reflect, rewrite, sample, ttl, vlan};

#[test]
fn mirror_keeps_the_rules() {
    check_stage::<mirror::Mirror>("Mirror(\"m\")");
    check_stage::<mirror::Mirror>("Mirror(to: \"m\", snap: 60)");
    check_stage::<mirror::Mirror>("Mirror(to: \"m\", sample: \"1/3\", by: Flow, snap: 1000)");
}

#[test]
fn sample_keeps_the_rules() {
    check_stage::<sample::Sample>("Sample(\"1/3\")");
    check_stage::<sample::Sample>("Sample(share: \"1/2\", by: Flow, otherwise: \"rest\")");
}

#[test]
fn stages_that_change_headers_keep_the_rules() {
    check_stage::<rewrite::Rewrite>(
        "Rewrite(src: \"10.9.8.7\", dst: \"2001:db8::5\", sport: 7, ttl: 3, dscp: 9, vlan: 2)",
    );
    check_stage::<ttl::Ttl>("Ttl");
    check_stage::<ttl::Ttl>("Ttl(decrement: 64, expired: Output(\"late\"))");
    check_stage::<reflect::Reflect>("Reflect");
    check_stage::<vlan::VlanPop>("VlanPop");
    check_stage::<vlan::VlanPop>("VlanPop(\"plain\")");
}

#[test]
fn stages_declared_by_hand_keep_the_rules() {
    check_spec(&capture::CaptureSpec, "Capture(file: \"x.pcapng\", snap: 60)");
    check_spec(&vlan::VlanPushSpec, "VlanPush(vid: 9, pcp: 3, otherwise: \"bare\")");
    check_spec(&vlan::VlanPushSpec, "VlanPush(table: \"tenants\")");
}
