//! Without the feature `vhost-user`: whoever wants a disk for a virtual machine is told how to get it.

use crate::engine::EngineFace;
use block::{At, BadInput};
use load::experiment::ServicePlan;
use std::io;
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;

/// There is none without the feature.
pub(crate) enum NoPort {}

impl NoPort {
    /// # Errors
    /// Never: nobody has one.
    pub(crate) fn open(self, _: OwnedFd) -> io::Result<JoinHandle<()>> {
        match self {}
    }
}

/// Where volumes are disks of virtual machines: nowhere.
///
/// # Errors
/// When one is to be.
pub(crate) fn ports(plan: &ServicePlan, _: &[EngineFace]) -> Result<Vec<NoPort>, BadInput> {
    let mut volumes = plan.devices.iter().flat_map(|device| &device.volumes);
    match volumes.find(|volume| volume.vhost_user.is_some()) {
        None => Ok(Vec::new()),
        Some(volume) => {
            let what = format!("volume '{}' is to be a virtual disk, and this halfturn has none", volume.name);
            let mend = "take `vhost_user` out, or build it with `--features vhost-user`, as packages have it";
            Err(BadInput::new(plan.whole().title.clone(), At::File, what, mend))
        }
    }
}
