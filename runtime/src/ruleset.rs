//! Compiled rules, stepped together.

use crate::{
    Change, Letter, LoadError, MonitorState, Symbol, Tell, Verdict,
    batch::Table,
    classes::Classifier,
    group::{Group, Note, Place},
    layout::{BLOCK, CLASSIFIER, GROUP, HEAD, NEVER, READY, RULE},
    monitor::{Input, Noted},
    wire::{Budget, Bytes, File, Section, xxh64},
};

/// Words of a bit set of the rules of one block.
const WORDS: usize = BLOCK / 64;

/// The rules of one policy, compiled: borrowed bytes, checked once, shared by any number of sessions and threads.
///
/// Stepping never allocates, fails or panics.
///
/// ```no_run
/// # fn bytes() -> Vec<u8> { Vec::new() }
/// use tracelaw_runtime::{Letter, MonitorState, RuleSet};
///
/// let artifact = bytes(); // what `tracelaw compile POLICY -o FILE.tlaw` wrote
/// let rules = RuleSet::from_bytes(&artifact)?;
/// let mut session = MonitorState::new(&rules, [0; 32])?;
/// rules.step(&mut session, Letter(&[0b01]), |change| {
///     if change.breach {
///         println!("rule {} is broken", change.rule);
///     }
/// });
/// # Ok::<(), tracelaw_runtime::LoadError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct RuleSet<'a> {
    section: Bytes<'a>,
    fingerprint: u64,
    prop_len: u32,
    rule_len: u32,
    classifier_len: u32,
    group_len: u32,
    state_len: usize,
    groups: [Group<'a>; READY],
    classifiers: [Classifier<'a>; READY],
}

/// What a set knows of one rule.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rule {
    group: u32,
    slot: u32,
    pub(crate) state_len: u32,
    bounds: [u32; 3],
    distances: u32,
}

impl Rule {
    /// The verdict of a state of the rule's own automaton.
    #[inline]
    pub(crate) fn verdict(&self, state: u32) -> Verdict {
        let [pending, holding, satisfied] = self.bounds;
        if state < pending || state >= self.state_len {
            Verdict::Violated
        } else if state < holding {
            Verdict::Pending
        } else if state < satisfied {
            Verdict::Holding
        } else {
            Verdict::Satisfied
        }
    }
}

impl<'a> RuleSet<'a> {
    /// Takes the rules of an artifact (a `.tlaw` file, memory-mapped or read).
    ///
    /// # Complexity
    /// O(bytes). Never panics, does not allocate.
    ///
    /// # Errors
    /// When this is no artifact of this version, when it is damaged, or when its rules make several sets (some of them
    /// count other steps, or have one monitor per key): take those by [`RuleSet::part_of`].
    pub fn from_bytes(bytes: &'a [u8]) -> Result<RuleSet<'a>, LoadError> {
        let file = File::open(bytes)?;
        if file.sections(Section::Rules).nth(1).is_some() {
            return Err(LoadError { what: "its rules make several sets; take each as a part", at: 0 });
        }
        RuleSet::part_of(&file, 0)
    }

    /// Takes one of the rule sets of an artifact, counted from 0.
    ///
    /// # Complexity
    /// O(bytes). Never panics, does not allocate.
    ///
    /// # Errors
    /// When there is none, or when it is damaged.
    pub fn part_of(file: &File<'a>, part: usize) -> Result<RuleSet<'a>, LoadError> {
        let bytes = file
            .sections(Section::Rules)
            .nth(part)
            .ok_or(LoadError { what: "no such rule set", at: part })?;
        // A snapshot of one part is none of another.
        RuleSet::from_section(bytes, xxh64(&(part as u64).to_le_bytes(), file.fingerprint()))
    }

    /// Takes the bytes of one rule set, as `plan` of the compiler writes it.
    ///
    /// # Errors
    /// When any table is missing or refers to nothing.
    pub fn from_section(bytes: &'a [u8], fingerprint: u64) -> Result<RuleSet<'a>, LoadError> {
        let section = Bytes(bytes);
        let bad = |what, at| LoadError { what, at };
        let word = |i: usize| section.u32(i * 4).ok_or(bad("it ends too early", bytes.len()));
        let mut rules = RuleSet {
            section,
            fingerprint,
            prop_len: word(0)?,
            rule_len: word(1)?,
            classifier_len: word(2)?,
            group_len: word(3)?,
            state_len: word(4)? as usize,
            groups: [Group::none(); READY],
            classifiers: [Classifier::none(); READY],
        };
        let records = [(rules.rule_len, RULE), (rules.classifier_len, CLASSIFIER), (rules.group_len, GROUP)];
        let len = records.iter().fold(HEAD as u64, |sum, (n, words)| sum + u64::from(*n) * *words as u64);
        if len * 4 > bytes.len() as u64 {
            return Err(bad("there are fewer records than it says", 4));
        }
        let mut budget = Budget::new(section);
        for i in 0..rules.classifier_len {
            let at = rules.classifier_at(i);
            let classifier = Classifier::read(section, at).ok_or(bad("a classifier is not there", at))?;
            classifier.check(rules.prop_len, &mut budget).map_err(|what| bad(what, at))?;
            if let Some(ready) = rules.classifiers.get_mut(i as usize) {
                *ready = classifier;
            }
        }
        // Groups stand block by block, each after the one before in the state.
        let (mut end, mut block, mut members) = (0, 0, 0u64);
        for i in 0..rules.group_len {
            let at = rules.group_at(i);
            let group = rules.read_group(i).ok_or(bad("a group's table is not there", at))?;
            let class_len = rules.classifier(group.classifier).class_len;
            group.check(class_len, &rules, &mut budget).map_err(|what| bad(what, at))?;
            let (place, len) = group.place();
            let this = group.rule(0) as usize / BLOCK;
            if place != end || this < block {
                return Err(bad("a group's state is out of place", at));
            }
            (end, block) = (place + len, this);
            for slot in 0..group.slot_len() {
                let rule = rules.rule(group.rule(slot));
                if (rule.group, rule.slot as usize) != (i, slot) {
                    return Err(bad("a rule is not where it says", at));
                }
            }
            members += group.slot_len() as u64;
            if let Some(ready) = rules.groups.get_mut(i as usize) {
                *ready = group;
            }
        }
        // Each rule names one group and slot and each slot's rule agrees: as many slots as rules is all of them once.
        if end != rules.state_len || members != u64::from(rules.rule_len) {
            return Err(bad("not every rule has its place", 4));
        }
        for rule in 0..rules.rule_len {
            let r = rules.rule(rule);
            let at = (HEAD + rule as usize * RULE) * 4;
            let bounds = [0, r.bounds[0], r.bounds[1], r.bounds[2], r.state_len];
            if !bounds.is_sorted() || r.state_len == 0 {
                return Err(bad("verdict ranges out of order", at));
            }
            if (r.state_len as usize)
                .checked_mul(4)
                .and_then(|len| section.part(r.distances as usize, len))
                .is_none()
            {
                return Err(bad("a rule's distances are not there", at));
            }
        }
        Ok(rules)
    }

    fn classifier_at(&self, i: u32) -> usize {
        (HEAD + self.rule_len as usize * RULE + i as usize * CLASSIFIER) * 4
    }

    fn group_at(&self, i: u32) -> usize {
        self.classifier_at(self.classifier_len) + i as usize * GROUP * 4
    }

    fn read_group(&self, i: u32) -> Option<Group<'a>> {
        let at = self.group_at(i);
        let classifier = self.section.u32(at + 4).filter(|&c| c < self.classifier_len)?;
        Group::read(self.section, at, self.classifier(classifier).class_len)
    }

    #[inline]
    fn with_group<T>(&self, i: u32, work: impl FnOnce(&Group<'a>) -> T) -> T {
        match self.groups.get(i as usize) {
            Some(group) => work(group),
            None => work(&self.read_group(i).unwrap_or(Group::none())),
        }
    }

    #[inline]
    fn classifier(&self, i: u32) -> Classifier<'a> {
        match self.classifiers.get(i as usize) {
            Some(classifier) => *classifier,
            None => Classifier::read(self.section, self.classifier_at(i)).unwrap_or(Classifier::none()),
        }
    }

    /// What is known of a rule; of one that does not exist, that it has no state.
    #[inline]
    pub(crate) fn rule(&self, rule: u32) -> Rule {
        let read = || {
            if rule >= self.rule_len {
                return None;
            }
            let record = self.section.part((HEAD + rule as usize * RULE) * 4, RULE * 4)?;
            let [group, slot, state_len, pending, holding, satisfied, distances, _] =
                record.as_chunks::<4>().0.first_chunk::<RULE>()?.map(u32::from_le_bytes);
            Some(Rule { group, slot, state_len, bounds: [pending, holding, satisfied], distances })
        };
        read().unwrap_or_default()
    }

    /// Number of rules.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.rule_len
    }

    /// Whether there are no rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rule_len == 0
    }

    /// Number of propositions that letters are over.
    #[must_use]
    pub fn prop_len(&self) -> u32 {
        self.prop_len
    }

    /// Bytes of a [`MonitorState`].
    #[must_use]
    pub fn state_len(&self) -> usize {
        self.state_len
    }

    /// The hash of the artifact's rules, by which a snapshot tells that it belongs to them.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Sets every rule back to before any event.
    pub fn reset<B: AsMut<[u8]>>(&self, state: &mut MonitorState<B>) {
        for i in 0..self.group_len {
            self.with_group(i, |group| group.reset(state.0.as_mut()));
        }
    }

    /// Reads one event; `each` is told what changed, in the order of the rules.
    ///
    /// # Complexity
    /// One classification per classifier and a look-up per group, most sets having one of each; O(1) per change.
    #[inline]
    pub fn step<B: AsMut<[u8]>>(
        &self,
        state: &mut MonitorState<B>,
        letter: Letter<'_>,
        mut each: impl FnMut(Change),
    ) {
        self.advance::<false>(&mut state.0.as_mut(), letter, &mut each);
    }

    /// What [`RuleSet::step`] would change, without doing so.
    ///
    /// # Complexity
    /// That of a step.
    #[inline]
    pub fn peek<B: AsRef<[u8]>>(
        &self,
        state: &MonitorState<B>,
        letter: Letter<'_>,
        mut each: impl FnMut(Change),
    ) {
        self.advance::<false>(&mut state.0.as_ref(), letter, &mut each);
    }

    /// [`RuleSet::step`] for a letter whose symbol is known. Symbols of another set step to states without meaning.
    ///
    /// # Complexity
    /// A look-up per group.
    #[inline]
    pub fn step_symbol<B: AsMut<[u8]>>(
        &self,
        state: &mut MonitorState<B>,
        symbol: Symbol,
        mut each: impl FnMut(Change),
    ) {
        self.advance::<false>(&mut state.0.as_mut(), symbol, &mut each);
    }

    /// Reads many events of one session in turn; `each` is told the index of the event and what it changed, in the
    /// order of the events and then of the rules.
    ///
    /// # Complexity
    /// A look-up per event and group. Where the set is one table, or one word of lanes, its state stays in registers.
    #[inline]
    pub fn run<B: AsMut<[u8]>>(
        &self,
        state: &mut MonitorState<B>,
        symbols: &[Symbol],
        tell: Tell,
        mut each: impl FnMut(usize, Change),
    ) {
        let state = state.0.as_mut();
        match tell {
            Tell::Changes => self.run_telling::<false>(state, symbols, &mut each),
            Tell::Breaches => self.run_telling::<true>(state, symbols, &mut each),
        }
    }

    #[inline]
    fn run_telling<const BREACHES: bool>(
        &self,
        mut state: &mut [u8],
        symbols: &[Symbol],
        each: &mut impl FnMut(usize, Change),
    ) {
        let mut note = AtEvent::<_, BREACHES> { event: 0, each };
        if self.group_len == 1 && self.groups[0].run(state, symbols, &mut note) {
            return;
        }
        let mut noted = InBlock::<WORDS, BREACHES>(Noted::new());
        for (event, &symbol) in symbols.iter().enumerate() {
            let each = &mut |change| (note.each)(event, change);
            if self.group_len == 1 {
                self.advance::<BREACHES>(&mut state, symbol, each);
            } else {
                self.advance_groups(&mut state, symbol, &mut noted, each);
            }
        }
    }

    #[inline]
    fn advance<const BREACHES: bool>(
        &self,
        state: &mut impl Place,
        input: impl Input,
        each: &mut impl FnMut(Change),
    ) {
        if self.group_len == 1 {
            // The slots of one group are in the order of the rules.
            let group = &self.groups[0];
            let class = input.class(|letter| self.classifier(group.classifier).class(letter));
            group.step(self, state, class, input, &mut Direct::<_, BREACHES>(each));
            return;
        }
        if self.rule_len <= 64 {
            self.advance_groups(state, input, &mut InBlock::<1, BREACHES>(Noted::new()), each);
        } else {
            self.advance_groups(state, input, &mut InBlock::<WORDS, BREACHES>(Noted::new()), each);
        }
    }

    #[inline]
    fn advance_groups<const WORDS: usize, const BREACHES: bool>(
        &self,
        state: &mut impl Place,
        input: impl Input,
        noted: &mut InBlock<WORDS, BREACHES>,
        each: &mut impl FnMut(Change),
    ) {
        let (mut known, mut block) = (None, 0);
        for i in 0..self.group_len {
            let ready = self.groups.get(i as usize);
            let (classifier, first) = match ready {
                Some(group) => (group.classifier, group.rule(0)),
                None => Group::head(self.section, self.group_at(i)),
            };
            let class = match known {
                Some((same, class)) if same == classifier => class,
                _ => input.class(|letter| self.classifier(classifier).class(letter)),
            };
            known = Some((classifier, class));
            let this = first / BLOCK as u32 * BLOCK as u32;
            if this != block {
                noted.0.tell(block, each);
                block = this;
            }
            if ready.is_none()
                && Group::step_quietly(self.section, self.group_at(i), state, class, noted).is_some()
            {
                continue;
            }
            self.with_group(i, |group| group.step(self, state, class, input, noted));
        }
        noted.0.tell(block, each);
    }

    /// The verdict of a rule.
    ///
    /// # Complexity
    /// O(1).
    pub fn verdict<B: AsRef<[u8]>>(&self, state: &MonitorState<B>, rule: u32) -> Verdict {
        self.rule(rule).verdict(self.rule_state(state, rule))
    }

    /// The state of a rule's own minimal automaton, whatever group the rule is stepped in.
    ///
    /// # Complexity
    /// O(1).
    pub fn rule_state<B: AsRef<[u8]>>(&self, state: &MonitorState<B>, rule: u32) -> u32 {
        let Rule { group, slot, .. } = self.rule(rule);
        self.with_group(group, |group| group.part(state.0.as_ref(), slot as usize))
    }

    /// The least number of events after which a rule is fulfilled (`holding` or `satisfied`) without having been
    /// broken on the way; `None` if there is no such continuation.
    ///
    /// # Complexity
    /// O(1).
    pub fn distance<B: AsRef<[u8]>>(&self, state: &MonitorState<B>, rule: u32) -> Option<u32> {
        if rule >= self.rule_len {
            return None;
        }
        let own = self.rule_state(state, rule);
        let distances = self.rule(rule).distances as usize;
        self.section.u32(distances + own as usize * 4).filter(|&d| d != NEVER)
    }

    /// Number of symbols, if the set has them: all rules tell letters apart by one classifier.
    #[must_use]
    pub fn symbol_len(&self) -> Option<u32> {
        let symbols =
            self.classifier_len == 1 && (0..self.group_len).all(|i| self.with_group(i, Group::takes_symbols));
        symbols.then(|| self.classifiers[0].class_len)
    }

    /// The symbol of a letter, if the set has symbols.
    ///
    /// # Complexity
    /// That of one classification.
    #[must_use]
    pub fn symbol(&self, letter: Letter<'_>) -> Option<Symbol> {
        self.symbol_len()?;
        u16::try_from(self.classifiers[0].class(letter)).ok().map(Symbol)
    }

    /// Sets bit `s` of `allowed` for every symbol `s` that breaks no rule now, and clears the others. Returns whether
    /// the set has symbols; without them nothing is written, and [`RuleSet::allows`] answers letter by letter.
    ///
    /// # Complexity
    /// O(groups * symbols / 64) for tables, O(symbols) per 64 lanes.
    pub fn allowed<B: AsRef<[u8]>>(&self, state: &MonitorState<B>, allowed: &mut [u64]) -> bool {
        let Some(symbols) = self.symbol_len() else { return false };
        for (i, word) in allowed.iter_mut().enumerate() {
            *word = match (symbols as usize).saturating_sub(i * 64) {
                left @ 0..64 => (1 << left) - 1,
                _ => u64::MAX,
            };
        }
        for i in 0..self.group_len {
            self.with_group(i, |group| group.restrict(state.0.as_ref(), symbols, allowed));
        }
        true
    }

    /// States and the binary logarithm of the columns of the set's table, if it is one table that [`RuleSet::table`] can
    /// write: at most 256 states and symbols.
    #[must_use]
    pub fn table_shape(&self) -> Option<(usize, u32)> {
        let shape = if self.group_len == 1 { self.groups[0].table_shape() } else { None };
        shape.filter(|&(states, shift)| states <= 256 && shift <= 8)
    }

    /// The set as a table for batches, written into two buffers of `states << shift` bytes; and its initial state. An edge is
    /// marked where it breaks a rule. Symbols are as [`RuleSet::symbol`] gives them.
    ///
    /// # Complexity
    /// O(entries).
    ///
    /// # Errors
    /// When the set has no such table, or when a buffer has another length.
    pub fn table<'t>(&self, next: &'t mut [u8], marks: &'t mut [u8]) -> Result<(Table<'t>, u8), LoadError> {
        let (states, shift) = self
            .table_shape()
            .ok_or(LoadError { what: "the rules are not one table of 256 states", at: 0 })?;
        let wrong = LoadError { what: "a buffer has not one byte for every entry", at: states << shift };
        let initial = self.groups[0].dense(next, marks).ok_or(wrong)?;
        Ok((Table::new(next, shift, states)?.with_marks(marks)?, initial))
    }

    /// Whether `letter` breaks no rule now.
    ///
    /// # Complexity
    /// That of a step.
    pub fn allows<B: AsRef<[u8]>>(&self, state: &MonitorState<B>, letter: Letter<'_>) -> bool {
        let mut allows = true;
        self.peek(state, letter, |change| allows &= !change.breach);
        allows
    }

    /// Whether `state` is one that the rules can be in, as far as a look at each part tells.
    pub(crate) fn accepts_state(&self, state: &[u8]) -> bool {
        state.len() == self.state_len
            && (0..self.group_len).all(|i| self.with_group(i, |group| group.accepts_state(state, self)))
    }
}

/// Tells a change at once.
struct Direct<F, const BREACHES: bool>(F);

impl<F: FnMut(Change), const BREACHES: bool> Note for Direct<F, BREACHES> {
    const BREACHES: bool = BREACHES;
    #[inline]
    fn note(&mut self, change: Change) {
        if change.breach || !BREACHES {
            (self.0)(change);
        }
    }
}

/// Tells a change at once, with its event.
struct AtEvent<F, const BREACHES: bool> {
    event: usize,
    each: F,
}

impl<F: FnMut(usize, Change), const BREACHES: bool> Note for AtEvent<F, BREACHES> {
    const BREACHES: bool = BREACHES;
    #[inline]
    fn at(&mut self, event: usize) {
        self.event = event;
    }
    #[inline]
    fn note(&mut self, change: Change) {
        if change.breach || !BREACHES {
            (self.each)(self.event, change);
        }
    }
}

/// Keeps changes until all groups of their block have been stepped.
struct InBlock<const WORDS: usize, const BREACHES: bool>(Noted<WORDS>);

impl<const WORDS: usize, const BREACHES: bool> Note for InBlock<WORDS, BREACHES> {
    const BREACHES: bool = BREACHES;
    #[inline]
    fn note(&mut self, change: Change) {
        if change.breach || !BREACHES {
            self.0.note(change);
        }
    }
}
