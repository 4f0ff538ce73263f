use serde_json::{Value as Json, json};

use super::*;
use crate::ingest::{Batch, Kind};
use crate::policy::Policy;

/// A policy with these propositions.
fn policy(propositions: &[(&str, &str)]) -> Policy {
    let table: serde_json::Map<String, Json> =
        propositions.iter().map(|(name, expression)| ((*name).to_owned(), json!(expression))).collect();
    let text = json!({"propositions": table, "rule": [{"id": "r", "formula": "true"}]}).to_string();
    Policy::parse(&text, "test.json").unwrap_or_else(|report| panic!("{report}"))
}

/// The names that hold at an event, and the clashes.
fn held(policy: &Policy, event: &Event) -> (Vec<String>, Vec<String>) {
    let mut letter = Vec::new();
    let clashes = match policy.labeller.label(event, &mut letter) {
        Ok(()) => Vec::new(),
        Err(error) => error.clashes().map(|(_, what)| what.to_owned()).collect(),
    };
    let names = policy.vocabulary.iter().zip(0u32..);
    let names = names.filter(|(_, p)| tracelaw_runtime::Letter(&letter).contains(*p));
    (names.map(|(name, _)| name.clone()).collect(), clashes)
}

fn transfer() -> Event {
    Event {
        tool: "transfer".to_owned(),
        args: json!({
            "amount": 100, "ratio": 0.5, "big": 9007199254740993u64, "to": "acc-7", "tags": ["a", "b"], "note": null,
            "nested": {"deep": {"x": [1, 2, {"y": "z"}]}}, "ok": true, "1": "one", "digits": "42",
        }),
        result: json!({"code": 7, "list": [3, 1, 2]}),
        status: Status::Ok,
        text: "Sending it now".to_owned(),
        batch: Some(Batch { id: 4, size: 2, index: 1 }),
        ts: Some("2026-01-02T03:04:05Z".to_owned()),
        ..Event::default()
    }
}

#[test]
fn expressions_have_their_values() {
    let (yes, no, clash) = (Some(true), Some(false), None);
    let cases = [
        ("tool == 'transfer'", yes),
        ("tool in ['a', 'transfer']", yes),
        ("tool in []", no),
        ("tool != 'transfer'", no),
        ("tool.startsWith('trans') && tool.endsWith('fer') && tool.contains('ans')", yes),
        ("tool.matches('ansf')", yes),
        ("tool.matches('^ansf')", no),
        ("matches(tool, r'^\\w+$')", yes),
        ("args.amount == 100 && args.amount == 100.0 && args.amount >= 100 && args.amount < 100.5", yes),
        ("args.amount > 100", no),
        ("args.ratio < 1 && args.ratio > 0", yes),
        ("args.big == 9007199254740993 && args.big > 9007199254740992.0", yes),
        ("args.big == 9007199254740992.0", no),
        ("args['amount'] + 1 == 101 && args.amount * 2 - 50 == 150 && args.amount % 30 == 10", yes),
        ("args.amount / 3 == 33 && args.ratio / 2 == 0.25 && -args.amount == -100", yes),
        ("args.to + '!' == 'acc-7!'", yes),
        ("args.tags[1] == 'b' && 'a' in args.tags && !('c' in args.tags) && size(args.tags) == 2", yes),
        ("args.tags == ['a', 'b'] && args.tags != ['b', 'a']", yes),
        ("args.nested.deep.x[2].y == 'z'", yes),
        ("args.nested.deep.x[7] == 1", no),
        ("args['1'] == 'one'", yes),
        ("'amount' in args && !('nothing' in args)", yes),
        ("has(args.amount) && has(args.note) && !has(args.nothing) && !has(args.nothing.at.all)", yes),
        ("args.note == null", yes),
        ("args.amount != null && !(args.amount == null)", yes),
        ("args.note != 1 || !(args.note == 1) || !(args.note in ['a']) || !(args.note in args.tags)", no),
        ("args.ok", yes),
        ("args.ok ? args.amount > 1 : false", yes),
        ("args.tags.exists(t, t == 'b') && args.tags.all(t, t.size() == 1)", yes),
        ("args.tags.all(t, t == 'b')", no),
        ("args.tags.exists(t, args.tags.exists(u, t != u))", yes),
        ("[1, 2].exists(i, result.list[i] == 1)", yes),
        ("result.code == 7 && status == 'ok' && kind == 'call' && attempted", yes),
        ("batch.size == 2 && batch.id == 4 && batch.index == 1 && has(batch.id)", yes),
        ("text.matches('(?i)sending')", yes),
        ("ts < '2026-01-03' && ts > '2025'", yes),
        ("int(args.digits) == 42 && double(args.digits) == 42.0 && string(args.amount) == '100'", yes),
        // What is missing makes all false, `!=` and `!` included.
        ("args.nothing == 1", no),
        ("args.nothing != 1", no),
        ("!(args.nothing == 1)", no),
        ("args.note > 1", no),
        ("args.to.x == 1", no),
        ("args.nothing == 1 || tool == 'transfer'", yes),
        ("args.nothing.all(x, x == 1)", no),
        // Values of different types are not equal; anything else with them is a clash.
        ("args.amount == '100'", no),
        ("args.amount != '100'", yes),
        ("args.to > 100", clash),
        ("args.amount > '100'", clash),
        ("args.amount.contains('1')", clash),
        ("args.amount", clash),
        ("args.amount && true", clash),
        ("args.amount || tool == 'transfer'", yes),
        ("args.to > 1 && tool == 'other'", no),
        ("args.amount / 0 == 1", clash),
        ("args.amount in 'abc'", clash),
        ("int(args.to) == 1", clash),
        ("size(args.amount) == 1", clash),
        ("args.tags.exists(t, t > 1)", clash),
        ("args.to - 1 == 2", clash),
    ];
    for (expression, wanted) in cases {
        let (names, clashes) = held(&policy(&[("p", expression)]), &transfer());
        assert_eq!(!names.is_empty(), wanted == yes, "{expression}");
        assert_eq!(!clashes.is_empty(), wanted == clash, "{expression}: {clashes:?}");
    }
}

#[test]
fn a_clash_says_what_and_where() {
    let (names, clashes) = held(&policy(&[("large", "args.to > 100"), ("any", "true")]), &transfer());
    assert_eq!(names, ["any"]);
    assert_eq!(clashes, ["proposition `large`: a text and a number have no order"]);
}

#[test]
fn events_without_arguments_or_batch() {
    let policy = policy(&[
        ("large", "args.amount > 1"),
        ("alone", "batch.size == 1 && batch.index == 0 && !has(batch.id)"),
        ("in_batch", "batch.id >= 0"),
        ("timed", "ts > ''"),
        ("attempt", "attempted"),
        ("message", "kind == 'user' && tool == '' && text.contains('hello')"),
    ]);
    for args in [Json::Null, json!("amount"), json!([1]), json!(5)] {
        let (names, clashes) = held(&policy, &Event { args, ..Event::default() });
        assert_eq!((names, clashes.len()), (vec!["alone".to_owned(), "attempt".to_owned()], 0));
    }
    let message = Event { kind: Kind::User, text: "oh hello".to_owned(), ..Event::default() };
    assert_eq!(held(&policy, &message).0, ["alone", "message"]);
}

#[test]
fn a_denied_call_is_an_attempt_and_not_an_act() {
    let policy = policy(&[
        ("pay", "tool == 'pay'"),
        ("try_pay", "attempted && tool == 'pay'"),
        ("blocked", "attempted && status == 'denied'"),
        ("money", "try_pay || tool == 'refund'"),
        ("not_pay", "!pay"),
        ("always", "true"),
    ]);
    let event = |status| Event { tool: "pay".to_owned(), status, ..Event::default() };
    assert_eq!(held(&policy, &event(Status::Denied)).0, ["try_pay", "blocked", "money"]);
    for status in [Status::Ok, Status::Error, Status::Unknown] {
        assert_eq!(held(&policy, &event(status)).0, ["pay", "try_pay", "money", "always"]);
    }
}

#[test]
fn given_propositions_come_from_the_log() {
    let text = r#"{"given": ["a", "b"], "propositions": {"both": "a && b", "c": "tool == 'c'"},
                   "rule": [{"id": "r", "formula": "G both"}]}"#;
    let policy = Policy::parse(text, "p.json").unwrap();
    let event =
        |props: &[&str]| Event { props: props.iter().map(|p| (*p).to_owned()).collect(), ..Event::default() };
    assert_eq!(held(&policy, &event(&["b", "a", "unheard of"])).0, ["a", "b", "both"]);
    assert_eq!(held(&policy, &event(&["b"])).0, ["b"]);
    // `props` speaks for given propositions only.
    assert_eq!(held(&policy, &event(&["c", "both"])).0, Vec::<String>::new());
}

#[test]
fn keys() {
    let key = |per: &str, args: Json| {
        let text = json!({"given": ["p"], "rule": [{"id": "r", "formula": "p", "per": per, "keyed": ["p"]}]});
        let policy = Policy::parse(&text.to_string(), "p.json").unwrap_or_else(|r| panic!("{r}"));
        let per = policy.rules.first().and_then(|r| r.per.clone()).unwrap();
        per.key(&Event { args, ..Event::default() }).unwrap().map(std::borrow::Cow::into_owned)
    };
    assert_eq!(key("args.id", json!({"id": "x y"})).as_deref(), Some("x y"));
    assert_eq!(key("args.id", json!({"id": 42})).as_deref(), Some("42"));
    assert_eq!(key("args.id", json!({"id": 42.0})).as_deref(), Some("42"));
    assert_eq!(key("args.id", json!({"id": 0.25})).as_deref(), Some("0.25"));
    assert_eq!(key("args.id", json!({"id": true})).as_deref(), Some("true"));
    assert_eq!(key("args.id", json!({"id": null})), None);
    assert_eq!(key("args.id", json!({})), None);
    assert_eq!(key("args.id", Json::Null), None);
    assert_eq!(
        key("args.id", json!({"id": {"b": [1.0, "x"], "a": null}})).as_deref(),
        Some(r#"{"a":null,"b":[1,"x"]}"#)
    );
    assert_eq!(key("[args.a, args.b]", json!({"a": "x", "b": 2})).as_deref(), Some(r#"["x",2]"#));
    assert_eq!(key("[args.a, args.b]", json!({"a": "x"})), None);
    assert_eq!(key("has(args.a) ? args.a : args.b", json!({"b": "2"})).as_deref(), Some("2"));
}

/// A small generator: every run makes the same expressions and events.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn tool(&mut self) -> char {
        char::from(b'a' + u8::try_from(self.below(5)).unwrap())
    }

    /// An expression that may refer to the propositions `p0 .. p{before}`.
    fn expression(&mut self, depth: u64, before: u64) -> String {
        if depth == 0 || self.below(5) == 0 {
            return match self.below(10) {
                0..4 => format!("tool == '{}'", self.tool()),
                4 => format!("'{}' == tool", self.tool()),
                5 => format!("tool in ['{}', '{}']", self.tool(), self.tool()),
                6 if before > 0 => format!("p{}", self.below(before)),
                7 => ["true", "false", "attempted", "status == 'ok'"]
                    [usize::try_from(self.below(4)).unwrap()]
                .to_owned(),
                8 => format!("tool.matches('[{}x]')", self.tool()),
                _ => format!("args.n > {}", self.below(3)),
            };
        }
        let left = self.expression(depth - 1, before);
        match self.below(6) {
            0 => format!("!({left})"),
            1 => format!(
                "({left} ? {} : {})",
                self.expression(depth - 1, before),
                self.expression(depth - 1, before)
            ),
            2 | 3 => format!("({left} && {})", self.expression(depth - 1, before)),
            _ => format!("({left} || {})", self.expression(depth - 1, before)),
        }
    }
}

#[test]
fn the_index_never_changes_an_answer() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let args =
        [json!({"n": 1}), json!({"n": 2.5}), json!({"n": "many"}), json!({"n": null}), json!({}), Json::Null];
    let (mut certain, mut holding) = (0, 0);
    for _ in 0..150 {
        let count = 1 + random.below(6);
        let propositions: Vec<(String, String)> =
            (0..count).map(|i| (format!("p{i}"), random.expression(3, i))).collect();
        let borrowed: Vec<(&str, &str)> =
            propositions.iter().map(|(n, e)| (n.as_str(), e.as_str())).collect();
        let labeller = policy(&borrowed).labeller;
        certain += labeller.entries.iter().filter(|e| e.certain).count();
        for tool in ["a", "b", "c", "d", "e", "f", ""] {
            for args in &args {
                for status in [Status::Ok, Status::Error, Status::Denied, Status::Unknown] {
                    let event =
                        Event { tool: tool.to_owned(), args: args.clone(), status, ..Event::default() };
                    let mut letter = Vec::new();
                    let clashes = labeller.label(&event, &mut letter).err().map_or(vec![], |e| e.clashes);
                    let (mut plain, mut plain_clashes) = (Vec::new(), Vec::new());
                    labeller.start(&event, &mut plain);
                    for entry in &labeller.entries {
                        Entry { certain: false, ..entry.clone() }.label(
                            &event,
                            &mut plain,
                            &mut plain_clashes,
                        );
                    }
                    assert_eq!(
                        (&letter, &clashes),
                        (&plain, &plain_clashes),
                        "{propositions:?} at {event:?}"
                    );
                    holding += letter.iter().map(|w| w.count_ones()).sum::<u32>();
                }
            }
        }
    }
    assert!(certain > 20 && holding > 1_000, "the test has lost its bite: {certain}, {holding}");
}

#[test]
fn only_candidates_are_evaluated() {
    let policy = policy(&[
        ("read", "tool == 'read'"),
        ("secret", "read && args.path.contains('secret')"),
        ("send", "tool in ['mail', 'post']"),
        ("loud", "send && text.matches('!')"),
        ("user", "kind == 'user'"),
    ]);
    let names = |tool: &str| -> Vec<&str> {
        let candidates = policy.labeller.index.candidates(tool);
        candidates.map(|at| policy.labeller.entries[at as usize].name.as_str()).collect()
    };
    assert_eq!(names("read"), ["read", "secret", "user"]);
    assert_eq!(names("mail"), ["send", "loud", "user"]);
    assert_eq!(names("other"), ["user"]);
    let certain = policy.labeller.entries.iter().filter(|e| e.certain).map(|e| e.name.as_str());
    assert_eq!(certain.collect::<Vec<_>>(), ["read", "send"]);
}
