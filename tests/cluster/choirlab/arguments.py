"""Arguments that several commands on top of choir-lab take, and the words of choir-lab they stand for."""
import argparse


def servers_of(text):
    """COUNT:UNIT:BANDWIDTH:SEEK_MS[:WINDOW] as a table."""
    values = dict(zip(("count", "unit", "bandwidth", "seek", "window"), text.split(":")))
    if len(values) < 4 or text.count(":") > 4:
        raise argparse.ArgumentTypeError("COUNT:UNIT:BANDWIDTH:SEEK_MS[:WINDOW], for example 3:64K:40M:5")
    return {"window": "0", **values}


def servers_up(servers):
    """The command that makes such servers."""
    words = ["servers", "up"]
    for key, value in servers.items():
        words += [f"--{key}", value]
    return words
