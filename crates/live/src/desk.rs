//! Where a service is asked and told something from outside: each of its devices has an engine, and each volume is one's.

use crate::bell::Caller;
use crate::front::EngineMessage;
use crate::metrics::{DeviceMetrics, ServiceMetrics};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// The engine of one device, as others reach it.
pub struct DeviceCaller {
    /// The device's name, where the service has several.
    pub device: Option<String>,
    /// Leaves messages for its engine.
    pub caller: Caller<EngineMessage>,
    /// The names of its volumes.
    pub volumes: Vec<String>,
}

/// All engines of a service, as others reach them.
#[derive(Clone)]
pub struct Desk(Arc<[DeviceCaller]>);

impl From<Caller<EngineMessage>> for Desk {
    /// Of a service of one device.
    fn from(caller: Caller<EngineMessage>) -> Desk {
        Desk(Arc::new([DeviceCaller { device: None, caller, volumes: Vec::new() }]))
    }
}

impl Desk {
    /// Of these engines, at least one.
    #[must_use]
    pub(crate) fn new(devices: Vec<DeviceCaller>) -> Desk {
        Desk(devices.into())
    }

    /// Has all devices take no more requests, and end what they have.
    pub fn stop(&self) {
        for device in &*self.0 {
            device.caller.tell(EngineMessage::Stop);
        }
    }

    /// The engine of the first device: of an array, which is alone, its own.
    #[must_use]
    pub fn first(&self) -> &Caller<EngineMessage> {
        &self.0[0].caller
    }

    /// The engine that has a volume.
    ///
    /// # Errors
    /// When none has: which there are. The engine of a lone device says so itself.
    pub fn of_volume(&self, name: &str) -> Result<&Caller<EngineMessage>, String> {
        if let [only] = &*self.0 {
            return Ok(&only.caller);
        }
        let has = |device: &&DeviceCaller| device.volumes.iter().any(|volume| volume == name);
        self.0.iter().find(has).map(|device| &device.caller).ok_or_else(|| {
            let names = self.0.iter().flat_map(|device| &device.volumes).map(|volume| format!("'{volume}'"));
            format!("there is no volume '{name}'; name one of {}", names.collect::<Vec<_>>().join(", "))
        })
    }

    /// What each device has counted, as far as it answers within so long. A device that does not keeps nobody from the others' answers.
    #[must_use]
    pub fn count(&self, patience: Duration) -> Vec<DeviceMetrics> {
        let until = Instant::now() + patience;
        let asked: Vec<Receiver<ServiceMetrics>> =
            self.0.iter().map(|device| device.caller.put(EngineMessage::Metrics)).collect();
        let answer = |(device, answer): (&DeviceCaller, Receiver<ServiceMetrics>)| {
            let counted = answer.recv_timeout(until.saturating_duration_since(Instant::now())).ok();
            DeviceMetrics { device: device.device.clone(), counted }
        };
        self.0.iter().zip(asked).map(answer).collect()
    }
}
