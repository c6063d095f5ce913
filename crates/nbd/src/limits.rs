//! How much a peer may ask for: every bound of this crate.

/// Bytes of a request's header, and of an extended one.
pub const REQUEST_BYTES: usize = 28;
/// The same, with a length of 64 bits.
pub const EXTENDED_REQUEST_BYTES: usize = 32;

/// The longest payload of a block status: that it is of so many bytes, and of 64 contexts.
pub const MAX_QUERY_BYTES: u64 = 8 + 64 * 4;

/// The longest string of the protocol: a name, a description, a message. In bytes.
pub const MAX_STRING: usize = 4096;

/// The longest data of an option that is read: the most that one handshake keeps.
pub const MAX_OPTION_BYTES: u32 = 16 << 10;

/// The longest data of an option that is passed over and answered as too big; with more the connection is closed.
pub const MAX_SKIPPED_BYTES: u32 = 1 << 20;

/// Options of one handshake. Listing tools ask twice about every export.
pub const MAX_OPTIONS: u32 = 1 << 14;

/// The longest payload of a refused write that is passed over, where the export takes no longer ones: what no server
/// should take for an attack is less than 2^25 bytes.
pub const MAX_DRAINED_BYTES: u32 = 1 << 27;

/// Extents in one block status.
pub const MAX_EXTENTS: usize = 1 << 10;

/// Exports that a client takes from a list.
pub const MAX_LISTED: usize = 1 << 14;
