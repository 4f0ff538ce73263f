//! The formats by name.

use std::fmt;
use std::str::FromStr;

/// A format of agent logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// One event per line, in tracelaw's own plain form.
    Jsonl,
    /// OpenAI chat messages and Responses items.
    OpenAi,
    /// Anthropic messages.
    Anthropic,
    /// Claude Code session files.
    ClaudeCode,
    /// OpenTelemetry spans (OTLP/JSON, Tempo and Jaeger exports).
    Otlp,
    /// MCP JSON-RPC messages.
    Mcp,
    /// Inspect evaluation logs.
    Inspect,
    /// XES process logs.
    Xes,
    /// Comma-separated process logs.
    Csv,
}

impl Format {
    /// Every format, in the order of the documentation.
    pub const ALL: [Format; 9] = [
        Format::Jsonl,
        Format::OpenAi,
        Format::Anthropic,
        Format::ClaudeCode,
        Format::Otlp,
        Format::Mcp,
        Format::Inspect,
        Format::Xes,
        Format::Csv,
    ];

    /// The name that `--format` takes.
    pub fn name(self) -> &'static str {
        match self {
            Format::Jsonl => "jsonl",
            Format::OpenAi => "openai",
            Format::Anthropic => "anthropic",
            Format::ClaudeCode => "claude-code",
            Format::Otlp => "otlp",
            Format::Mcp => "mcp",
            Format::Inspect => "inspect",
            Format::Xes => "xes",
            Format::Csv => "csv",
        }
    }

    pub(super) fn names() -> String {
        Format::ALL.map(Format::name).join(", ")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no format's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat(String);

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown log format `{}`, expected one of {}", self.0, Format::names())
    }
}

impl std::error::Error for UnknownFormat {}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        Format::ALL.into_iter().find(|f| f.name() == name).ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}
