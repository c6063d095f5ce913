//! Chromium without a window, over a pipe: the DevTools protocol, a JSON object a message, each ended by a zero byte.

use crate::server::Folder;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Seconds a browser may run.
const MOST_SECONDS: u32 = 300;

/// Names that it goes by.
const NAMES: [&str; 4] = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/// Waits until figures are drawn: they are once the page has been laid out and knows how wide they are.
const DRAWN: &str = "(async () => { for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame); })()";

/// The one that is installed, if any.
pub fn find_browser() -> Option<&'static str> {
    NAMES.into_iter().find(|name| crate::tool::find(name).is_some())
}

/// A browser that runs, with a folder of its own.
pub struct Browser {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    sent: u64,
    _folder: Folder,
}

/// A page that is shown, and what the browser told of it.
pub struct Tab<'a> {
    browser: &'a mut Browser,
    target: String,
    session: String,
    events: Vec<Value>,
}

/// How a page is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    pub width: u32,
    pub colours: &'static str,
}

impl Browser {
    /// Starts this one. It reads commands from its file 3 and writes answers to its file 4.
    pub fn start(name: &str) -> Browser {
        let folder = Folder::new();
        let pipes = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut command = Command::new("timeout");
        command.args(["--signal=KILL", &MOST_SECONDS.to_string(), "sh", "-c", pipes, name]);
        command.args(["--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu"]);
        command.args(["--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--mute-audio"]);
        command.arg(format!("--user-data-dir={}", folder.0.join("browser").display()));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("timeout and sh");
        let commands = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        Browser { child, commands, answers, sent: 0, _folder: folder }
    }

    /// Opens a tab with nothing in it on such a screen.
    pub fn tab(&mut self, screen: Screen) -> Tab<'_> {
        let mut none = Vec::new();
        let made = self.call("", "Target.createTarget", json!({"url": "about:blank"}), &mut none);
        let target = text(&made["targetId"]);
        let joined = self.call("", "Target.attachToTarget", json!({"targetId": target, "flatten": true}), &mut none);
        let session = text(&joined["sessionId"]);
        let mut tab = Tab { browser: self, target, session, events: Vec::new() };
        for domain in ["Runtime", "Log", "Network", "Page"] {
            tab.call(&format!("{domain}.enable"), json!({}));
        }
        tab.call("Performance.enable", json!({"timeDomain": "threadTicks"}));
        let Screen { width, colours } = screen;
        let metrics = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 640});
        tab.call("Emulation.setDeviceMetricsOverride", metrics);
        let features = json!([{"name": "prefers-color-scheme", "value": colours}]);
        tab.call("Emulation.setEmulatedMedia", json!({"features": features}));
        tab
    }

    /// Has something done and gives the answer; what is told meanwhile goes to the events.
    fn call(&mut self, session: &str, method: &str, params: Value, events: &mut Vec<Value>) -> Value {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": params});
        if !session.is_empty() {
            message["sessionId"] = session.into();
        }
        self.commands.write_all(format!("{message}\0").as_bytes()).expect("the browser reads");
        loop {
            let mut answer = self.read();
            if answer["id"] == self.sent {
                assert!(answer.get("error").is_none(), "{method}: {}", answer["error"]);
                return answer["result"].take();
            }
            events.push(answer);
        }
    }

    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.answers.read_until(0, &mut bytes).expect("the browser writes");
        assert_eq!(bytes.pop(), Some(0), "the browser ended, or took over {MOST_SECONDS} s");
        serde_json::from_slice(&bytes).expect("JSON")
    }
}

impl Drop for Browser {
    /// Asks it to end, and waits until it has: its folder is removed after.
    fn drop(&mut self) {
        let _ = self.commands.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let _ = self.answers.read_to_end(&mut Vec::new());
        let _ = self.child.wait();
    }
}

impl Tab<'_> {
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.browser.call(&self.session, method, params, &mut self.events)
    }

    /// Shows a page, and waits until it has loaded and its figures are drawn.
    pub fn open(&mut self, url: &str) {
        self.events.clear();
        let went = self.call("Page.navigate", json!({"url": url}));
        assert!(went.get("errorText").is_none(), "{url}: {}", went["errorText"]);
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.browser.read();
            self.events.push(event);
        }
        self.evaluate(DRAWN);
    }

    /// What an expression comes to in the page, once its promise is kept.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let mut answer = self.call("Runtime.evaluate", params);
        assert!(answer.get("exceptionDetails").is_none(), "{}", answer["exceptionDetails"]);
        answer["result"]["value"].take()
    }

    /// Milliseconds of a processor that the page has taken.
    pub fn busy_ms(&mut self) -> f64 {
        let all = self.call("Performance.getMetrics", json!({}));
        let metrics = all["metrics"].as_array().expect("metrics").iter();
        let mut busy = metrics.filter(|metric| metric["name"] == "TaskDuration").map(|it| it["value"].as_f64());
        1e3 * busy.next().flatten().expect("how long its tasks took")
    }

    /// What the page complained of, and what it asked the network for.
    pub fn complaints(&self) -> Vec<String> {
        let told = |event: &Value| {
            let params = &event["params"];
            match event["method"].as_str()? {
                "Runtime.exceptionThrown" => Some(params["exceptionDetails"].to_string()),
                "Runtime.consoleAPICalled" => Some(format!("{}: {}", params["type"], params["args"])),
                "Log.entryAdded" => Some(params["entry"].to_string()),
                "Network.requestWillBeSent" => {
                    let url = text(&params["request"]["url"]);
                    let own = ["file:", "data:", "about:"].iter().any(|scheme| url.starts_with(scheme));
                    (!own).then(|| format!("asked for {url}"))
                }
                _ => None,
            }
        };
        self.events.iter().filter_map(told).collect()
    }

    /// What is seen, as PNG.
    pub fn picture(&mut self) -> Vec<u8> {
        let shot = self.call("Page.captureScreenshot", json!({"format": "png", "captureBeyondViewport": true}));
        bytes_of_letters(&text(&shot["data"]))
    }

    pub fn close(self) {
        let target = json!({"targetId": self.target});
        self.browser.call("", "Target.closeTarget", target, &mut Vec::new());
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

/// The bytes that letters of base 64 stand for, six bits a letter.
fn bytes_of_letters(text: &str) -> Vec<u8> {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0_u32, 0);
    for value in text.chars().filter_map(|letter| LETTERS.find(letter)) {
        (held, bits) = (held << 6 | value as u32, bits + 6);
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    bytes
}
