//! `[[device]]`: several devices in one service, each with volumes of its own.
//!
//! A file of several is read as one file for each, which has that device alone, the volumes and faults on it, and what it says to all.

use super::volume::{DEVICE, NAME as VOLUME_NAME, OF, volume};
use super::{DriveChoice, Experiment, client, drive, expand, fault};
use block::{At, BadInput};
use config::{Document, NamedBy, Section, Table};
use std::path::Path;

config::keys! {
    /// A device of a service of several, in place of `[drive]`: each table has the keys of `[drive]` and these. Each device has a
    /// scheduler of its own, as `[scheduler]` says, and `device` of a `[[volume]]` says on which it lies.
    pub(super) fn own() -> "[[device]]";

    /// Its name, different for each.
    NAME: String = text("name").required();
    /// What its scheduler believes of it, in place of `profile` in `[scheduler]`.
    PROFILE: String = text("profile").naming(NamedBy::FileOrKnown).else_told("what `[scheduler]` says");
}

/// The keys of a device: its own, and those of `[drive]`.
pub(super) fn device() -> Table {
    let mut table = own();
    table.keys.extend(drive::drive().keys);
    table
}

/// What a service file asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct ServicePlan {
    /// Of each device what is asked of it: its volumes, and what holds for all.
    pub devices: Vec<Experiment>,
    /// The volumes in the order of the file: the device of each, and its place among those.
    pub order: Vec<(usize, usize)>,
}

impl ServicePlan {
    /// A service of one device.
    #[must_use]
    pub fn of_one(experiment: Experiment) -> ServicePlan {
        let order = (0..experiment.volumes.len()).map(|volume| (0, volume)).collect();
        ServicePlan { devices: vec![experiment], order }
    }

    /// What it says of itself as a whole: that is the same with each device.
    #[must_use]
    pub fn whole(&self) -> &Experiment {
        &self.devices[0]
    }

    /// The names of its volumes, in the order of the file.
    #[must_use]
    pub fn volume_names(&self) -> Vec<&str> {
        self.order.iter().map(|(device, volume)| self.devices[*device].volumes[*volume].name.as_str()).collect()
    }
}

/// The only device that stands here, and its name.
pub(super) fn read(root: &Section, folder: &Path) -> Result<Option<(DriveChoice, String)>, BadInput> {
    let devices = root.sections(own().name())?;
    let [device, others @ ..] = devices.as_slice() else { return Ok(None) };
    if root.has(drive::drive().name()) || root.has(drive::disk().name()) {
        return Err(device.here("[[device]] beside [drive] or [[disk]]", "keep one of them"));
    }
    if !others.is_empty() {
        return Err(device.here("several devices beside one another are served only", ONLY_SERVED));
    }
    // What its scheduler believes is read there.
    device.has(PROFILE.name());
    let name = device.value(&NAME)?;
    Ok(Some((drive::read_one(device, folder)?, name)))
}

const ONLY_SERVED: &str = "give each a file of its own, with its keys in [drive]; or serve them: halfturn serve FILE";

/// Several devices are served, and nothing else.
pub(super) fn refuse(experiment: &Experiment) -> Result<(), BadInput> {
    match &experiment.device {
        None => Ok(()),
        Some(name) => {
            let what = format!("[[device]], such as '{name}': devices beside one another are served only");
            Err(BadInput::new(experiment.file.clone(), At::File, what, ONLY_SERVED))
        }
    }
}

/// A volume of a file, before it is read with its device.
struct Owned {
    name: String,
    class: String,
    /// The place of its device.
    device: usize,
}

/// The devices of a service file, each as if it had a file of its own.
pub(super) fn read_each(document: &Document, path: &Path) -> Result<ServicePlan, BadInput> {
    let root = document.root();
    let names = read_names(&root)?;
    for (table, what) in [("array", "an array"), ("workload", "a workload")] {
        if root.has(table) {
            let what = format!("{what} beside [[device]], whose volumes are served");
            return Err(root.error(table, what, format!("give it a file of its own, or take [{table}] out")));
        }
    }
    let volumes = read_owned(&root, &names)?;
    let faults = root.sections(fault::fault().name())?;
    let faulty = faults.iter().map(|section| section.get(&fault::VOLUME)).collect::<Result<Vec<_>, _>>()?;
    // Who has a class, and on which device: clients of any volume are on all.
    let mut users: Vec<(String, Option<usize>)> =
        volumes.iter().map(|it| (it.class.clone(), Some(it.device))).collect();
    let rules = root.sections(client::client().name())?;
    let mut asked = Vec::new();
    for rule in &rules {
        let (of, class) = (rule.get(&client::VOLUME)?, rule.get(&client::CLASS)?);
        asked.push(volumes.iter().find(|volume| Some(&volume.name) == of.as_ref()).map(|volume| volume.device));
        users.extend(class.map(|class| (class, asked.last().copied().flatten())));
    }
    let mut devices = Vec::new();
    for (device, mut document) in document.split(own().name()).into_iter().enumerate() {
        document.move_key(own().name(), PROFILE.name(), "scheduler");
        document.keep_tables(volume().name(), |number| volumes[number].device == device);
        let elsewhere = |name: &String| volumes.iter().any(|volume| volume.name == *name && volume.device != device);
        document.keep_tables(fault::fault().name(), |number| !faulty[number].as_ref().is_some_and(elsewhere));
        document.keep_tables(client::client().name(), |number| asked[number].is_none_or(|place| place == device));
        let is_here = |class: &str| users.iter().any(|(its, on)| its == class && on.is_none_or(|on| on == device));
        let others: Vec<&str> = users.iter().map(|(class, _)| class.as_str()).filter(|class| !is_here(class)).collect();
        document.take_out_at(&["scheduler", "class"], &others);
        let mut cases = expand(&document, path, &|_| true)?;
        match (cases.pop(), cases.is_empty()) {
            (Some((_, (case, _))), true) => devices.push(case.experiment),
            _ => return Err(super::varies(&path.display().to_string())),
        }
    }
    let mut next = vec![0; devices.len()];
    let order = volumes.iter().map(|volume| {
        next[volume.device] += 1;
        (volume.device, next[volume.device] - 1)
    });
    Ok(ServicePlan { order: order.collect(), devices })
}

/// The names of the devices, each another.
fn read_names(root: &Section) -> Result<Vec<String>, BadInput> {
    let mut names = Vec::new();
    for device in root.sections(own().name())? {
        let name = device.value(&NAME)?;
        if name.is_empty() || names.contains(&name) {
            let what = if name.is_empty() {
                "it is empty".into()
            } else {
                format!("a device before this one is named '{name}' too")
            };
            return Err(device.error(NAME.name(), what, "give each a name of its own"));
        }
        names.push(name);
    }
    Ok(names)
}

/// The volumes in the order of the file: each on the device that it names, or of the volume that it shows.
fn read_owned(root: &Section, names: &[String]) -> Result<Vec<Owned>, BadInput> {
    let mut volumes: Vec<Owned> = Vec::new();
    let known = || names.join(", ");
    for section in root.sections(volume().name())? {
        let name = section.value(&VOLUME_NAME)?;
        let shown = section.get(&OF)?;
        let device = match section.get(&DEVICE)? {
            Some(device) => names.iter().position(|name| *name == device).ok_or_else(|| {
                let what = format!("there is no device '{device}'");
                section.error(DEVICE.name(), what, format!("name one of the [[device]]: {}", known()))
            })?,
            None => match volumes.iter().find(|other| shown.as_ref() == Some(&other.name)) {
                Some(other) => other.device,
                None if names.len() == 1 => 0,
                None => {
                    let what = format!("it is not said on which device volume '{name}' is");
                    return Err(section.here(what, format!("add `device`: one of {}", known())));
                }
            },
        };
        if volumes.iter().any(|other| other.name == name) {
            let what = format!("a volume before this one is named '{name}' too");
            return Err(section.error(
                VOLUME_NAME.name(),
                what,
                "give each a name of its own; they may share a `class`",
            ));
        }
        let class = super::volume::class(&section, &name)?;
        volumes.push(Owned { name, class, device });
    }
    for (number, name) in names.iter().enumerate() {
        if volumes.iter().all(|volume| volume.device != number) {
            let mend = format!("add a [[volume]] with device = \"{name}\", or take the device out");
            return Err(root.error(own().name(), format!("no volume is on device '{name}'"), mend));
        }
    }
    Ok(volumes)
}

#[cfg(test)]
mod tests {
    use crate::experiment::{Believed, FaultPlace, ServicePlan, parse_devices, parse_service};

    const TWO: &str = "
        [scheduler]
        policy = \"fcfs\"
        [scheduler.class.b]
        retries = 3
        [[device]]
        name = \"one\"
        path = \"emulated:st318437lw\"
        [[device]]
        name = \"two\"
        path = \"disk.img\"
        profile = \"st318437lw\"
        [serve]
        socket = \"s\"
        [[volume]]
        name = \"a\"
        device = \"two\"
        size = \"1GiB\"
        [[volume]]
        name = \"b\"
        device = \"one\"
        size = \"2GiB\"
        [[volume]]
        name = \"c\"
        device = \"two\"
        [[volume]]
        name = \"view\"
        of = \"b\"
        [[fault]]
        volume = \"c\"
        kind = \"stall\"
        at = \"1s\"";

    fn read(text: &str) -> ServicePlan {
        parse_devices("f.toml", text, &[]).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn each_device_has_its_volumes_its_faults_and_what_is_said_to_all() {
        let plan = read(TWO);
        let [one, two] = plan.devices.as_slice() else { panic!("two devices") };
        let names =
            |volumes: &[crate::experiment::Volume]| volumes.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
        assert_eq!((one.device.as_deref(), two.device.as_deref()), (Some("one"), Some("two")));
        assert_eq!(
            (names(&one.volumes), names(&two.volumes)),
            (vec!["b".into(), "view".into()], vec!["a".into(), "c".into()])
        );
        assert_eq!(plan.volume_names(), ["a", "b", "c", "view"]);
        assert_eq!(plan.order, [(1, 0), (0, 0), (1, 1), (0, 1)]);
        assert_eq!((one.volumes[0].from, two.volumes[0].from, two.volumes[1].from), (0, 0, 1 << 21));
        assert_eq!((one.faults.len(), &two.faults[0].place), (0, &FaultPlace::Volume("c".into(), None)));
        assert_eq!((one.serve == two.serve, one.scheduler.rules.classes[0].retries), (true, 3));
        assert!(matches!(one.scheduler.profile, Believed::Sheet) && !matches!(two.scheduler.profile, Believed::Sheet));
    }

    #[test]
    fn a_file_of_one_drive_is_what_it_was() {
        let text = "drive = { path = \"ram:1MiB\" }\nvolume = [{ name = \"a\", size = \"512KiB\" }, { name = \"b\" }]";
        let plan = read(text);
        assert_eq!((plan.devices.len(), plan.whole().device.clone()), (1, None));
        assert_eq!(plan.devices[0], parse_service("f.toml", text, &[]).expect("a service file"));
        assert_eq!(plan.order, [(0, 0), (0, 1)]);
    }

    #[test]
    fn what_is_no_device_or_of_none_is_refused_with_its_line() {
        for (old, new, told) in [
            ("device = \"one\"", "device = \"won\"", "there is no device 'won'"),
            ("        device = \"one\"\n", "", "it is not said on which device volume 'b' is"),
            ("name = \"one\"", "name = \"two\"", "a device before this one is named 'two' too"),
            ("name = \"c\"", "name = \"a\"", "a volume before this one is named 'a' too"),
            ("class.b", "class.d", "unknown key `d`"),
            ("volume = \"c\"", "volume = \"d\"", "there is no volume 'd'"),
            ("path = \"disk.img\"", "path = \"disk.img\"\npathh = 1", "unknown key `pathh`"),
            ("[serve]", "[drive]\nmodel = \"nl20\"\n[serve]", "[[device]] beside [drive]"),
            ("[serve]", "[array]\nlevel = \"0\"\n[serve]", "an array beside [[device]]"),
        ] {
            let text = TWO.replacen(old, new, 1);
            assert_ne!(text, TWO);
            let error = parse_devices("f.toml", &text, &[]).expect_err(old).to_string();
            assert!(error.contains(told) && error.contains("f.toml:") && error.contains("mend: "), "{error}");
        }
        assert!(parse_service("f.toml", TWO, &[]).is_err());
    }
}
