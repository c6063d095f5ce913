//! What a client is told of a request that has ended.

use super::client::{Client, PendingReply, ReplyHeader};
use super::work::InFlightRequest;
use nbd::Errno;
use nbd::reply::Chunk;

/// The answer to a request that was not done.
pub(super) fn error_reply(client: &Client, request: &nbd::ClientRequest, errno: i32) -> PendingReply {
    let mut bytes = Vec::new();
    let what = std::io::Error::from_raw_os_error(errno).to_string();
    client.session.error((request.cookie, request.offset), Errno::of_os(errno), &what, &mut bytes);
    PendingReply { head: ReplyHeader::Long(bytes), data: None }
}

/// The answer to a read that was done, or the end of it.
pub(super) fn last(client: &Client, work: &InFlightRequest) -> PendingReply {
    let data = work.data.as_ref().map(|data| data.after(work.told));
    let (offset, bytes) = (work.request.offset + work.told as u64, data.as_ref().map_or(0, |data| data.bytes));
    let part = client.session.part(&work.request, offset, bytes as u32, Chunk::Last);
    PendingReply { head: ReplyHeader::Short(part.unwrap_or_else(|| client.session.data(&work.request))), data }
}

/// A request without content in its answer was done.
pub(super) fn acknowledge(client: &mut Client, request: &nbd::ClientRequest) {
    let head = ReplyHeader::Short(client.session.success(request));
    client.answer(PendingReply { head, data: None });
}
