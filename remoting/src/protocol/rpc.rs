//! Fields that a proxy or another broker adds to a request of any code.

use crate::header;

header! {
    /// Read beside the request's own header where a server cares for them, such as for static topics:
    /// `command.header::<RpcRequestHeader>()`.
    pub struct RpcRequestHeader<'a> {
        /// Whether queue numbers are logical ones (static topics); absent means yes.
        pub lo: Option<bool> = "lo",
        /// Name space.
        pub ns: Option<&'a str> = "ns",
        /// Whether names carry their name space already.
        pub nsd: Option<bool> = "nsd",
        /// Broker name that the request is for.
        pub bname: Option<&'a str> = "bname",
        /// Whether no answer is expected.
        pub oway: Option<bool> = "oway",
    }
}
