"""The commands of the admin tool, in an order in which each finds what it needs."""

from dataclasses import dataclass, field

BROKER = """brokerClusterName=AdminCluster
brokerName=admin-a
brokerId=0
brokerIP1=127.0.0.1
brokerIP2=127.0.0.1
storePathRootDir={home}/store
mappedFileSizeCommitLog=8388608
haListenPort={ha}
traceTopicEnable=true
enablePropertyFilter=true
transactionCheckInterval=3600000
channelExpiredTimeout=3600000
waitTimeMillsInSendQueue=60000
"""
NAMESRV = "kvConfigPath={home}/kvConfig.json\n"


@dataclass
class Step:
    """One command as an operator types it; `{broker}`, `{files}`, `{client}` and what was learned stand for each side's own.

    `within` repeats a command that changes nothing until both print the same and `until`, for so many seconds at most. `learn`
    keeps the first group of a pattern under a name. `file` is one that the command writes, and is compared as well. `sort`
    compares lines in any order. A command that never ends is left alone when it printed so many `lines`, or after so many `seconds`. `differs` is the reason why ours may
    print something else; then it must print `ours`.
    """

    line: str
    within: float = 0
    until: str = ""
    learn: dict = field(default_factory=dict)
    scrub: list = field(default_factory=list)
    file: str | None = None
    sort: bool = False
    seconds: int = 60
    lines: int = 1_000_000
    differs: str | None = None
    ours: str = ""


def reads(line, until="", **more):
    # Longer than the 20 s after which a consumer balances its queues anew, several times over on a busy machine.
    return Step(line, **{"within": 120, "until": until, **more})


def there(topic, until="queueDatas"):
    """Waits until the name server knows of a topic: whoever changes it is answered before in the reference."""
    return reads(f"topicRoute -t {topic}", until)


CLUSTER = reads("clusterList", "admin-a", scrub=[(r"\d+-\d+\(", "TIMERS("), (r"\d+\.\d+", "DECIMAL")])

TOPICS = [
    CLUSTER,
    Step("updateTopic -b {broker} -t AdminT -r 4 -w 4"),
    Step("updateTopic -c AdminCluster -t AdminOrder -r 2 -w 2 -p 6 -o true"),
    Step("updateTopic -b {broker} -t AdminUnit -r 1 -w 1 -u true -s true"),
    Step("updateTopic -b {broker} -t AdminFifo -r 1 -w 1 -a +message.type=FIFO"),
    Step("updateTopic -b {broker} -t Bad*Name"),
    Step("updateTopic -b {broker} -t TBW102"),
    Step("updateTopic -c NoCluster -t AdminT"),
    *(there(topic) for topic in ("AdminT", "AdminOrder", "AdminUnit", "AdminFifo")),
    Step("updateTopicPerm -b {broker} -t AdminUnit -p 4"),
    there("AdminUnit", '"perm":4'),
    Step("updateTopicPerm -c AdminCluster -t AdminUnit -p 6"),
    there("AdminUnit", '"perm":6'),
    Step("updateTopicPerm -b {broker} -t NoTopic -p 6"),
    reads("topicRoute -t AdminOrder -l"),
    reads("topicRoute -t NoTopic"),
    reads("topicClusterList -t AdminT"),
    reads("topicList", sort=True),
    reads("topicList -c", sort=True),
    reads("allocateMQ -t AdminT -i 10.0.0.1,10.0.0.2,10.0.0.3"),
    Step("updateOrderConf -t AdminT -m put -v admin-a:4"),
    reads("updateOrderConf -t AdminT -m get"),
    Step("updateOrderConf -t AdminT -m delete"),
    reads("updateOrderConf -t AdminT -m get"),
]

# What is sent first is there before anything is asked of it.
MESSAGES = [
    Step("sendMessage -t AdminT -p hello -k key-1 -c TagA -b admin-a -i 0", learn={"first": r"([0-9A-F]{32,})"}),
    Step("sendMessage -t AdminT -p again -k key-2 -c TagB -b admin-a -i 0"),
    Step("sendMessage -t AdminT -p third -k key-3 -c TagA -b admin-a -i 1"),
    Step("sendMessage -t AdminT -p lost -i 1"),
    Step("sendMessage -t NoTopic -p lost -b admin-a -i 0"),
    Step("sendMsgStatus -b admin-a -s 64 -c 2", scrub=[(r"rt=\d+ms", "rt")]),
    Step("checkMsgSendRT -t AdminOrder -a 4 -s 32", scrub=[(r"\d+\.\d\d", "RT"), (r"true +\d+", "true RT")]),
    reads("topicStatus -t AdminT", r"admin-a 0 0 2 TIME"),
    reads("topicStatus -t AdminUnit"),
    reads("topicStatus -t NoTopic"),
    reads("queryMsgByKey -t AdminT -k key-1", r"ID 0 0"),
    reads("queryMsgByKey -t AdminT -k key-9"),
    reads("queryMsgByUniqueKey -t AdminT -i {first}", "Topic: AdminT"),
    reads("queryMsgByOffset -t AdminT -b admin-a -i 0 -o 0", "Topic: AdminT", learn={"offset": "OffsetID: +([0-9A-F]{32,})"}),
    reads("queryMsgByUniqueKey -t AdminT -i 7F000001000018B4AAC2000000000001"),
    reads("queryMsgById -t AdminT -i {offset} -f UTF-8", "Message Body: hello"),
    reads("queryMsgById -t AdminT -i 7F00000100002A9F00000000000FFFFF"),
    reads("queryMsgByOffset -t AdminT -b admin-a -i 0 -o 1", "Topic: AdminT"),
    reads("queryMsgByOffset -t AdminT -b admin-a -i 0 -o 7"),
    # Into a topic of one queue, because it is sent into any.
    Step("sendMessage -t AdminFifo -p alone -b admin-a -i 0"),
    reads("queryMsgByOffset -t AdminFifo -b admin-a -i 0 -o 0", "AdminFifo", learn={"alone": "OffsetID: +([0-9A-F]{32,})"}),
    Step("queryMsgById -t AdminFifo -i {alone} -s true", scrub=[(r"originalMsgId=[0-9A-F]{32}", "")]),
    reads("printMsg -t AdminT", "third"),
    reads("printMsg -t AdminT -s TagB -d false"),
    reads("printMsgByQueue -t AdminT -a admin-a -i 0 -p true -d true -f true", "TagA"),
    reads("consumeMessage -t AdminT -b admin-a -i 0 -o 0 -c 2", "hello"),
    reads("consumeMessage -t AdminT -b admin-a -i 9 -o 0"),
    reads("queryCq -t AdminT -q 0 -i 0 -c 5 -b {broker}", "min"),
    reads("queryCq -t AdminT -q 7 -i 0 -c 5 -b {broker}"),
]

GROUPS = [
    Step("updateSubGroup -b {broker} -g AdminG -q 2 -r 5"),
    Step("updateSubGroup -c AdminCluster -g AdminOther -s true -m false -d true"),
    Step("updateSubGroup -b {broker} -g AdminOff -s false"),
    Step("updateSubGroup -b {broker} -g Bad*Group"),
    reads("getConsumerConfig -g AdminG"),
    reads("getConsumerConfig -g NoGroup"),
    Step("consumer {namesrv} {client} AdminG AdminT *"),
    reads("consumerConnection -g AdminG", "AdminT", learn={"client_id": r"(\S+@client-\w+)"}),
    reads("consumerConnection -g AdminG -b {broker}", "AdminT"),
    reads("consumerConnection -g NoGroup"),
    reads("queryCq -t AdminT -q 0 -i 0 -c 2 -b {broker} -g AdminG", "AdminT"),
    reads("consumerStatus -g AdminG", "Rebalance OK"),
    reads("consumerStatus -g AdminG -i {client_id}", scrub=[(r"@[0-9a-f]{5,8}\b", "@HASH"), (r"\d+\.\d\d", "RATE"), (r"\b20\d{12}(\d{3})?\b", "TIME")]),
    Step("persist {client}"),
    reads("consumerProgress -g AdminG", "Diff Total: 0"),
    reads("consumerProgress -g AdminG -t AdminT -s true", "Diff Total: 0"),
    # On a busy machine the reference was seen to keep the tool's own consumer, which had ended, for longer than is waited here.
    reads("consumerProgress", "AdminG", scrub=[("TOOLS_CONSUMER .*", "TOOLS_CONSUMER")]),
    reads("consumerProgress -g NoGroup"),
    reads("brokerConsumeStats -b {broker}", "AdminG"),
    reads("brokerConsumeStats -b {broker} -o true"),
    reads("statsAll -t AdminT", "AdminG", scrub=[(r"\d+\.\d\d", "RATE")]),
    Step("queryMsgById -t AdminT -i {offset} -g AdminG -d {client_id}", scrub=[(r"spentTimeMills=\d+", "")]),
    reads("queryMsgById -t AdminT -i {offset}", "AdminG"),
    Step("resetOffsetByTime -g AdminG -t AdminT -s 0", sort=True),
    Step("skipAccumulatedMessage -g AdminG -t AdminT", sort=True),
    Step("end {client}"),
    reads("consumerConnection -g AdminG", "not online"),
    Step("resetOffsetByTime -g AdminG -t AdminT -s 0 -b {broker} -q 0 -o 1"),
    Step("resetOffsetByTime -g AdminG -t AdminT -s 0", sort=True),
    Step("skipAccumulatedMessage -g AdminG -t AdminT", sort=True),
    Step("cloneGroupOffset -s AdminG -d AdminOther -t AdminT"),
    reads("consumerProgress -g AdminOther"),
    Step("producer {namesrv} {client} AdminP AdminT"),
    reads("producerConnection -g AdminP -t AdminT", "CLIENT"),
    reads("producerConnection -g NoGroup -t AdminT"),
    reads("producer -b {broker}"),
    Step("end {client}"),
    Step("setConsumeMode -b {broker} -t AdminT -g AdminG -m PULL"),
    Step("setConsumeMode -b {broker} -t Missing -g AdminG -m PULL"),
    Step("setConsumeMode -b {broker} -t AdminT -g NoGroup -m PULL"),
]

# What a broker measures of itself, and the one key that 4.x has and 5.5.0 has not.
MEASURED = [(r"(\w+Tps|put(Latency|Message\w*Time)\w*|get\w*TimeMax|runtime) *:.*", r"\1"), (r"brokerVersion *: 513\n", ""),
            (r"(Ratio\S*|Capacity) *: [^\n]*[.%].*", r"\1")]

BROKERS = [
    CLUSTER,
    reads("clusterList -m", "admin-a"),
    reads("brokerStatus -b {broker}", "brokerVersionDesc", scrub=MEASURED),
    reads("getBrokerConfig -b {broker}", "brokerName"),
    Step("updateBrokerConfig -b {broker} -k maxTransferBytesOnMessageInMemory -v 131072"),
    Step("updateBrokerConfig -c AdminCluster -k maxTransferCountOnMessageInMemory -v 16"),
    reads("haStatus -b {broker}"),
    reads("getNamesrvConfig", "listenPort"),
    Step("updateNamesrvConfig -k orderMessageEnable -v true"),
    Step("updateKvConfig -s AdminSpace -k key -v value"),
    Step("deleteKvConfig -s AdminSpace -k key"),
    Step("wipeWritePerm -b admin-a"),
    Step("addWritePerm -b admin-a"),
    Step("wipeWritePerm -b no-broker"),
    Step("cleanExpiredCQ -b {broker}"),
    Step("cleanExpiredCQ -c AdminCluster"),
    Step("cleanUnusedTopic -b {broker}"),
    Step("cleanUnusedTopic -c AdminCluster"),
    Step("deleteExpiredCommitLog -b {broker}"),
    Step("exportMetadata -c AdminCluster -f {files}", file="metadata.json"),
    Step("exportMetadata -b {broker} -t -f {files}", file="topic.json"),
    Step("exportMetadata -b {broker} -g -f {files}", file="subscriptionGroup.json"),
    Step("exportConfigs -c AdminCluster -f {files}", file="configs.json"),
    Step("exportMetrics -c AdminCluster -f {files}", file="metrics.json", scrub=[(r"\d+\.\d+", "RATE")]),
    Step("rocksDBConfigToJson -t topics -b {broker}"),
    Step("checkRocksdbCqWriteProgress -c AdminCluster -n {namesrv} -t AdminT"),
]

# The size of a trace depends on how long a send took, and what never ends goes on behind the others: they come last.
TRACES = [
    Step("sendMessage -t AdminT -p traced -k key-4 -c TagA -b admin-a -i 1 -m true", learn={"traced": r"([0-9A-F]{32,})"}),
    reads("queryMsgTraceById -i {traced}", "Pub", scrub=[(r"\d+ms", "ms")]),
]

ENDLESS = [
    Step("clusterRT -a 2 -s 16 -i 1", lines=2, scrub=[(r"\d+\.\d+", "RT"), (r" +(\n|$)", r"\1"), (r"(\n[^\n]+)\1+", r"\1")]),
    Step("startMonitoring", seconds=1),
]

ENDS = [
    Step("deleteSubGroup -b {broker} -g AdminOther"),
    Step("deleteSubGroup -c AdminCluster -g AdminG -r true"),
    reads("getConsumerConfig -g AdminG"),
    Step("deleteTopic -c AdminCluster -t AdminT"),
    Step("deleteTopic -c AdminCluster -t NoTopic"),
    reads("topicRoute -t AdminT"),
    reads("topicList", sort=True),
]

STEPS = [*TOPICS, *MESSAGES, *GROUPS, *BROKERS, *TRACES, *ENDS, *ENDLESS]
