#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""`thrum why --slow`: where a slow task's time went, beside a usual one's; flame graphs."""

import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from diff import Test, trace  # noqa: E402


def requests():
    """Ten requests that wait 100 for a disk and run 50; of the last, the disk takes 5,000."""
    lines = ["1000 switch 0"]
    for i in range(10):
        at, task, disk = 2000 + i * 10000, 10 + 2 * i, 11 + 2 * i
        end = at + (5000 if i == 9 else 100)
        lines += [f"{at} create 0 {task} bind", f"{at} label {task} GET /{i}",
                  f"{at} create 0 {disk} promise", f"{at} label {disk} disk; sector {i}",
                  f"{at} wait {task} {disk}", f"{end} resolve 0 {disk}",
                  f"{end} read {task} {disk}", f"{end} switch {task}",
                  f"{end + 50} resolve {task} {task}", f"{end + 50} switch 0"]
    return "\n".join(lines)


def main():
    test = Test()
    with tempfile.TemporaryDirectory() as here:
        os.chdir(here)
        trace("slow.ctf", requests())
        output = test.run(0, "why", "--slow=GET *", "slow.ctf")
        test.says(output, "“GET /9” (task 28) took 5.05 µs, the slowest of 10",
                  "usual (the median) is 150 ns",
                  "99 % of its time (5 µs; usually 100 ns) it waited for “disk; sector 9” (task 29)")
        test.says(test.run(0, "why", "--slow=get /#", "--percentile=90", "slow.ctf"),
                  "took 150 ns, the 90th percentile of 10")

        answer = json.loads(test.run(0, "why", "--slow=GET *", "--format=json", "slow.ctf"))
        test.expect(answer["task"] == 28 and answer["took"] == 5050, answer)
        test.expect(answer["usual"] == 150 and answer["count"] == 10, answer)
        test.expect(sum(share["took"] for share in answer["shares"]) == 5050, answer)
        test.expect(sum(share["usual"] for share in answer["shares"]) == 150, answer)
        test.expect([part["doing"] for part in answer["path"]] == ["waits", "runs"], answer)

        test.run(0, "why", "--slow=GET *", "--flame=flame.svg", "--folded=folded.txt", "slow.ctf")
        with open("folded.txt", encoding="utf-8") as file:
            folded = file.read()
        test.expect(folded == "GET /#;[runs] 500\nGET /#;disk, sector # 5900\n", folded)
        with open("flame.svg", encoding="utf-8") as file:
            test.says(file.read(), "“GET /#”: where the time of 10 tasks went, 6.4 µs in all",
                      "disk; sector # 5.9 µs", "runs 500 ns")
        test.expect(test.run(0, "why", "--slow=GET *", "--folded=-", "slow.ctf") == folded,
                    "--folded=- is another")

        test.says(test.run(2, "why", "--slow=POST", "slow.ctf"), 'no task labelled "POST"')
        test.run(64, "why", "--flame=flame.svg", "slow.ctf")
        test.run(64, "why", "--slow=GET *", "--flame=flame.gif", "slow.ctf")
        test.run(64, "why", "--slow=GET *", "--percentile=7", "slow.ctf")
    sys.exit(test.failed)


if __name__ == "__main__":
    main()
