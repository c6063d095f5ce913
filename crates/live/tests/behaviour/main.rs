//! A service as its clients see it, and an emulated drive as its clock sees it.

mod arrays;
mod clients;
mod emulated;
mod far;
mod metrics;
mod rebuilds;
mod service;
