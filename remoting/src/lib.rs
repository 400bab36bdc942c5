//! apogee-remoting
