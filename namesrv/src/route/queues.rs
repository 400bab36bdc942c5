//! The queues that one broker set has of a topic.

/// May be read.
pub const PERM_READ: i32 = 4;
/// May be written.
pub const PERM_WRITE: i32 = 2;

/// Bit of `topicSysFlag`: a unit topic.
const FLAG_UNIT: i32 = 1;
/// Bit of `topicSysFlag`: subscribed from other units.
const FLAG_UNIT_SUB: i32 = 2;

/// Numbers and permissions of a topic's queues on one broker set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queues {
    /// Queues that may be read.
    pub read: i32,
    /// Queues that may be written.
    pub write: i32,
    /// [`PERM_READ`], [`PERM_WRITE`] and 1 for "inherited".
    pub perm: i32,
    /// Unit flags.
    pub sys_flag: i32,
}

impl Queues {
    /// The same queues, closed for writing.
    pub fn read_only(self) -> Self {
        Self { perm: self.perm & !PERM_WRITE, ..self }
    }

    /// The same queues, open for reading and writing; the inherited bit goes, as with the reference.
    pub fn read_write(self) -> Self {
        Self { perm: PERM_READ | PERM_WRITE, ..self }
    }

    /// Whether this is a unit topic.
    pub fn is_unit(self) -> bool {
        self.sys_flag & FLAG_UNIT != 0
    }

    /// Whether the topic is subscribed from other units.
    pub fn is_unit_sub(self) -> bool {
        self.sys_flag & FLAG_UNIT_SUB != 0
    }
}
