//! Rules with one monitor per value, worked out by hand from the definition.

use super::{calls, check, tools, verdicts};

/// One rule `r` per `args.id`.
fn policy(names: &str, formula: &str, keyed: &str) -> String {
    format!(
        "{}[[rule]]\nid = \"r\"\nformula = \"{formula}\"\nper = \"args.id\"\nkeyed = [{keyed}]\n",
        tools(names)
    )
}

#[test]
fn each_value_is_judged_on_its_own() {
    let policy = policy("read change", "!change W read", "\"read\", \"change\"");
    assert_eq!(
        verdicts(&policy, &calls("read:A change:A change:B")),
        ["s r[A] satisfied", "s r[B] violated 2"]
    );
    // The event at which a value appears is seen by its monitor, whatever others did before.
    assert_eq!(
        verdicts(&policy, &calls("change:B read:A read:B change:B")),
        ["s r[B] violated 0", "s r[A] satisfied"]
    );
}

#[test]
fn a_value_is_not_satisfied_by_the_event_of_another() {
    let policy = policy("open close", "G(open -> X close)", "\"open\", \"close\"");
    // To A, event 1 is one at which nothing happens; repaired, the close at 2 asks nothing more.
    assert_eq!(
        verdicts(&policy, &calls("open:A open:B close:A close:B")),
        ["s r[A] violated 1", "s r[B] violated 2"]
    );
    assert_eq!(
        verdicts(&policy, &calls("open:A close:A open:B close:B")),
        ["s r[A] satisfied", "s r[B] satisfied"]
    );
}

#[test]
fn every_value_sees_every_step() {
    let ran = check(
        &policy("open close", "G(open -> F close)", "\"open\", \"close\""),
        &calls("list open:A list close:A open:B"),
        &["--json"],
    );
    assert_eq!(ran.verdicts(), ["s r[A] satisfied", "s r[B] violated end"]);
    assert!(ran.lines().iter().all(|line| line["events"] == 5));
}

#[test]
fn a_value_has_the_past_of_one_never_seen() {
    // `lock` is true for all values alike, also before they appear.
    let policy = policy("lock change", "G(lock -> G !change)", "\"change\"");
    assert_eq!(
        verdicts(&policy, &calls("lock change:A change:B change:A")),
        ["s r[A] violated 1,3", "s r[B] violated 2"]
    );
    assert_eq!(
        verdicts(&policy, &calls("change:A lock change:B")),
        ["s r[A] satisfied", "s r[B] violated 2"]
    );
}

#[test]
fn what_broke_the_rule_before_a_value_appeared_broke_it_for_that_value() {
    let policy = policy("alarm open close", "G !alarm & G(open -> F close)", "\"open\", \"close\"");
    assert_eq!(
        verdicts(&policy, &calls("alarm open:A close:A open:B")),
        ["s r[A] violated 0", "s r[B] violated 0,end"]
    );
    // Without any value there is nothing that the rule is about.
    assert_eq!(verdicts(&policy, &calls("alarm list")), ["s r satisfied"]);
}

#[test]
fn past_operators_look_at_the_value_alone() {
    let policy = policy("read change", "G(change -> O read)", "\"read\", \"change\"");
    assert_eq!(
        verdicts(&policy, &calls("read:A change:B change:A")),
        ["s r[A] satisfied", "s r[B] violated 1"]
    );
}

#[test]
fn exactly_one_per_event_is_not_promised_to_a_value() {
    // At the event of another value nothing holds for this one, although exactly one proposition holds for the log.
    let policy = format!(
        "one_per_event = true\n{}",
        policy("open close", "G(open -> X(open | close))", "\"open\", \"close\"")
    );
    // To A, events 1 and 2 are empty. Repaired, each counts as the first of the letters that answer: an open, which asks again.
    assert_eq!(
        verdicts(&policy, &calls("open:A open:B close:B close:A")),
        ["s r[A] violated 1,2", "s r[B] satisfied"]
    );
}

#[test]
fn values_are_apart_from_session_to_session_and_numbers_are_values() {
    let log = "{\"session\":\"s\",\"tool\":\"read\",\"args\":{\"id\":7}}\n\
        {\"session\":\"t\",\"tool\":\"change\",\"args\":{\"id\":7}}\n\
        {\"session\":\"s\",\"tool\":\"change\",\"args\":{\"id\":7}}\n\
        {\"session\":\"u\",\"tool\":\"change\",\"args\":{\"id\":null}}\n";
    let policy = policy("read change", "!change W read", "\"read\", \"change\"");
    assert_eq!(verdicts(&policy, log), ["s r[7] satisfied", "t r[7] violated 0", "u r satisfied"]);
}

#[test]
fn a_value_that_only_other_steps_show_does_not_appear() {
    let policy = format!(
        "steps = 'tool != \"noise\"'\n{}",
        policy("read change", "!change W read", "\"read\", \"change\"")
    );
    assert_eq!(verdicts(&policy, &calls("noise:A read:B change:B")), ["s r[B] satisfied"]);
}
