//! A service as its clients see it, and an emulated drive as its clock sees it.

mod arrays;
#[cfg(feature = "vhost-user")]
mod beside;
mod clients;
mod devices;
mod emulated;
mod far;
mod faults;
mod identity;
#[cfg(feature = "vhost-user")]
mod machine;
mod metrics;
mod rebuilds;
mod service;
#[cfg(feature = "vhost-user")]
mod virtual_disks;
