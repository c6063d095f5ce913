//! Which files an experiment reads: none of them may be written over.

use super::{Before, Believed, DriveChoice, Experiment, Held, Live};
use std::path::PathBuf;

impl Experiment {
    /// The files and devices it names: what it reads of drives and traces, and what is served. Of names that may be of the
    /// catalogue, only those of files that are there.
    #[must_use]
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self.disks().flat_map(DriveChoice::files).collect();
        if let Believed::Drive(name) = &self.scheduler.profile {
            files.extend(existing(name));
        }
        if let Before::Table(path) = &self.scheduler.mimic.before {
            files.push(path.clone());
        }
        files.extend(self.array.iter().filter_map(|array| array.log.clone()));
        files.extend(self.workloads.iter().flat_map(|workload| workload.kind.files()));
        files
    }

    /// The drive, or of an array of unlike disks each of them.
    pub fn disks(&self) -> impl Iterator<Item = &DriveChoice> {
        let members = self.array.as_ref().map_or(&[][..], |array| &array.members);
        let alike = members.is_empty().then_some(&self.drive);
        alike.into_iter().chain(members)
    }
}

impl DriveChoice {
    fn files(&self) -> Vec<PathBuf> {
        let served = match &self.live {
            Some(Live::File(path) | Live::Emulated(Held::Sparse(path))) => Some(path.clone()),
            Some(Live::Ram(_) | Live::Emulated(Held::Memory(_) | Held::Pattern)) | None => None,
        };
        served.into_iter().chain(existing(&self.model)).collect()
    }
}

fn existing(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(name);
    (!name.is_empty() && path.exists()).then_some(path)
}
