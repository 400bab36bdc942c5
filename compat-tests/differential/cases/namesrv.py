"""Every request code of the name server, valid and invalid. Both servers start empty, with default settings."""

import json
import struct
import zlib

from steps import Close, Pushed, Raw, Request

CLUSTER, BROKER = "DiffCluster", "diff-a"
ADDRESS = "127.0.0.9:10911"


def topic(name, read=4, write=4, perm=6, flag=0):
    return {"topicName": name, "readQueueNums": read, "writeQueueNums": write, "perm": perm, "topicSysFlag": flag,
            "topicFilterType": "SINGLE_TAG", "order": False, "attributes": {}}


def version(counter=1, timestamp=1700000000000, state=0):
    return {"counter": counter, "stateVersion": state, "timestamp": timestamp}


def registration(topics, data_version=None, filters=(), mappings=None):
    wrapper = {"dataVersion": data_version or version(), "topicConfigTable": {t["topicName"]: t for t in topics},
               "topicQueueMappingInfoMap": mappings or {}, "topicQueueMappingDetailMap": {},
               "mappingDataVersion": version()}
    return json.dumps({"filterServerList": list(filters), "topicConfigSerializeWrapper": wrapper})


def compressed(topics, data_version=None, filters=(), mappings=()):
    def text(value):
        data = value.encode()
        return struct.pack(">i", len(data)) + data

    out = text(json.dumps(data_version or version())) + struct.pack(">i", len(topics))
    for t in topics:
        out += text(f"{t['topicName']} {t['readQueueNums']} {t['writeQueueNums']} {t['perm']} SINGLE_TAG {{}}")
    out += text(json.dumps(list(filters))) + struct.pack(">i", len(mappings))
    for mapping in mappings:
        out += text(json.dumps(mapping))
    return zlib.compress(out, 9)


def register(name, body, broker=BROKER, identity=0, address=ADDRESS, cluster=CLUSTER, fields=None, crc=True, **more):
    data = body.encode() if isinstance(body, str) else body
    header = {"brokerName": broker, "brokerAddr": address, "clusterName": cluster, "haServerAddr": address + "9",
              "brokerId": str(identity)}
    if crc:
        header["bodyCrc32"] = str(zlib.crc32(data) & 0x7FFFFFFF)
    header.update(fields or {})
    header = {key: value for key, value in header.items() if value is not None}
    return Request(name, 103, header, data, **{"on": f"{broker}-{identity}", **more})


def unregister(name, broker=BROKER, identity=0, address=ADDRESS, cluster=CLUSTER, **more):
    header = {"brokerName": broker, "brokerAddr": address, "clusterName": cluster, "brokerId": str(identity)}
    return Request(name, 104, header, **more)


def route(name, topic, **more):
    fields = {"topic": topic} if topic is not None else {}
    fields.update(more.pop("fields", {}))
    return Request(name, 105, fields, **more)


def everything(when, **more):
    """The whole state, as the getters show it."""
    return [Request(f"{when}: cluster info", 106, **more), Request(f"{when}: all topics", 206, **more),
            Request(f"{when}: topics of the cluster", 224, {"cluster": CLUSTER}, **more),
            Request(f"{when}: system topics", 304, **more)]


MALFORMED = "the reference takes a malformed number for an absent one; ours names the field"
NULL = "a null pointer's text in the remark; ours names the field"


def kv():
    return [
        Request("kv: get absent", 101, {"namespace": "N", "key": "K"}),
        Request("kv: list absent", 219, {"namespace": "N"}),
        Request("kv: put", 100, {"namespace": "N", "key": "K", "value": "v 1"}),
        Request("kv: put again", 100, {"namespace": "N", "key": "K", "value": "ü=\"2\"\n"}),
        Request("kv: put second", 100, {"namespace": "N", "key": "K2", "value": ""}),
        Request("kv: get", 101, {"namespace": "N", "key": "K"}),
        Request("kv: get empty", 101, {"namespace": "N", "key": "K2"}),
        Request("kv: list", 219, {"namespace": "N"}),
        Request("kv: put without namespace", 100, {"key": "K", "value": "v"}),
        Request("kv: put without key", 100, {"namespace": "N", "value": "v"}),
        Request("kv: put without header", 100),
        Request("kv: put without value", 100, {"namespace": "N", "key": "null"}),
        Request("kv: get what was put without value", 101, {"namespace": "N", "key": "null"}),
        Request("kv: list with it", 219, {"namespace": "N"}),
        Request("kv: get without fields", 101, {}),
        Request("kv: get without header", 101, compare=("code", "remark-start")),
        Request("kv: get without key", 101, {"namespace": "N"}),
        Request("kv: list without namespace", 219, {}),
        Request("kv: delete", 102, {"namespace": "N", "key": "K"}),
        Request("kv: delete absent", 102, {"namespace": "N", "key": "K"}),
        Request("kv: delete absent namespace", 102, {"namespace": "M", "key": "K"}),
        Request("kv: delete without fields", 102, {}),
        Request("kv: delete second", 102, {"namespace": "N", "key": "K2"}),
        Request("kv: delete the one without value", 102, {"namespace": "N", "key": "null"}),
        Request("kv: list of an emptied namespace", 219, {"namespace": "N"}),
        Request("kv: get deleted", 101, {"namespace": "N", "key": "K"}),
    ]


def empty():
    return [
        *everything("empty"),
        route("route: unknown topic", "Nothing"),
        route("route: without topic", None),
        Request("route: without header", 105, compare=("code", "remark-start")),
        route("route: empty topic", ""),
        route("route: unknown topic, binary header", "Nothing", serialize=1),
        route("route: one-way", "Nothing", flag=2),
        *(Request(f"list {code}: empty", code) for code in (311, 312, 313)),
        Request("topics of an unknown cluster", 224, {"cluster": "none"}),
        Request("topics of no cluster", 224, {}),
        Request("member group: unknown", 901, {"clusterName": CLUSTER, "brokerName": BROKER}),
        Request("member group: without fields", 901, {}),
        Request("heartbeat: unknown broker", 904, {"clusterName": CLUSTER, "brokerAddr": ADDRESS, "brokerName": BROKER}),
        Request("heartbeat: without fields", 904, {}, differs=NULL, ours=1),
        Request("data version: unknown broker", 322, {"clusterName": CLUSTER, "brokerAddr": ADDRESS, "brokerName": BROKER,
                                                      "brokerId": "0"}, json.dumps(version())),
        Request("data version: without body", 322, {"clusterName": CLUSTER, "brokerAddr": ADDRESS, "brokerName": BROKER,
                                                    "brokerId": "0"}),
        Request("data version: without fields", 322, {}, json.dumps(version()), differs=NULL, ours=1),
        Request("wipe: unknown broker", 205, {"brokerName": "none"}),
        Request("wipe: without fields", 205, {}),
        Request("add: unknown broker", 327, {"brokerName": "none"}),
        Request("add: without fields", 327, {}),
        Request("delete topic: unknown", 216, {"topic": "Nothing"}),
        Request("delete topic: unknown, of a cluster", 216, {"topic": "Nothing", "clusterName": CLUSTER}),
        Request("delete topic: without fields", 216, {}),
        unregister("unregister: unknown"),
        Request("unregister: without fields", 104, {}),
        *(Request(f"unsupported: {code}", code, {}) for code in (0, 10, 11, 34, 38, 300, 351, 902, 905, 1001, 9999, -5)),
        Request("unsupported: binary header", 34, {}, serialize=1),
    ]


def registrations():
    topics = [topic("DiffA"), topic("DiffB", 1, 2, 7, 1), topic("DiffUnit", flag=2), topic("DiffBoth", flag=3)]
    mapping = {"topic": "DiffStatic", "bname": BROKER, "epoch": 5, "totalQueues": 4, "scope": "__global__",
               "dirty": False, "currIdMap": {"0": 0, "1": 1}}
    return [
        register("register: one topic first", registration(topics[:1])),
        route("register: nothing of a refused broker", "DiffA"),
        Request("register: no cluster of a refused broker", 106,
                ours=0, theirs=0, differs="the reference shows the refused broker, without addresses"),
        Request("register: no system topics of a refused broker", 304,
                ours=0, theirs=0, differs="the reference names the refused broker and its cluster"),
        register("register: crc does not match", registration(topics), fields={"bodyCrc32": "17"}),
        register("register: broken body", "{", compare=("code",)),
        register("register: broken compressed body", b"nonsense", fields={"compressed": "true"}, compare=("code",)),
        register("register", registration(topics)),
        *everything("registered"),
        *(route(f"registered: route of {t['topicName']}", t["topicName"]) for t in topics),
        route("registered: route, old client", "DiffA", version=0, compare=("code", "body", "body-bytes")),
        route("registered: route, 4.9.3", "DiffA", version=400, compare=("code", "body", "body-bytes")),
        route("registered: route, 4.9.4", "DiffA", version=401, compare=("code", "body", "body-bytes")),
        route("registered: route, standard JSON asked", "DiffA", version=0, fields={"acceptStandardJsonOnly": "true"},
              compare=("code", "body", "body-bytes")),
        route("registered: route, standard JSON declined", "DiffA", fields={"acceptStandardJsonOnly": "false"},
              compare=("code", "body", "body-bytes")),
        route("registered: route, binary header", "DiffA", serialize=1),
        *(Request(f"registered: list {code}", code) for code in (311, 312, 313)),
        Request("registered: member group", 901, {"clusterName": CLUSTER, "brokerName": BROKER},
                compare=("code", "remark", "fields", "body", "body-bytes")),
        Request("registered: member group, other cluster", 901, {"clusterName": "other", "brokerName": BROKER}),
        Request("registered: same data version", 322, {"clusterName": CLUSTER, "brokerAddr": ADDRESS,
                "brokerName": BROKER, "brokerId": "0"}, json.dumps(version()), compare=("code", "fields", "body", "body-bytes")),
        Request("registered: other data version", 322, {"clusterName": CLUSTER, "brokerAddr": ADDRESS,
                "brokerName": BROKER, "brokerId": "0"}, json.dumps(version(2))),
        Request("registered: heartbeat", 904, {"clusterName": CLUSTER, "brokerAddr": ADDRESS, "brokerName": BROKER,
                "brokerId": "0"}),
        Request("wipe", 205, {"brokerName": BROKER}),
        route("wipe: read only", "DiffB"),
        register("wipe: same version again", registration(topics)),
        route("wipe: still read only", "DiffB"),
        Request("add", 327, {"brokerName": BROKER}),
        route("add: read and write", "DiffB"),
        register("again: a changed topic, same version", registration([topic("DiffA", 8, 8), topic("DiffNew")])),
        route("again: the changed topic is as before", "DiffA"),
        route("again: the new topic is there", "DiffNew"),
        register("again: one topic, newer version", registration([topic("DiffA", 8, 8)], version(3))),
        route("again: the changed topic", "DiffA"),
        route("again: unlisted topics stay", "DiffNew"),
        register("again: no topics", registration([], version(4))),
        register("again: no body", "", crc=False),
        register("again: compressed", compressed([topic("DiffC", 3, 5), topic("DiffD")], version(5)),
                 fields={"compressed": "true"}),
        route("again: compressed topic", "DiffC"),
        register("again: compressed, header says otherwise", compressed([topic("DiffC", 3, 5), topic("DiffD")], version(5)),
                 differs="5.5.0 brokers with compressedRegister send this, and their name server cannot read it",
                 ours=0, theirs=1),
        register("static: with mapping", registration([topic("DiffStatic"), topic("DiffE")], version(6),
                 mappings={"DiffStatic": mapping})),
        route("static: route", "DiffStatic"),
        route("static: route, old form", "DiffStatic", version=0),
        register("filter: with servers", registration(topics, version(7), filters=["127.0.0.9:999"])),
        route("filter: route", "DiffA"),
        register("filter: without", registration(topics, version(8))),
        route("filter: route without", "DiffA"),
        register("zone: named", registration(topics, version(9)), fields={"__ZONE_NAME": "z<1>ü"}),
        route("zone: route", "DiffA", compare=("code", "body", "body-bytes")),
        route("zone: route, old form", "DiffA", version=0, compare=("code", "body", "body-bytes")),
        route("zone: mine", "DiffA", fields={"__ZONE_MODE": "true", "__ZONE_NAME": "Z<1>ü"}),
        route("zone: other", "DiffA", fields={"__ZONE_MODE": "true", "__ZONE_NAME": "z2"}),
        route("zone: no name", "DiffA", fields={"__ZONE_MODE": "true"}),
        route("zone: off", "DiffA", fields={"__ZONE_MODE": "no", "__ZONE_NAME": "z2"}),
        Request("zone: cluster info", 106, compare=("code", "body", "body-bytes")),
    ]


def registered_topics():
    def queues(*brokers):
        return json.dumps({"queueDatas": [{"brokerName": b, "perm": 6, "readQueueNums": 2, "writeQueueNums": 2,
                                           "topicSysFlag": 0} for b in brokers], "brokerDatas": []})

    return [
        Request("register topic", 217, {"topic": "DiffAdmin"}, queues(BROKER)),
        route("register topic: route", "DiffAdmin"),
        Request("register topic: unknown broker", 217, {"topic": "DiffAdmin2"}, queues("none")),
        route("register topic: no route", "DiffAdmin2"),
        Request("register topic: a known and an unknown broker", 217, {"topic": "DiffAdmin3"}, queues(BROKER, "none")),
        route("register topic: none of it", "DiffAdmin3"),
        Request("register topic: no body", 217, {"topic": "DiffAdmin4"}),
        Request("register topic: no queues", 217, {"topic": "DiffAdmin4"}, "{}"),
        Request("register topic: broken body", 217, {"topic": "DiffAdmin4"}, "{", compare=("code",)),
        Request("register topic: no topic", 217, {}, queues(BROKER), differs=NULL, ours=1),
        Request("delete topic: other cluster", 216, {"topic": "DiffAdmin", "clusterName": "other"}),
        route("delete topic: still there", "DiffAdmin"),
        Request("delete topic: of the cluster", 216, {"topic": "DiffAdmin", "clusterName": CLUSTER}),
        route("delete topic: gone", "DiffAdmin"),
        Request("delete topic: everywhere", 216, {"topic": "DiffA", "clusterName": ""}),
        route("delete topic: gone everywhere", "DiffA"),
    ]


def slaves():
    slave, second = "127.0.0.9:10921", "127.0.0.9:10931"
    topics = [topic("DiffA"), topic("DiffS")]
    return [
        register("slave: one topic first", registration(topics[:1], version(20)), identity=1, address=slave),
        register("slave: old version", registration(topics, version(20)), identity=1, address=slave),
        route("slave: its topics do not count beside a master", "DiffS"),
        Request("slave: cluster info", 106),
        register("slave: second", registration(topics, version(20)), identity=2, address=second,
                 fields={"enableActingMaster": "true"}),
        Request("slave: members", 901, {"clusterName": CLUSTER, "brokerName": BROKER}),
        Request("slave: system topics", 304),
        unregister("slave: the master leaves"),
        Request("slave: cluster info without the master", 106, within=5),
        route("slave: route without the master", "DiffB"),
        register("slave: first again, acting", registration(topics, version(21)), identity=1, address=slave,
                 fields={"enableActingMaster": "true"}),
        route("slave: acting, its topics are read only", "DiffS"),
        register("slave: master returns", registration(topics, version(30)), fields={"enableActingMaster": "true"}),
        route("slave: master's topics", "DiffS"),
        Close(f"{BROKER}-0"),
        Request("slave: after the master's connection closed", 106, within=5),
        route("slave: read only after it", "DiffS", within=5),
        register("slave: becomes master", registration(topics, version(31)), identity=0, address=slave,
                 on=f"{BROKER}-1", fields={"enableActingMaster": "true"}),
        Request("slave: is master only", 106),
        register("conflict: higher state", registration(topics, version(32, state=5)), identity=0, address=slave,
                 on=f"{BROKER}-1", fields={"enableActingMaster": "true"}),
        register("conflict: other address, lower state", registration(topics, version(33, state=4)), identity=0,
                 address="127.0.0.9:777", on="conflict", fields={"enableActingMaster": "true"}),
        Request("conflict: passed over", 106),
        register("conflict: other address, higher state", registration(topics, version(34, state=6)), identity=0,
                 address="127.0.0.9:777", on="conflict", fields={"enableActingMaster": "true"}),
        Request("conflict: taken over", 106),
        register("other cluster: second broker", registration(topics, version(40)), broker="diff-b",
                 address="127.0.0.8:1", cluster="DiffOther"),
        *everything("two brokers"),
        route("two brokers: route", "DiffS"),
        unregister("two brokers: wrong id", broker="diff-b", address="127.0.0.8:1", identity=7, cluster="DiffOther"),
        Request("two brokers: gone with the wrong id", 106, within=5),
    ]


def configuration():
    scrub = [r'"[^"]*(namesrv|kvConfig|/tmp)[^"]*"', r"(rocketmqHome|kvConfigPath|configStorePath|listenPort)=[^\\]*"]
    return [
        Request("config: get", 319, compare=("code", "remark", "fields", "body"), scrub=scrub),
        Request("config: update", 318, None, "scanNotActiveBrokerInterval=6000\nreturnOrderTopicConfigToBroker=true\n"),
        Request("config: get updated", 319, scrub=scrub),
        Request("config: update back", 318, None, "scanNotActiveBrokerInterval=5000\n"),
        Request("config: no body", 318),
        Request("config: unknown key", 318, None, "noSuchKey=1\n"),
        Request("config: unknown key is not kept", 319, scrub=scrub),
        Request("config: bad value", 318, None, "scanNotActiveBrokerInterval=soon\n",
                differs="the reference takes no notice", ours=29, theirs=0),
        *(Request(f"config: black list: {key}", 318, None, f"enableTopicList=false\n{key}=/tmp/x\n", compare=("code", "remark"))
          for key in ("configStorePath", "kvConfigPath", "rocketmqHome", "configBlackList")),
        Request("config: black list: separators of its own", 318, None, "  config\\u0053torePath : /tmp/x\n"),
        Request("config: nothing of a mixed update", 224, {"cluster": CLUSTER}),
        Request("config: topic lists off", 318, None, "enableTopicList=false\nenableAllTopicList=false\n"),
        *(Request(f"config: list {code} off", code, {}) for code in (206, 224, 304, 311, 312, 313)),
        Request("config: topic lists on", 318, None, "enableTopicList=true\nenableAllTopicList=true\n"),
        Request("config: order topics on", 318, None, "orderMessageEnable=true\n"),
        Request("config: order topic", 100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "DiffS", "value": "diff-a:4;\u00fc"}),
        route("config: route with order", "DiffS", compare=("code", "body", "body-bytes")),
        register("config: order topics go to the broker", registration([topic("DiffS"), topic("DiffT")], version(50)),
                 address="127.0.0.9:777", on="conflict"),
        Request("config: order topic deleted", 102, {"namespace": "ORDER_TOPIC_CONFIG", "key": "DiffS"}),
        route("config: route without order", "DiffS"),
        Request("config: order topics off", 318, None, "orderMessageEnable=false\n"),
        Request("config: acting master on", 318, None, "supportActingMaster=true\nnotifyMinBrokerIdChanged=true\n"),
    ]


def acting():
    topics = [topic("DiffX"), topic("DiffY"), topic("rmq_sys_SYNC_BROKER_MEMBER_diff-c")]
    acting_master = {"enableActingMaster": "true"}
    more = {"broker": "diff-c", "fields": acting_master}
    return [
        register("acting: master", registration(topics), address="127.0.0.7:1", **more),
        register("acting: slave", registration(topics), identity=3, address="127.0.0.7:3", **more),
        unregister("acting: master leaves", broker="diff-c", address="127.0.0.7:1"),
        route("acting: the slave is shown as master", "DiffX", within=5),
        route("acting: but not in the member topic", "rmq_sys_SYNC_BROKER_MEMBER_diff-c"),
        Request("acting: nor in the cluster info", 106),
        register("acting: a smaller slave", registration(topics), identity=2, address="127.0.0.7:2", **more),
        route("acting: the smaller slave is shown", "DiffX"),
        register("acting: the master returns", registration(topics), address="127.0.0.7:1", **more),
        route("acting: writable again", "DiffX"),
        Request("acting: off again", 318, None, "supportActingMaster=false\nnotifyMinBrokerIdChanged=false\n"),
        Request("delete with registration: on", 318, None, "deleteTopicWithBrokerRegistration=true\n"),
        register("delete with registration", registration(topics[:2], version(60)), address="127.0.0.7:1", **more),
        Request("delete with registration: topics", 206),
        Request("delete with registration: off", 318, None, "deleteTopicWithBrokerRegistration=false\n"),
    ]


def half_registrations():
    """Last, because the reference enters brokers without a name or a cluster and shows them from then on."""
    topics = [topic("DiffA"), topic("DiffB")]
    nothing = {key: None for key in ("brokerName", "brokerAddr", "clusterName", "haServerAddr", "brokerId")}
    return [
        register("register: id is no number", registration(topics), fields={"brokerId": "x"}, compare=("code",)),
        register("register: without id", registration(topics), fields={"brokerId": None}, compare=("code",)),
        register("register: without header", registration(topics), crc=False, fields=nothing, compare=("code",)),
        register("register: crc is no number", registration(topics), fields={"bodyCrc32": "x"}, differs=MALFORMED, ours=1),
        register("register: without name", registration(topics), fields={"brokerName": None}, differs=NULL, ours=1),
        register("register: without cluster", registration(topics), fields={"clusterName": None}, differs=NULL, ours=1),
    ]


def frames():
    """Broken frames: B01. The reference leaves some of these connections open, deaf."""
    deaf = "the reference may keep the connection and never answer"
    return [
        Raw("frame: negative length", struct.pack(">i", -1) + b"abc", differs=deaf),
        Raw("frame: length 0", struct.pack(">i", 0), differs=deaf),
        Raw("frame: length 3", struct.pack(">i", 3) + b"abc", differs=deaf),
        Raw("frame: unknown serialization", struct.pack(">iI", 4, 0x7F000000), differs=deaf),
        Raw("frame: header longer than the frame", struct.pack(">iI", 4, 100), differs=deaf),
        Raw("frame: header is a list", struct.pack(">iI", 6, 2) + b"[]", differs=deaf),
        Raw("frame: beyond the maximum", struct.pack(">i", 16777217), differs=deaf),
        Request("frame: the others are served", 206, on="fresh"),
    ]


def steps(side):
    return [*kv(), *empty(), *registrations(), *registered_topics(), *slaves(), *configuration(), *acting(), *half_registrations(), *frames()]
