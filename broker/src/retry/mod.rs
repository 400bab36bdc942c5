//! Messages that a consumer could not consume: back to it later, and after too many times to the dead letters.

mod dead_letter;
mod send_back;

pub(crate) use dead_letter::for_send;
pub(crate) use send_back::send_back;

/// First version whose requests say how often a message may be consumed again (`V3_4_9`).
const SAYS_MAX_RECONSUME_TIMES: i32 = 121;

/// How often a message may be consumed again: as the request says, or else as the group's configuration does.
fn max_reconsume_times(version: i32, asked: Option<i32>, configured: i32) -> i32 {
    asked.filter(|_| version >= SAYS_MAX_RECONSUME_TIMES).unwrap_or(configured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_do_not_say_how_often() {
        assert_eq!([401, 121, 120].map(|version| max_reconsume_times(version, Some(0), 16)), [0, 0, 16]);
        assert_eq!(max_reconsume_times(401, None, 16), 16);
    }
}
