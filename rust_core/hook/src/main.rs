//! `carrel-hook AGENT`: a hook's JSON in on standard input, the agent's answer out, `{}` for nothing.
//!
//! Whatever happens the exit code is 0 and the output one JSON value: other codes stop a prompt in some agents. Text comes on
//! standard input alone, so that none can be taken for an option. Nothing is logged: the environment holds tokens of agents.

mod meeting_place;
mod server;

use std::io::{Read, Write};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use meeting_place::Connected;

/// By when the hook ends, whoever it waits for: agents wait with the prompt.
const LIMIT: Duration = Duration::from_secs(4);
/// How long a server that was just started is waited for.
const START: Duration = Duration::from_millis(1_500);
const PAUSE: Duration = Duration::from_millis(5);
const LONGEST: u64 = 4 * 1024 * 1024;
const NOTHING: &str = "{}";

/// The agents, and whether each shows its person a line.
const AGENTS: [(&str, bool); 6] =
    [("claude-code", true), ("codex", true), ("copilot", false), ("gemini", false), ("opencode", false), ("qwen", false)];

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let (send, answers) = mpsc::channel();
    // A thread, since neither standard input nor a pipe of Windows can be waited for with a limit.
    std::thread::spawn(move || {
        let answer = std::env::args().nth(1).and_then(|agent| answer(&agent));
        let _ = send.send(answer);
    });
    let answer = answers.recv_timeout(LIMIT).ok().flatten().unwrap_or_else(|| NOTHING.to_owned());
    let mut output = std::io::stdout().lock();
    let _ = output.write_all(answer.as_bytes()).and_then(|()| output.write_all(b"\n")).and_then(|()| output.flush());
    std::process::exit(0);
}

/// What the server says to what stands on standard input; `None` for nothing.
fn answer(agent: &str) -> Option<String> {
    let (agent, shows_line) = AGENTS.into_iter().find(|(name, _)| *name == agent)?;
    let mut asked = Vec::new();
    std::io::stdin().lock().take(LONGEST + 1).read_to_end(&mut asked).ok()?;
    if asked.is_empty() || asked.len() as u64 > LONGEST {
        return None;
    }
    let folder = meeting_place::runtime_folder()?;
    let mut end = None;
    loop {
        match meeting_place::connect(&folder) {
            Connected::To(mut stream) => match exchange(&mut stream, agent, &asked) {
                Some(Reply::Answer(text)) => return Some(text),
                Some(Reply::OtherVersion) => {}
                None => return None,
            },
            Connected::ToNobody => {}
            Connected::NotAllowed => return None,
        }
        // Nobody is there, or somebody of another version, who leaves now.
        let end = match end {
            Some(end) => end,
            None => *end.insert(server::start(&folder)?.then(|| Instant::now() + START)?),
        };
        if Instant::now() >= end {
            return shows_line.then(|| r#"{"systemMessage": "Carrel: starting, context from the next prompt on"}"#.to_owned());
        }
        std::thread::sleep(PAUSE);
    }
}

enum Reply {
    Answer(String),
    OtherVersion,
}

/// Sends a request and reads what comes back; `None` where the server fell silent, or said something else.
fn exchange(stream: &mut (impl Read + Write), agent: &str, asked: &[u8]) -> Option<Reply> {
    let mut request = format!("carrel-hook/1 {} {agent} {}\n", env!("CARGO_PKG_VERSION"), asked.len()).into_bytes();
    request.extend_from_slice(asked);
    stream.write_all(&request).and_then(|()| stream.flush()).ok()?;
    let mut head = Vec::new();
    while head.last() != Some(&b'\n') {
        let mut byte = [0];
        if head.len() > 40 || stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = std::str::from_utf8(&head).ok()?.trim_end();
    if head == "other" {
        return Some(Reply::OtherVersion);
    }
    let length: u64 = head.strip_prefix("ok ")?.parse().ok().filter(|length| *length <= LONGEST)?;
    let mut text = String::new();
    stream.take(length).read_to_string(&mut text).ok()?;
    (text.len() as u64 == length && text.starts_with('{') && text.ends_with('}')).then_some(Reply::Answer(text))
}
