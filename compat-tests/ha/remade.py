"""A topic of a master that is deleted and made anew before its slave sees that it was gone."""

import random

from cluster import OURS, Failed, wait
from load import TOPICS, send_header
from pair import Pair


def topic_made_anew(folder, seed, version):
    """Our slave begins its queues anew with the first message of the new topic, whatever the master is and whether or not the
    slave is started again in between. Another queue of the topic loses its old messages."""
    choice = random.Random(seed)
    with Pair(folder, version, OURS) as pair:
        pair.start()
        for topic, restart in zip((*TOPICS, "HaC"), ("at once", "begun", None)):
            for n in range(10):
                send(pair.master, topic, n % 2, choice)
            pair.caught_up()
            if pair.master.ask(215, {"topic": topic}) is None:
                raise Failed(f"{version} deletes no topic")
            send(pair.master, topic, 0, choice)
            pair.caught_up()
            if restart == "begun":
                wait(lambda: end(pair.slave, topic, 0) == 1, f"queue 0 of {topic} begins anew")
            if restart:
                pair.slave.stop()
                pair.slave.start().ready()
            for queue, expected in ((0, 1), (1, 0)):
                wait(lambda: end(pair.slave, topic, queue) == expected, f"queue {queue} of {topic} ends at {expected}")
            if end(pair.master, topic, 0) != 1:
                raise Failed(f"{version} goes on with the former topic")
            send(pair.master, topic, 0, choice)
            pair.caught_up()
            if (found := end(pair.slave, topic, 0)) != 2:
                raise Failed(f"queue 0 of {topic} ends at {found} with the second message")
        pair.stop()
        return "its messages are on the slave from the first on"


def send(broker, topic, queue, choice):
    wait(lambda: broker.ask(310, {**send_header(choice), "b": topic, "e": str(queue)}, b"x"), f"{broker.kind} takes a message")


def end(broker, topic, queue):
    """The queue offset behind a queue's last message; None when the broker does not say."""
    answer = broker.ask(30, {"topic": topic, "queueId": str(queue)})
    return answer and int(answer["extFields"]["offset"])
