//! apogee-store
