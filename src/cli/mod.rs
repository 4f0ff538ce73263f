//! Arguments in, exit code out; one file per subcommand.
//!
//! Exit codes are the same for all subcommands: 0 all is well, 1 a rule was broken (`check`), 2 the command, the policy or
//! the input was at fault.

mod bench;
mod check;
mod compile;
mod eval;
mod explain;
mod input;

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

const AFTER: &str = "\
Exit status:
  0  all is well
  1  a rule was broken (check)
  2  the command line, the policy or the input was at fault";

/// Rules over time about what AI agents do: compiled to minimal automata, checked on logs.
#[derive(Parser)]
#[command(name = "tracelaw", version, after_help = AFTER, subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Check(check::Args),
    Eval(eval::Args),
    Compile(compile::Args),
    Explain(explain::Args),
    Bench(bench::Args),
}

/// How a command ended that could do its work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// All is well.
    Well,
    /// A rule was broken.
    Broken,
    /// Something was wrong with the input; it has been said on standard error.
    BadInput,
}

/// Why a command could not do its work.
enum Failure {
    /// What to tell the user, after `error: `.
    Message(String),
    /// It has been said on standard error.
    Told,
    /// Standard output could not be written.
    Output(io::Error),
}

impl Failure {
    fn new(message: impl fmt::Display) -> Failure {
        Failure::Message(message.to_string())
    }
}

/// For `?` on writes to standard output: all other errors of the system are told with the file's name.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

/// Runs the command that the arguments ask for.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    // Formulas may be nested deeply, and the stacks of worker threads are small unless asked for. A pool that was built
    // already would only mean smaller stacks.
    let _ = rayon::ThreadPoolBuilder::new().stack_size(16 << 20).build_global();
    let ended = match cli.command {
        Command::Check(args) => check::run(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Compile(args) => compile::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Bench(args) => bench::run(&args),
    };
    let failure = match ended {
        Ok(Ended::Well) => return ExitCode::SUCCESS,
        Ok(Ended::Broken) => return ExitCode::from(1),
        Ok(Ended::BadInput) => return ExitCode::from(2),
        Err(failure) => failure,
    };
    match failure {
        Failure::Message(message) => say_error(&message),
        Failure::Told => {}
        // Whoever read our output has seen enough, as `head` does.
        Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
        Failure::Output(error) => say_error(&format!("cannot write to standard output: {error}")),
    }
    ExitCode::from(2)
}

/// Standard output for people: colours only where a terminal shows them.
fn human_output() -> BufWriter<impl Write> {
    BufWriter::new(anstream::stdout().lock())
}

/// Standard output for programs: the bytes as they are.
fn plain_output() -> BufWriter<impl Write> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// One line on standard error. A closed standard error is no reason to stop.
fn say(line: &str) {
    let _ = writeln!(anstream::stderr(), "{line}");
}

fn say_error(message: &str) {
    let style = anstyle::AnsiColor::Red.on_default().bold();
    say(&format!("{style}error{style:#}: {message}"));
}

fn say_warning(message: &str) {
    let style = anstyle::AnsiColor::Yellow.on_default().bold();
    say(&format!("{style}warning{style:#}: {message}"));
}
