#!/usr/bin/env python3
"""Figures of the target `kv`: benches/kv.py PART [ROW...], where PART is bugs, honest, cost, memory or audit.

Runs target/release/misrule (or the program that MISRULE names) as a process, one at a time, and prints a table.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MISRULE = os.environ.get("MISRULE", os.path.join(ROOT, "target/release/misrule"))

# Each planted bug with the weakest disk that permits it, and what else it needs. As in adapters/kv/src/bugs.rs.
BUGS = [
    ("ack-before-sync", "explicit-sync", []),
    ("no-dir-sync", "explicit-sync", []),
    ("rename-before-data", "explicit-sync", []),
    ("vote-not-durable", "explicit-sync", []),
    ("torn-tail", "torn-prefix", []),
    # More snapshots make a crash in the middle of one likelier.
    ("prefix-order", "reorder-writes", ["--set", "snapshot-every=1"]),
    ("atomic-multi-block", "posix-min", []),
    ("sync-error-ignored", "fsync-keeps", []),
    ("no-reelection", "explicit-sync", []),
    ("stale-read", "explicit-sync", []),
    ("validated-before-commit", "explicit-sync", ["--set", "workload=cycle", "--set", "keys=5"]),
]
HONEST = ["immediate", "explicit-sync", "ordered", "torn-prefix", "reorder-writes", "posix-min",
          "no-powersafe-overwrite", "fsync-keeps", "fsyncgate"]


def said(*words):
    return subprocess.run(words, capture_output=True, text=True, cwd=ROOT, check=False).stdout.strip()


def place(part):
    model = [line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    load = open("/proc/loadavg").read().split()[0]
    print(f"command  benches/kv.py {part}")
    print(f"date     {said('date', '-u', '+%Y-%m-%dT%H:%M:%SZ')}")
    print(f"machine  {model[0]}, {os.cpu_count()} cores, load {load}")
    print(f"commit   {said('git', 'describe', '--always', '--dirty', '--abbrev=12')}")
    print(f"built    {said('rustc', '--version')}\n", flush=True)


def high_water(pid):
    """The largest resident set of a process so far, in KiB; 0 when it has ended."""
    try:
        lines = open(f"/proc/{pid}/status").read().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


class Ran:
    """A campaign that has ended: exit code, its JSON, processor seconds, and the largest resident set in KiB."""

    def __init__(self, words):
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as out:
            words = [MISRULE, "fuzz", "kv", "--json", "--quiet", *words]
            child = subprocess.Popen(words, stdout=out, stderr=subprocess.DEVNULL, cwd=folder)
            # What wait4 tells of the resident set begins with that of this process, before the program is loaded.
            self.resident, pid = 0, 0
            while pid == 0:
                self.resident = max(self.resident, high_water(child.pid))
                time.sleep(0.01)
                pid, status, usage = os.wait4(child.pid, os.WNOHANG)
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            self.code, self.json = child.returncode, json.loads(out.read())
            self.busy = usage.ru_utime + usage.ru_stime

    def steps(self):
        return self.json["steps"] + self.json["recovery"]["steps"]


def bugs(*names):
    print("20 seeds a row, --time 60s, --faults heavy, --guidance random, the weakest disk that permits the bug\n")
    print(f"{'bug':<24} {'disk':<15} {'found':>5} {'executions':>11} {'steps':>11} {'seconds':>8} {'most':>6}  properties")
    for bug, disk, more in [row for row in BUGS if not names or row[0] in names]:
        found, properties = [], set()
        for seed in range(1, 21):
            ran = Ran(["--set", f"bug={bug}", "--contract", disk, "--faults", "heavy", "--guidance", "random",
                       "--time", "60s", "--seed", str(seed), *more])
            for finding in ran.json["findings"]:
                properties.add(finding["property"])
                found.append((finding["execution_found"], finding["steps_found"], ran.json["seconds"]))
        middle = [statistics.median(row[at] for row in found) if found else 0 for at in range(3)]
        print(f"{bug:<24} {disk:<15} {len(found):>2}/20 {middle[0]:>11,.0f} {middle[1]:>11,.0f} {middle[2]:>8.2f} "
              f"{max((row[2] for row in found), default=0):>6.1f}  {', '.join(sorted(properties))}", flush=True)
    print("\nexecutions, steps: median until found; seconds: median and most of the whole run, minimising included")


def honest():
    print("fuzz kv --faults heavy --steps 10000000 --seed 1, no bug; kinds as applied/drawn\n")
    kinds = ["drop", "duplicate", "crash", "restart", "cut", "heal", "disk"]
    print(f"{'disk':<23} {'exit':>4} {'executions':>10} {'undecided':>9} {'progressed':>10} {'stalled':>7} "
          + " ".join(f"{kind:>15}" for kind in kinds))
    worst = 0
    for disk in HONEST:
        ran = Ran(["--faults", "heavy", "--steps", "10000000", "--contract", disk, "--seed", "1"])
        faults = {fault["kind"]: f"{fault['applied']}/{fault['drawn']}" for fault in ran.json["faults"]}
        undecided = sum(entry["executions"] for entry in ran.json["undecided"])
        recovery = ran.json["recovery"]
        worst = max(worst, ran.code)
        print(f"{disk:<23} {ran.code:>4} {ran.json['executions']:>10,} {undecided:>9} {recovery['progressed']:>10,} "
              f"{recovery['stalled']:>7} " + " ".join(f"{faults[kind]:>15}" for kind in kinds), flush=True)
        for finding in ran.json["findings"]:
            print(f"    {finding['property']}: {finding['message']}")
    return worst


def cost():
    arms = [
        ("all on", ["--contract", "posix-min"]),
        ("history off", ["--contract", "posix-min", "--set", "history=off"]),
        ("progress off", ["--contract", "posix-min", "--recovery", "never"]),
        ("progress always", ["--contract", "posix-min", "--recovery", "always"]),
        ("disk immediate", ["--contract", "immediate"]),
        ("all three off", ["--contract", "immediate", "--recovery", "never", "--set", "history=off"]),
    ]
    rounds = 7
    print(f"fuzz kv --guidance random --lens none --faults default --steps-max 1000, 2,000,000 steps, {rounds} rounds "
          "in turns; steps of recoveries count; processor time\n")
    rates = {name: [] for name, _ in arms}
    for seed in range(1, rounds + 1):
        for name, words in arms:
            ran = Ran([*words, "--guidance", "random", "--lens", "none", "--steps-max", "1000", "--steps", "2000000",
                       "--seed", str(seed)])
            assert ran.code == 0, (name, ran.json["findings"])
            rates[name].append(ran.steps() / ran.busy)
    print(f"{'':<18} {'thousand steps a second':>24} {'ratio to all on, median (least, most)':>40}")
    for name, _ in arms:
        ratios = sorted(rate / whole for rate, whole in zip(rates[name], rates["all on"]))
        shown = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}, {ratios[-1]:.2f})"
        print(f"{name:<18} {statistics.median(rates[name]) / 1000:>24,.0f} {shown:>40}")


def memory(*guidances):
    print("fuzz kv --steps-max 50 --recovery never --seed 1: largest resident set of the process\n")
    print(f"{'guidance':<10} {'executions':>11} {'steps':>13} {'kept':>7} {'cells':>7} {'MiB':>8}")
    worst = 0
    for guidance in guidances or ["random", "frontier"]:
        resident = []
        for executions in [100_000, 1_000_000]:
            ran = Ran(["--guidance", guidance, "--steps-max", "50", "--recovery", "never", "--executions",
                       str(executions), "--seed", "1"])
            resident.append(ran.resident)
            cells = sum(ran.json["cells"].values())
            print(f"{guidance:<10} {executions:>11,} {ran.json['steps']:>13,} {ran.json['kept']:>7,} {cells:>7,} "
                  f"{ran.resident / 1024:>8.1f}", flush=True)
        grown = resident[1] / resident[0] - 1
        worst = max(worst, grown)
        print(f"{guidance:<10} {grown:+.1%}\n")
    return 0 if worst <= 0.05 else 1


def wilson(hits, of):
    """The 95 % interval of a share, in percent (Wilson 1927)."""
    z, share = 1.96, hits / of
    middle, spread = share + z * z / (2 * of), z * (share * (1 - share) / of + z * z / (4 * of * of)) ** 0.5
    return tuple(100 * max(0, min(1, (middle + sign * spread) / (1 + z * z / of))) for sign in (-1, 1))


def audit():
    print("audit kv --executions 2000 --steps 300 --seed 1 --set bug=BUG: executions that fail, in percent, with 95 %")
    print("intervals (Wilson), and the first of them; the same operations and crashes under each disk\n")
    # The bugs of the storage engine; the others do not hang on a disk.
    for bug in ["none", *(bug for bug, *_ in BUGS[:8])]:
        with tempfile.TemporaryDirectory() as folder:
            words = [MISRULE, "audit", "kv", "--set", f"bug={bug}", "--seed", "1", "--json", "--quiet"]
            told = json.loads(subprocess.run(words, capture_output=True, cwd=folder, check=False).stdout)
        rows, of = told["rows"], told["executions"]
        properties = sorted({row["finding"]["property"] for row in rows})
        print(f"{bug}  ({', '.join(properties) or 'nothing found'})")
        for at, disk in enumerate(told["contracts"] if rows else []):
            cells = [row["appears"][at] for row in rows]
            hits = sum(cell["executions"] for cell in cells)
            first = min((cell["first"] for cell in cells if cell["first"]), default="-")
            low, high = wilson(hits, of)
            print(f"    {cells[0]['disk']:<16} {100 * hits / of:>6.2f}  ({low:.2f} to {high:.2f})  first {first}")
        sys.stdout.flush()


PARTS = {"bugs": bugs, "honest": honest, "cost": cost, "memory": memory, "audit": audit}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in PARTS:
        sys.exit(__doc__.splitlines()[0])
    place(" ".join(sys.argv[1:]))
    sys.exit(PARTS[sys.argv[1]](*sys.argv[2:]))
