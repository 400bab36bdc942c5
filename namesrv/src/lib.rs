//! apogee-namesrv
