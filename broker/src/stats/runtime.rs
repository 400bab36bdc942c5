//! The broker at a glance: code 28.
//!
//! The reference's keys are all there, for tools read them by name. It has thread pools with queues where this broker has
//! none but the line of reads that wait for the disk, which is shown as that of pulls; the sizes of others are 0 and their
//! capacities as configured.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use apogee_remoting::protocol::kv::KVTable;
use apogee_remoting::{Command, ResponseCode, json};

use super::recent::Count;
use crate::topic::is_system_topic;
use crate::{Broker, names, schedule};

/// What operators ask a broker for (28). It may wait for the disk.
pub(crate) fn info(broker: &Broker) -> Command {
    let mut table = BTreeMap::new();
    let mut put = |key: &str, value: String| drop(table.insert(key.to_owned(), value));
    store(broker, &mut put);
    traffic(broker, &mut put);
    pools(broker, &mut put);
    Command::response(ResponseCode::SUCCESS).with_body(json::to_vec(&KVTable { table }))
}

fn store(broker: &Broker, put: &mut impl FnMut(&str, String)) {
    let (settings, store) = (broker.settings(), &broker.store);
    let used = store.used_space();
    let now = broker.now();
    put("bootTimestamp", broker.boot_time.to_string());
    put("runtime", days_and_hours(now - broker.boot_time));
    put("brokerActive", broker.replication.acts().to_string());
    put("brokerVersion", apogee_remoting::command::VERSION_5_5_0.to_string());
    put("brokerVersionDesc", "V5_5_0".to_owned());
    put("commitLogDiskRatio", used.to_string());
    for (directory, used) in store.used_space_by_directory() {
        put(&format!("commitLogDiskRatio_{}", directory.display()), used.to_string());
    }
    let (total, free) = store.disk_capacity();
    put("commitLogDirCapacity", format!("Total : {}, Free : {}.", bytes(total as i64), bytes(free as i64)));
    put("consumeQueueDiskRatio", used.to_string());
    put("commitLogMinOffset", store.min_physical_offset().to_string());
    put("commitLogMaxOffset", store.max_physical_offset().to_string());
    put("earliestMessageTimeStamp", store.earliest_time_of_log().to_string());
    put("dispatchBehindBytes", store.dispatch_behind_bytes().to_string());
    put("dispatchMaxBuffer", "0".to_owned());
    put("pageCacheLockTimeMills", "0".to_owned());
    put("remainTransientStoreBufferNumbs", i32::MAX.to_string());
    put("remainHowManyDataToFlush", bytes(store.max_physical_offset() - store.flushed_offset()));
    put("startAcceptSendRequestTimeStamp", settings.broker.start_accept_send_request_time_stamp.to_string());
    for (level, offset) in broker.schedule.offsets.all() {
        let end = store.max_offset(names::SCHEDULE_TOPIC, schedule::queue_of_level(level));
        put(&format!("scheduleMessageOffset_{level}"), format!("{offset},{end}"));
    }
    for key in ["timerReadBehind", "timerOffsetBehind", "timerCongestNum"] {
        put(key, "0".to_owned());
    }
    for key in ["timerEnqueueTps", "timerDequeueTps"] {
        put(key, "0.0".to_owned());
    }
}

fn traffic(broker: &Broker, put: &mut impl FnMut(&str, String)) {
    let stats = &broker.stats;
    let stored = stats.all_stored.counts();
    let (stored, stored_bytes) = (stored.messages, stored.bytes);
    put("putMessageTimesTotal", stored.max(1).to_string());
    put("putMessageSizeTotal", stored_bytes.to_string());
    put("putMessageAverageSize", (stored_bytes as f64 / stored.max(1) as f64).to_string());
    put("putMessageFailedTimes", stats.refused.load(Ordering::Relaxed).to_string());
    put("putMessageEntireTimeMax", stats.put_times.longest().to_string());
    put("getMessageEntireTimeMax", stats.longest_read.load(Ordering::Relaxed).to_string());
    put("putMessageDistributeTime", stats.put_times.distribution());
    put("putTps", stats.seconds.rates(Count::Put));
    put("getFoundTps", stats.seconds.rates(Count::Found));
    put("getTransferredTps", stats.seconds.rates(Count::Transferred));
    put("getTotalTps", stats.seconds.rates_of_pulls());
    put("getMissTps", stats.seconds.rates(Count::Missed));
    put("putLatency99", format!("{:.2}", stats.put_times.percentile(0.99)));
    put("putLatency999", format!("{:.2}", stats.put_times.percentile(0.999)));
    let [yesterday, today] = stats.mornings.totals();
    let [stored, pulled] = stats.messages_of_users(|topic| is_system_topic(&broker.settings(), topic));
    for (at, (kind, now)) in [("Put", stored), ("Get", pulled)].into_iter().enumerate() {
        put(&format!("msg{kind}TotalYesterdayMorning"), yesterday[at].to_string());
        put(&format!("msg{kind}TotalTodayMorning"), today[at].to_string());
        put(&format!("msg{kind}TotalTodayNow"), now.to_string());
    }
}

fn pools(broker: &Broker, put: &mut impl FnMut(&str, String)) {
    let settings = broker.settings();
    let config = &settings.broker;
    for (pool, capacity) in [
        ("send", config.send_thread_pool_queue_capacity),
        ("pull", config.pull_thread_pool_queue_capacity),
        ("litePull", config.lite_pull_thread_pool_queue_capacity),
        ("query", config.query_thread_pool_queue_capacity),
        ("ack", config.ack_thread_pool_queue_capacity),
    ] {
        let in_line = if pool == "pull" { broker.readers.in_line() } else { 0 };
        put(&format!("{pool}ThreadPoolQueueSize"), in_line.to_string());
        put(&format!("{pool}ThreadPoolQueueCapacity"), capacity.to_string());
        put(&format!("{pool}ThreadPoolQueueHeadWaitTimeMills"), "0".to_owned());
    }
    put("EndTransactionQueueSize", "0".to_owned());
    put("EndTransactionThreadPoolQueueCapacity", config.end_transaction_pool_queue_capacity.to_string());
}

/// As the reference writes a span of time.
fn days_and_hours(millis: i64) -> String {
    let seconds = millis / 1000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    format!("[ {days} days, {} hours, {} minutes, {} seconds ]", hours % 24, minutes % 60, seconds % 60)
}

/// As the reference writes a number of bytes.
fn bytes(count: i64) -> String {
    let mut value = count as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{count} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_sizes_are_written_for_people() {
        assert_eq!(days_and_hours(90_061_000), "[ 1 days, 1 hours, 1 minutes, 1 seconds ]");
        assert_eq!([bytes(0), bytes(1023), bytes(1536), bytes(3 << 40)], ["0 B", "1023 B", "1.5 KiB", "3.0 TiB"]);
    }
}
