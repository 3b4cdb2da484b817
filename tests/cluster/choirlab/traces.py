"""traces.py: the calls of a job, summed over its ranks, from the folder that CHOIR_TRACE named."""
import json
import pathlib

SUMS = ("bytes", "bytes_inside", "bytes_between", "messages_between", "metadata_between", "agreement_bytes", "cycles",
        "storage_requests")


def calls(folder, strategy, operation):
    """One dictionary per collective call of the strategy whose operation begins as given, in the order of calls."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob("rank-*.jsonl")):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if record["type"] != "call" or record["strategy"] != strategy or not record["operation"].startswith(operation):
                continue
            key = (record["file"], record["open"], record["call"])
            one = found.setdefault(key, {"start": record["start"], "plan_cached": record["plan_cached"],
                                         **dict.fromkeys(SUMS, 0)})
            one["start"] = min(one["start"], record["start"])
            for name in SUMS:
                one[name] += record[name]
    return sorted(found.values(), key=lambda one: one["start"])
