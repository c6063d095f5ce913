//! What other threads tell the engine, and what it does then.

use super::client::{Client, ClientLine};
use super::line::SocketLine;
use super::{FaultSetting, Front, ServedVolume, Setting, VolumeReport};
use crate::array::ArrayOrder;
use crate::identity::Identity;
use crate::metrics::ServiceMetrics;
use crate::ublk::BlockQueue;
#[cfg(feature = "vhost-user")]
use crate::virtio::QueueOrder;
use crate::world::Hands;
use nbd::Session;
use sched::Input;
use serde_json::Value;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

/// What other threads tell the engine.
pub enum EngineMessage {
    /// A client has chosen its export; bytes of its first requests may have come. Who it is.
    Client(OwnedFd, Session, Vec<u8>, Identity),
    /// What a port says of a queue of a virtual disk.
    #[cfg(feature = "vhost-user")]
    Queue(QueueOrder),
    /// A queue of a block device is to be served; the answer says why it is not.
    BlockDevice(Box<BlockQueue>, Sender<Result<(), &'static str>>),
    /// Someone asks how the volumes fare.
    Volumes(Sender<Vec<VolumeReport>>),
    /// Someone asks for what was counted.
    Metrics(Sender<ServiceMetrics>),
    /// A volume is to be served otherwise; the answer says what was wrong.
    Set(Setting, Sender<Result<(), String>>),
    /// Something is wrong with a volume from now on, or nothing more; the answer says what was wrong with that.
    Fault(FaultSetting, Sender<Result<(), String>>),
    /// The array is told something; the answer is what it is then, or what was wrong.
    Array(ArrayOrder, Sender<Result<Value, String>>),
    /// A volume of which a flush has failed is to go on; the answer says what was wrong.
    Resume(String, Sender<Result<(), String>>),
    /// No more requests are taken; what was asked is done, and the device flushed.
    Stop,
}

impl Front {
    /// Handles the messages that other threads left for the engine.
    pub(super) fn read_mail(&mut self, hands: &mut Hands) {
        while let Ok(message) = self.mailbox.mail.try_recv() {
            match message {
                EngineMessage::Client(socket, session, early, identity) => {
                    self.welcome((socket, session), &early, identity, hands);
                }
                #[cfg(feature = "vhost-user")]
                EngineMessage::Queue(order) => self.follow_port(order, hands),
                EngineMessage::BlockDevice(queue, asker) => {
                    let _ = asker.send(self.admit_block_queue(*queue));
                }
                EngineMessage::Volumes(asker) => {
                    let _ = asker.send(self.reports());
                }
                EngineMessage::Metrics(asker) => {
                    let (volumes, pulse, array) = (self.reports(), self.pulse.get(), hands.unit.array_json());
                    let _ = asker.send(ServiceMetrics { volumes, pulse, late: self.late, array });
                }
                EngineMessage::Set(setting, asker) => {
                    let answer = self.set(&setting);
                    let _ = asker.send(answer.map(|told| self.ready.extend(told)));
                }
                EngineMessage::Fault(setting, asker) => {
                    let answer = self.faults.set(&setting, &mut self.volumes, hands);
                    let _ = asker.send(answer);
                }
                EngineMessage::Array(order, asker) => {
                    let _ = asker.send(self.tell_array(&order, hands));
                }
                EngineMessage::Resume(volume, asker) => {
                    let volume = ServedVolume::find_volume(&mut self.volumes, &volume);
                    let _ = asker.send(volume.map(|volume| volume.flush_failed = false));
                }
                EngineMessage::Stop => {
                    self.stop.begin(hands.kernel.now());
                    (0..self.clients.len() as u32).for_each(|number| self.dismiss(number));
                }
            }
        }
    }

    /// Serves a volume, or some of its clients, otherwise from now on; what the core is to be told.
    fn set(&mut self, setting: &Setting) -> Result<Option<Input>, String> {
        let Some(who) = &setting.who else { return setting.apply(&mut self.volumes) };
        let (volume, served) = setting.serve_as(&mut self.volumes)?;
        self.rules.set(volume, who.clone(), served)?;
        for client in self.clients.iter_mut().flatten() {
            client.served = self.rules.find(&client.identity, client.volume);
        }
        Ok(None)
    }

    fn welcome(&mut self, (socket, session): (OwnedFd, Session), early: &[u8], identity: Identity, hands: &mut Hands) {
        if self.stop.has_begun() || early.len() > SocketLine::EARLY {
            self.inside.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let volume = session.export;
        let line = SocketLine::new(socket, session, early, Rc::clone(&self.unsent), hands.pool);
        self.admit(Box::new(line), volume, identity);
    }

    /// A client more, over such a line; its number.
    pub(super) fn admit(&mut self, line: Box<dyn ClientLine>, volume: usize, identity: Identity) -> u32 {
        let served = self.rules.find(&identity, volume);
        let client = Client::new(line, volume, (identity, served));
        self.volumes[volume].clients += 1;
        let number = self.clients.iter().position(Option::is_none).unwrap_or(self.clients.len());
        match self.clients.get_mut(number) {
            Some(place) => *place = Some(client),
            None => self.clients.push(Some(client)),
        }
        self.touched.push(number as u32);
        number as u32
    }
}
