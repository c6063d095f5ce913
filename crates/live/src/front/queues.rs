//! Queues of virtual disks, as clients: what a port tells of them.

use super::Front;
use crate::door::take_place;
use crate::virtio::{GuestQueue, QueueLine, QueueOrder};
use crate::world::Hands;

impl Front {
    /// Does what a port says of a queue; of one that is gone, nothing.
    pub(super) fn follow_port(&mut self, order: QueueOrder, hands: &mut Hands) {
        match order {
            QueueOrder::Start(queue, asker) => {
                let _ = asker.send(self.admit_queue(*queue));
            }
            QueueOrder::Call(number, call) => {
                if let Some((_, line)) = self.find_queue(number) {
                    line.set_call(call);
                }
            }
            QueueOrder::Memory(number, memory, asker) => {
                if let Some((_, line)) = self.find_queue(number) {
                    line.set_memory(memory);
                }
                let _ = asker.send(());
            }
            QueueOrder::Stop(number, asker) => {
                let Some((client, line)) = self.find_queue(number) else { return };
                line.tell_end(asker);
                self.dismiss(client);
            }
            QueueOrder::Lose(number, asker) => {
                let client = self.find_queue(number).map(|(client, _)| client);
                client.into_iter().for_each(|client| self.lose(client, hands));
                let _ = asker.send(());
            }
        }
    }

    fn admit_queue(&mut self, queue: GuestQueue) -> Result<(), &'static str> {
        if self.stop.has_begun() {
            return Err("the service ends");
        }
        if !take_place(&self.inside, self.plan.connections) {
            return Err("there are as many clients as `connections` in [serve] allows; each queue is one");
        }
        let (volume, identity) = (queue.volume(), queue.identity());
        self.admit(Box::new(QueueLine::new(queue)), volume, identity);
        Ok(())
    }

    /// The client that is the queue of this number, if it is still there.
    fn find_queue(&mut self, number: u64) -> Option<(u32, &mut QueueLine)> {
        let lines = self.clients.iter_mut().zip(0..);
        let mut queues = lines.filter_map(|(client, place)| Some((place, client.as_mut()?.line.queue()?)));
        queues.find(|(_, line)| line.number() == number)
    }
}
