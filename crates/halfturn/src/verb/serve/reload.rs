//! SIGHUP: the service file is read again, and what can be otherwise while it serves, is.

use block::{At, BadInput};
use live::{Caller, Certificates, Desk, EngineMessage, Reloaded, Setting};
use load::experiment::{self, Experiment, ServicePlan, Volume};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// How long the engine may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a running service was made of, and may be made of anew.
pub struct Reloader {
    /// The service file, where there is one, and what was set over it.
    pub file: Option<PathBuf>,
    pub sets: Vec<String>,
    /// As it is served now.
    pub served: ServicePlan,
    pub certificates: Certificates,
}

impl Reloader {
    /// Reads the file again, and certificates; what has changed, and what cannot, a line each.
    pub fn reload(&mut self, desk: &Desk) -> Vec<String> {
        let Some(file) = &self.file else { return vec!["there is no service file to read again".into()] };
        let name = file.display().to_string();
        let unread = |error| BadInput::new(&name, At::File, format!("cannot be read: {error}"), "mend it, and reload");
        let read = fs::read_to_string(file).map_err(unread);
        let wanted = read.and_then(|text| experiment::parse_devices(&name, &text, &self.sets));
        let mut told = match wanted {
            Ok(wanted) => self.follow(&name, &wanted, desk),
            Err(error) => vec![format!("{error}\nnothing is changed")],
        };
        match self.certificates.reload() {
            Ok(Reloaded::Alike) => {}
            Ok(Reloaded::Changed) => {
                told.push("certificates were read again, for those who connect from now on".into())
            }
            Err(error) => told.push(format!("{error}\ncertificates are as before")),
        }
        told.extend(self.certificates.find_refusal().map(|refusal| refusal.to_string()));
        if told.is_empty() {
            told.push(format!("{name}: nothing has changed"));
        }
        told
    }

    /// Serves as a file wants it, as far as that is possible.
    fn follow(&mut self, name: &str, wanted: &ServicePlan, desk: &Desk) -> Vec<String> {
        let mut told: Vec<String> = list_fixed_devices(&self.served, wanted)
            .into_iter()
            .map(|what| format!("{name}: {what}: restart the service"))
            .collect();
        for served in &mut self.served.devices {
            let Some(wanted) = wanted.devices.iter().find(|wanted| wanted.device == served.device) else { continue };
            told.extend(follow_volumes(served, name, wanted, desk));
        }
        told
    }
}

/// Serves the volumes of a device as a file wants them, as far as that is possible; what has changed, a line each.
fn follow_volumes(served: &mut Experiment, name: &str, wanted: &Experiment, desk: &Desk) -> Vec<String> {
    let mut told = Vec::new();
    for volume in &mut served.volumes {
        let Some(new) = wanted.volumes.iter().find(|new| new.name == volume.name) else { continue };
        let Some(setting) = setting(volume, new) else { continue };
        let ask = |caller: &Caller<EngineMessage>| caller.ask(|sender| EngineMessage::Set(setting, sender), PATIENCE);
        let answer = desk.of_volume(&new.name).map(ask);
        match answer.and_then(|answer| answer.unwrap_or_else(|| Err("the service does not answer".into()))) {
            Ok(()) => {
                let deadline = new.deadline.map_or("none".into(), |span| format!("{} ms", span.as_ms()));
                let Volume { class, priority, .. } = new;
                told.push(format!("volume '{}': class {class}, priority {priority}, deadline {deadline}", new.name));
                (volume.class, volume.priority, volume.deadline) = (class.clone(), *priority, new.deadline);
            }
            Err(what) => told.push(format!("{name}: volume '{}': {what}", new.name)),
        }
    }
    told
}

/// The same of all devices, and which of them there are.
fn list_fixed_devices(old: &ServicePlan, new: &ServicePlan) -> Vec<String> {
    let shown = |experiment: &Experiment| match &experiment.device {
        Some(name) => format!("device '{name}'"),
        None => "[drive]".into(),
    };
    let mut fixed = Vec::new();
    for old in &old.devices {
        match new.devices.iter().find(|new| new.device == old.device) {
            None => fixed.push(format!("{} is served still", shown(old))),
            Some(new) => fixed.extend(list_fixed(old, new)),
        }
    }
    let is_new = |new: &&Experiment| old.devices.iter().all(|old| old.device != new.device);
    fixed.extend(new.devices.iter().filter(is_new).map(|new| format!("{} is not served yet", shown(new))));
    fixed.sort();
    fixed.dedup();
    let (old, new) = (old.volume_names(), new.volume_names());
    let common = |of: &[&str], other: &[&str]| -> Vec<String> {
        of.iter().filter(|name| other.contains(name)).map(|name| (*name).into()).collect()
    };
    if common(&old, &new) != common(&new, &old) {
        fixed.push("volumes are offered in the order of before, the first to clients who name none".into());
    }
    fixed
}

/// What of a volume is to be otherwise, if anything is.
fn setting(old: &Volume, new: &Volume) -> Option<Setting> {
    let alike = (&old.class, old.priority, old.deadline) == (&new.class, new.priority, new.deadline);
    let class = (old.class != new.class).then(|| new.class.clone());
    let (priority, deadline) = (Some(new.priority), Some(new.deadline));
    (!alike).then(|| Setting { volume: new.name.clone(), class, priority, deadline, ..Setting::default() })
}

/// What differs that a running service cannot follow.
fn list_fixed(old: &Experiment, new: &Experiment) -> Vec<String> {
    let drive = old.device.as_ref().map_or("[drive]".into(), |name| format!("device '{name}'"));
    let tables = [
        (old.drive != new.drive, drive.as_str()),
        (old.array != new.array, "[array]"),
        (old.scheduler != new.scheduler, "[scheduler]"),
        (old.serve != new.serve, "[serve]"),
        (old.faults != new.faults, "[[fault]]"),
        (old.clients != new.clients, "[[client]]"),
    ];
    let tables = tables.into_iter().filter(|(differs, _)| *differs);
    let mut fixed: Vec<String> = tables.map(|(_, table)| format!("{table} is not changed while it serves")).collect();
    for volume in &old.volumes {
        let place = |it: &Volume| (it.from, it.blocks, it.read_only, it.vhost_user.clone(), it.ublk);
        match new.volumes.iter().find(|new| new.name == volume.name) {
            None => fixed.push(format!("volume '{}' is served still", volume.name)),
            Some(new) if place(new) != place(volume) => {
                fixed.push(format!("volume '{}' lies, and is written, as before", volume.name));
            }
            Some(new) if new.clients != volume.clients => {
                fixed.push(format!("volume '{}' is for the same `clients` as before", volume.name));
            }
            Some(new) if new.any_order != volume.any_order => {
                fixed.push(format!("volume '{}' is read in the same `order` as before", volume.name));
            }
            Some(_) => {}
        }
    }
    let is_new = |volume: &&Volume| old.volumes.iter().all(|old| old.name != volume.name);
    fixed.extend(new.volumes.iter().filter(is_new).map(|volume| format!("volume '{}' is not served yet", volume.name)));
    fixed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(text: &str) -> Experiment {
        experiment::parse_service("a.toml", text, &[]).expect("a service file")
    }

    #[test]
    fn an_array_is_not_made_otherwise_while_it_serves() {
        const BEFORE: &str = "
            disk = [{ path = \"a.img\" }, { path = \"b.img\" }]
            scheduler = { policy = \"fcfs\" }
            array = { level = \"1\" }
            volume = [{ name = \"a\" }]";
        let (before, after) = (service(BEFORE), service(&BEFORE.replace("\"1\"", "\"1\", degraded = true")));
        assert_eq!(list_fixed(&before, &before), [""; 0]);
        assert_eq!(list_fixed(&before, &after), ["[array] is not changed while it serves"]);
    }

    #[test]
    fn another_order_of_volumes_is_said() {
        let plan = |names: [&str; 3]| {
            let volumes = names.map(|name| format!("[[volume]]\nname = \"{name}\"\nof = \"all\"\n")).concat();
            let text = format!("drive = {{ path = \"ram:1MiB\" }}\n[[volume]]\nname = \"all\"\n{volumes}");
            ServicePlan::of_one(service(&text))
        };
        let before = plan(["a", "b", "c"]);
        assert_eq!(list_fixed_devices(&before, &plan(["a", "b", "c"])), [""; 0]);
        let told = ["volumes are offered in the order of before, the first to clients who name none"];
        assert_eq!(list_fixed_devices(&before, &plan(["b", "a", "c"])), told);
        let told = ["volume 'b' is served still", "volume 'd' is not served yet"];
        assert_eq!(list_fixed_devices(&before, &plan(["d", "a", "c"])), told);
    }

    #[test]
    fn what_cannot_be_otherwise_is_said() {
        const BEFORE: &str = "
            drive = { path = \"ram:1MiB\" }
            scheduler = { policy = \"fcfs\" }
            volume = [{ name = \"a\", size = \"512KiB\" }, { name = \"b\" }]";
        let after = BEFORE.replace("fcfs", "sstf").replace("512KiB", "256KiB").replace("\"b\"", "\"c\", priority = 3");
        let (before, after) = (service(BEFORE), service(&after));
        assert_eq!(list_fixed(&before, &before), [""; 0]);
        assert_eq!(
            list_fixed(&before, &after),
            [
                "[scheduler] is not changed while it serves",
                "volume 'a' lies, and is written, as before",
                "volume 'b' is served still",
                "volume 'c' is not served yet"
            ]
        );
        assert_eq!(setting(&before.volumes[0], &after.volumes[0]), None);
        let mut after = before.clone();
        after.volumes[0].clients = vec!["somebody".into()];
        after.volumes[1].any_order = true;
        let told =
            ["volume 'a' is for the same `clients` as before", "volume 'b' is read in the same `order` as before"];
        assert_eq!(list_fixed(&before, &after), told);
        let changed = Volume { priority: 7, ..before.volumes[1].clone() };
        let told = setting(&before.volumes[1], &changed).expect("it differs");
        assert_eq!((told.class, told.priority, told.deadline), (None, Some(7), Some(None)));
    }
}
