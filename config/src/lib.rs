//! apogee-config
