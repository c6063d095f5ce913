//! The control socket: how a service is asked, and told, about its volumes while it runs. One line of JSON each way.

use crate::array::ArrayOrder;
use crate::desk::Desk;
use crate::front::{EngineMessage, FaultSetting, Setting};
use crate::metrics::{list_json, metrics_json};
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

/// Bytes of a question at most.
const LONGEST: u64 = 64 << 10;
/// How long anybody may take to say a line.
const PATIENCE: Duration = Duration::from_secs(10);

/// Answers on a socket until the process ends.
///
/// # Errors
/// When there is no thread to be had.
pub fn attend(listener: UnixListener, desk: impl Into<Desk>) -> io::Result<()> {
    let desk = desk.into();
    let come = move || listener.accept().map(|(asker, _)| asker);
    // Who does not listen to the answer has none.
    crate::askers::attend("control", come, move |asker| drop(answer(&asker, &desk)))
}

fn answer(mut asker: &UnixStream, desk: &Desk) -> io::Result<()> {
    asker.set_read_timeout(Some(PATIENCE))?;
    asker.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(asker.take(LONGEST)).read_line(&mut line)?;
    let answer = match serde_json::from_str(&line) {
        Ok(question) => reply(&question, desk),
        Err(_) => Err("this is no line of JSON".into()),
    };
    let answer = answer.unwrap_or_else(|error| json!({ "error": error }));
    writeln!(asker, "{answer}")
}

fn reply(question: &Value, desk: &Desk) -> Result<Value, String> {
    let gone = || "the service is stopping".to_owned();
    match question["verb"].as_str() {
        Some("list") => list_json(&desk.count(PATIENCE)).ok_or_else(gone),
        Some("metrics") => metrics_json(&desk.count(PATIENCE)).ok_or_else(gone),
        Some("set") => {
            let setting = Setting::parse(question)?;
            let caller = desk.of_volume(&setting.volume)?;
            caller.ask(|sender| EngineMessage::Set(setting, sender), PATIENCE).ok_or_else(gone)??;
            Ok(json!({}))
        }
        Some("fault") => {
            let setting = FaultSetting::parse(question)?;
            let caller = question["volume"].as_str().map_or(Ok(desk.first()), |volume| desk.of_volume(volume))?;
            caller.ask(|sender| EngineMessage::Fault(setting, sender), PATIENCE).ok_or_else(gone)??;
            Ok(json!({}))
        }
        Some("array") => {
            let order = ArrayOrder::parse(question)?;
            desk.first().ask(|sender| EngineMessage::Array(order, sender), PATIENCE).ok_or_else(gone)?
        }
        Some("resume") => {
            let volume = question["volume"].as_str().ok_or("`volume` is missing")?.to_owned();
            let caller = desk.of_volume(&volume)?;
            caller.ask(|sender| EngineMessage::Resume(volume, sender), PATIENCE).ok_or_else(gone)??;
            Ok(json!({}))
        }
        _ => Err("`verb` is none of \"list\", \"metrics\", \"set\", \"fault\", \"resume\" and \"array\"".into()),
    }
}

/// Asks the service behind a control socket.
///
/// # Errors
/// What is wrong, for the user.
pub fn ask(socket: &Path, question: &Value) -> Result<Value, String> {
    let told = |error: io::Error| format!("does not answer: {error}");
    let mut service = UnixStream::connect(socket).map_err(told)?;
    service.set_read_timeout(Some(2 * PATIENCE)).map_err(told)?;
    writeln!(service, "{question}").map_err(told)?;
    let mut line = String::new();
    BufReader::new(service).read_line(&mut line).map_err(told)?;
    let answer: Value = serde_json::from_str(&line).map_err(|_| "does not answer as a service does".to_owned())?;
    match answer["error"].as_str() {
        Some(error) => Err(error.to_owned()),
        None => Ok(answer),
    }
}
