//! Artifacts and snapshots: what was written is read back, what is damaged is refused, and what is hostile is harmless.

use tracelaw::artifact::{self, ReadError};
use tracelaw::audit::{Audit, Plan};
use tracelaw::ingest::Event;
use tracelaw::policy::Policy;
use tracelaw_corpora::generate::Random;
use tracelaw_runtime::wire::{File, Section, xxh64};
use tracelaw_runtime::{Letter, MonitorState, Names, RuleSet, Symbol, Tell};

/// Rules of every kind of group: a product, lanes, one on its diagrams, lanes by their own propositions.
fn policies() -> Vec<String> {
    let few = r#"
        exclusive = [["a", "b"]]
        [propositions]
        a = 'tool == "a"'
        b = 'tool == "b"'
        c = 'args.c'
        [[rule]]
        id = "answer"
        template = "response(a, b)"
        [[rule]]
        id = "at-most-3"
        template = "absence(4, c)"
        [[rule]]
        id = "soon"
        formula = "G(a -> F[<=6] c)"
        after_violation = "restart"
    "#;
    let mut many = String::from("one_per_event = true\n[propositions]\n");
    for i in 0..12 {
        many += &format!("p{i} = 'tool == \"p{i}\"'\n");
    }
    for i in 0..150 {
        let (a, b) = (i % 12, (i * 7 + 1) % 12);
        let b = if a == b { (b + 1) % 12 } else { b };
        let template =
            ["response", "precedence", "chain_response", "alternate_precedence", "not_succession"][i % 5];
        many += &format!("[[rule]]\nid = \"r{i}\"\ntemplate = \"{template}(p{a}, p{b})\"\n");
    }
    // So many letters are different to it that it stays on its diagrams.
    let pairs: Vec<String> = (0..10).map(|i| format!("G(q{i} -> F r{i})")).collect();
    let mut wide = String::from("[propositions]\n");
    for i in 0..10 {
        wide += &format!("q{i} = 'args.q{i}'\nr{i} = 'args.r{i}'\n");
    }
    wide += &format!(
        "[[rule]]\nid = \"all\"\nformula = \"{}\"\n[[rule]]\nid = \"one\"\nformula = \"F q0\"\n",
        pairs.join(" & ")
    );
    // Letters that are too many to tell apart, and rules that are narrow all the same.
    let mut free = String::from("[propositions]\n");
    for i in 0..40 {
        free += &format!("s{i} = 'args.s{i}'\n");
    }
    for i in 0..90 {
        free +=
            &format!("[[rule]]\nid = \"f{i}\"\nformula = \"G(s{} -> F s{})\"\n", i % 40, (i * 3 + 1) % 40);
    }
    vec![few.to_owned(), many, wide, free]
}

fn compiled(text: &str) -> (Policy, Plan, Vec<u8>) {
    let policy = Policy::parse(text, "p.toml").unwrap();
    let plan = Plan::new(&policy).unwrap();
    let bytes = artifact::write(&policy, &plan, text, "p.toml");
    (policy, plan, bytes)
}

/// Does everything that can be done with the rules; that it returns is the test.
fn use_all(rules: &RuleSet<'_>, random: &mut Random) {
    let Ok(mut state) = MonitorState::new(rules, vec![0; rules.state_len().min(1 << 20)]) else { return };
    let mut letter = vec![0; (rules.prop_len() as usize).div_ceil(64).min(4)];
    for _ in 0..12 {
        letter.iter_mut().for_each(|word| *word = random.bits() & random.bits());
        rules.peek(&state, Letter(&letter), |_| {});
        rules.step(&mut state, Letter(&letter), |change| assert!(change.rule < rules.len()));
    }
    if rules.symbol_len().is_some() {
        let symbols: Vec<Symbol> = (0..40).map(|_| Symbol(random.bits() as u16 & 0x1ff)).collect();
        rules.run(&mut state, &symbols, Tell::Changes, |_, change| assert!(change.rule < rules.len()));
    }
    let mut allowed = [0; 8];
    rules.allowed(&state, &mut allowed);
    for rule in 0..rules.len().min(200) {
        let _ = (rules.verdict(&state, rule), rules.distance(&state, rule));
    }
    let mut snapshot = vec![0; rules.snapshot_len()];
    if rules.save(&state, &mut snapshot).is_ok() {
        let _ = rules.restore(&snapshot, vec![0; rules.state_len()]);
    }
}

/// Makes the fingerprint right again, where the section table still says what it is of.
fn fingerprint(bytes: &mut [u8]) {
    let number = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?) as usize);
    let entries = (0..bytes[12] as usize).map(|i| 32 + i * 24);
    let stepped = entries.filter(|&at| bytes.get(at).is_some_and(|kind| *kind <= 2));
    let ends = stepped.filter_map(|at| number(at + 8)?.checked_add(number(at + 16)?)).max();
    let start = (32 + bytes[12] as usize * 24).next_multiple_of(8);
    if let Some(of) = ends.and_then(|end| bytes.get(start..end)) {
        let sum = xxh64(of, 0);
        bytes[24..32].copy_from_slice(&sum.to_le_bytes());
    }
}

/// Makes the checksum right again, as whoever forges a file would.
fn sign(bytes: &mut [u8]) {
    let body = bytes.len() - 8;
    let sum = xxh64(&bytes[..body], 0);
    bytes[body..].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn what_was_written_is_read_back() {
    for text in policies() {
        let (policy, plan, bytes) = compiled(&text);
        let read = artifact::read(&bytes).unwrap();
        assert_eq!((read.text.as_str(), read.name.as_str()), (text.as_str(), "p.toml"));
        assert!(read.plan.automata().map(|a| a.0).eq(plan.automata().map(|a| a.0)));
        assert!(read.plan.sets().eq(plan.sets()));
        assert_eq!(artifact::write(&read.policy, &read.plan, &read.text, &read.name), bytes);
        let file = File::open(&bytes).unwrap();
        let names = Names::of(&file).unwrap();
        assert!(names.propositions().eq(policy.vocabulary.iter().map(String::as_str)));
        assert!(names.rules().eq(policy.rules.iter().map(|r| r.id.as_str())));
        assert!(names.rules_of(0).eq(0..policy.rules.len() as u32));
        assert_eq!(names.proposition(&policy.vocabulary[1]), Some(1));
        assert_eq!(names.proposition("nothing"), None);
        let rules = RuleSet::from_bytes(&bytes).unwrap();
        assert_eq!(rules.len() as usize, policy.rules.len());
        // Bytes at an odd address do as well.
        let mut shifted = vec![0];
        shifted.extend_from_slice(&bytes);
        assert_eq!(RuleSet::from_bytes(&shifted[1..]).unwrap().fingerprint(), rules.fingerprint());
    }
}

#[test]
fn rules_with_keys_or_steps_of_their_own_are_sets_of_their_own() {
    let text = r#"
        [propositions]
        open = 'tool == "open"'
        close = 'tool == "close"'
        [[rule]]
        id = "all"
        formula = "G(open -> F close)"
        [[rule]]
        id = "each"
        formula = "G(open -> F close)"
        per = "args.file"
        keyed = ["open", "close"]
        [[rule]]
        id = "messages"
        formula = "F open"
        steps = "all"
    "#;
    let (_, _, bytes) = compiled(text);
    let error = RuleSet::from_bytes(&bytes).unwrap_err().to_string();
    assert!(error.contains("several sets"), "{error}");
    let file = File::open(&bytes).unwrap();
    let names = Names::of(&file).unwrap();
    let sets: Vec<Vec<u32>> = (0..4).map(|set| names.rules_of(set).collect()).collect();
    assert_eq!(sets, [vec![0], vec![2], vec![1], vec![]]);
    assert_eq!(RuleSet::part_of(&file, 2).unwrap().len(), 1);
    assert!(RuleSet::part_of(&file, 3).is_err());
    // What was saved under one of them is no state of another.
    let (first, second) = (RuleSet::part_of(&file, 0).unwrap(), RuleSet::part_of(&file, 1).unwrap());
    let state = MonitorState::new(&first, vec![0; first.state_len()]).unwrap();
    let mut saved = vec![0; first.snapshot_len()];
    first.save(&state, &mut saved).unwrap();
    assert!(second.restore(&saved, vec![0; second.state_len()]).is_err());
    // A fingerprint is checked like everything else.
    let mut forged = bytes.clone();
    forged[24] ^= 1;
    sign(&mut forged);
    assert!(File::open(&forged).is_err());
    let read = artifact::read(&bytes).unwrap();
    let event = |tool: &str, file: &str| Event {
        session: "s".to_owned(),
        tool: tool.to_owned(),
        args: serde_json::json!({ "file": file }),
        ..Event::default()
    };
    let mut audit = Audit::new(&read.policy, &read.plan);
    for (tool, file) in [("open", "x"), ("open", "y"), ("close", "y")] {
        audit.event(&event(tool, file)).unwrap();
    }
    let mut broken = Vec::new();
    audit.finish(|o| broken.extend(o.breaches.iter().map(|_| (o.rule, o.key.map(str::to_owned)))));
    assert_eq!(broken, [(1, Some("x".to_owned()))]);
}

/// Files of each format version that is read, with groups of every kind: rules behave as those of the policy text in them
/// when it is compiled now, whatever is planned now.
#[test]
fn blessed_artifacts_still_load() {
    let mut random = Random::new(29);
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/artifacts");
    let (mut files, mut breaches) = (0, 0);
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap().path();
        let read = artifact::read(&std::fs::read(&file).unwrap()).unwrap();
        let plan = Plan::new(&read.policy).unwrap();
        assert!(read.plan.automata().map(|a| a.0).eq(plan.automata().map(|a| a.0)), "{file:?}");
        let lengths = read.plan.automata().map(|a| a.0.state_len() as usize);
        assert!(read.residuals.iter().map(|r| r.len()).eq(lengths), "{file:?}");
        assert!(read.plan.sets().map(|s| s.1).eq(plan.sets().map(|s| s.1)), "{file:?}");
        for ((then, _), (now, _)) in read.plan.sets().zip(plan.sets()) {
            let sets = [then, now].map(|section| RuleSet::from_section(section, 0).unwrap());
            let mut states = sets.map(|rules| MonitorState::new(&rules, vec![0; rules.state_len()]).unwrap());
            for _ in 0..2000 {
                let letter = drawn(&read.policy, &mut random);
                let mut changes = [Vec::new(), Vec::new()];
                for ((rules, state), changes) in sets.iter().zip(&mut states).zip(&mut changes) {
                    rules.step(state, Letter(&letter), |change| changes.push(change));
                }
                assert_eq!(changes[0], changes[1], "{file:?}");
                breaches += changes[0].iter().filter(|change| change.breach).count();
            }
        }
        files += 1;
    }
    assert!(files >= 5 && breaches > 1000, "{breaches} breaches of {files} files");
}

/// A letter that can occur: one proposition, or few where the policy promises nothing about them.
fn drawn(policy: &Policy, random: &mut Random) -> Vec<u64> {
    let props = policy.vocabulary.len();
    let most = if policy.one_per_event || !policy.exclusive.is_empty() { 1 } else { 3 };
    let mut letter = vec![0; props.div_ceil(64)];
    for prop in (0..most).map(|_| random.below(props)) {
        letter[prop / 64] |= 1 << (prop % 64);
    }
    letter
}

#[test]
fn damaged_artifacts_are_refused() {
    let mut random = Random::new(21);
    for text in policies() {
        let (_, _, bytes) = compiled(&text);
        for len in (0..bytes.len()).step_by(1 + bytes.len() / 500).chain(bytes.len() - 20..bytes.len()) {
            assert!(RuleSet::from_bytes(&bytes[..len]).is_err(), "{len} bytes");
            assert!(artifact::read(&bytes[..len]).is_err(), "{len} bytes");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(RuleSet::from_bytes(&longer).is_err());
        for _ in 0..500 {
            let mut flipped = bytes.clone();
            flipped[random.below(bytes.len())] ^= 1 << random.below(8);
            assert!(RuleSet::from_bytes(&flipped).is_err());
            assert!(matches!(artifact::read(&flipped), Err(ReadError::Load(_))));
        }
    }
}

/// Else a small file with many records of one long table would take long to load.
#[test]
fn records_do_not_share_long_tables() {
    let section = |classifiers: u32, nodes: usize| {
        let records = 8 + classifiers * 8;
        let mut words = vec![1, 0, classifiers, 0, 0, 0, 0, 0];
        for _ in 0..classifiers {
            words.extend([2, 1, 0, 0, 0, 0, records * 4, nodes as u32 * 12]);
        }
        words.extend([0, 1 << 31, 1 << 31].repeat(nodes));
        words.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
    };
    for (classifiers, nodes) in [(1, 1000), (100, 80)] {
        assert!(RuleSet::from_section(&section(classifiers, nodes), 0).is_ok(), "{classifiers} of {nodes}");
    }
    let error = RuleSet::from_section(&section(2, 1000), 0).unwrap_err().to_string();
    assert!(error.contains("share"), "{error}");
}

#[test]
fn verifying_tells_a_forged_table() {
    for text in policies() {
        let (_, _, bytes) = compiled(&text);
        artifact::verify(&bytes).unwrap();
        // The last byte of the rule set, wherever it loads.
        let file = File::open(&bytes).unwrap();
        let rules = file.sections(Section::Rules).next().unwrap();
        let end = rules.as_ptr() as usize - bytes.as_ptr() as usize + rules.len();
        let mut loaded = 0;
        for at in end - 64..end {
            let mut forged = bytes.clone();
            forged[at] ^= 1;
            fingerprint(&mut forged);
            sign(&mut forged);
            if artifact::read(&forged).is_ok() {
                loaded += 1;
                assert!(matches!(artifact::verify(&forged), Err(artifact::VerifyError::Differs)));
            }
        }
        assert!(loaded > 0);
    }
}

/// Files with a good checksum that no compiler wrote: they are refused, or they do no harm.
#[test]
fn forged_artifacts_are_harmless() {
    let mut random = Random::new(22);
    for text in policies() {
        let (_, _, bytes) = compiled(&text);
        let section = File::open(&bytes).unwrap().sections(Section::Rules).next().unwrap();
        let start = section.as_ptr() as usize - bytes.as_ptr() as usize;
        let mut loaded = 0;
        for round in 0..4000 {
            let mut forged = bytes.clone();
            for _ in 0..1 + random.below(3) {
                // Mostly in the records, where every word is an offset, a length or a kind.
                let at = match round % 4 {
                    0 => random.below(bytes.len() - 8),
                    1 => random.below(200.min(bytes.len() - 8)),
                    _ => start + random.below(section.len().min(8000)),
                };
                match random.below(3) {
                    0 => forged[at] ^= 1 << random.below(8),
                    1 => forged[at] = [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
                    _ => forged[at..at + 4]
                        .copy_from_slice(&(random.bits() as u32 >> random.below(32)).to_le_bytes()),
                }
            }
            fingerprint(&mut forged);
            sign(&mut forged);
            if let Ok(rules) = RuleSet::from_bytes(&forged) {
                loaded += 1;
                use_all(&rules, &mut random);
            }
            if round % 8 == 0 {
                let _ = artifact::read(&forged);
            }
        }
        assert!(loaded > 100, "only {loaded} forged files load: nothing is tested");
    }
}

#[test]
fn snapshots_are_refused_when_damaged_or_of_other_rules() {
    let mut random = Random::new(23);
    let all: Vec<Vec<u8>> = policies().iter().map(|text| compiled(text).2).collect();
    for (i, bytes) in all.iter().enumerate() {
        let rules = RuleSet::from_bytes(bytes).unwrap();
        let buffer = || vec![0; rules.state_len()];
        let mut state = MonitorState::new(&rules, buffer()).unwrap();
        for _ in 0..9 {
            let letter = [1 << random.below(12)];
            rules.step(&mut state, Letter(&letter), |_| {});
        }
        let mut saved = vec![0; rules.snapshot_len()];
        rules.save(&state, &mut saved).unwrap();
        assert_eq!(rules.restore(&saved, buffer()).unwrap(), state);
        assert!(rules.save(&state, &mut saved.clone()[1..]).is_err());
        assert!(rules.restore(&saved, vec![0; rules.state_len() - 1]).is_err());
        for len in 0..saved.len() {
            assert!(rules.restore(&saved[..len], buffer()).is_err());
        }
        for at in 0..saved.len() {
            for bit in 0..8 {
                let mut flipped = saved.clone();
                flipped[at] ^= 1 << bit;
                assert!(rules.restore(&flipped, buffer()).is_err());
                sign(&mut flipped);
                if let Ok(mut state) = rules.restore(&flipped, buffer()) {
                    rules.step(&mut state, Letter(&[5]), |_| {});
                    assert!((0..rules.len()).all(|rule| rules.verdict(&state, rule).at_end().is_final()));
                }
            }
        }
        let other = RuleSet::from_bytes(&all[(i + 1) % all.len()]).unwrap();
        let error = other.restore(&saved, vec![0; other.state_len()]).unwrap_err().to_string();
        assert!(error.contains("other rules"), "{error}");
    }
}

#[test]
fn stepping_allocates_nothing() {
    let mut random = Random::new(24);
    for text in policies() {
        let (_, _, bytes) = compiled(&text);
        let rules = RuleSet::from_bytes(&bytes).unwrap();
        let mut state = MonitorState::new(&rules, vec![0; rules.state_len()]).unwrap();
        let letters: Vec<[u64; 1]> = (0..200).map(|_| [1 << random.below(12)]).collect();
        let mut snapshot = vec![0; rules.snapshot_len()];
        let mut changes = 0;
        let counted = allocation_counter::measure(|| {
            let again = RuleSet::from_bytes(&bytes).unwrap();
            for letter in &letters {
                again.peek(&state, Letter(letter), |_| {});
                again.step(&mut state, Letter(letter), |_| changes += 1);
                let _ = (again.verdict(&state, 0), again.distance(&state, 0));
                again.save(&state, &mut snapshot).unwrap();
            }
        });
        assert!(changes > 0);
        assert_eq!(counted.count_total, 0);
    }
}
