//! apogee-broker
