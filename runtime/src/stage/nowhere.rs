//! A place without ports, for a stage that is built outside of a plan: to be asked about its configuration, or
//! to be tried alone. It gives the same hash key every time, so that what is tried can be tried again.

use super::capture::NoCapture;
use super::{BuildContext, CaptureSink};
use crate::Error;
use crate::offload::PortCaps;
use crate::port::{RxQueue, TxQueue};
use std::sync::Arc;

/// No port, no exit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nowhere;

fn no_port(port: &str) -> Error {
    Error::user(format!("port {port}"), "there is none outside of a plan")
}

impl BuildContext for Nowhere {
    fn open_rx(&mut self, port: &str) -> Result<Box<dyn RxQueue>, Error> {
        Err(no_port(port))
    }

    fn open_tx(&mut self, port: &str) -> Result<Box<dyn TxQueue>, Error> {
        Err(no_port(port))
    }

    fn open_capture(&mut self, _: &str) -> Result<Box<dyn CaptureSink>, Error> {
        Ok(Box::new(NoCapture))
    }

    fn port_caps(&self, _: &str) -> Option<Arc<PortCaps>> {
        None
    }

    fn exit_caps(&self) -> Option<Arc<PortCaps>> {
        None
    }

    fn port_number(&self, _: &str) -> u16 {
        0
    }

    fn hash_key(&self) -> u64 {
        0x5eed
    }
}
