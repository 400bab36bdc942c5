//! apogee-bench
