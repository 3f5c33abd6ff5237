"""Opens a GPT-2 that tensorgate converted in transformers, and compares it with the one that it was made of.

Usage: transformers_read.py [CASE.json]

CASE.json is {"before", "after", "ids", "logits"}: two folders, token ids, and the logits of the last of them by the
reference. Without an argument: exit code 0 where the packages are there, else 3.
"""

import json
import sys

try:
    import torch
    import transformers
except ImportError as error:
    print(error)
    sys.exit(3)


def logits(folder, ids):
    model = transformers.GPT2LMHeadModel.from_pretrained(folder, dtype=torch.float32)
    model.eval()
    with torch.no_grad():
        shown = model(torch.tensor([ids])).logits[0]
    return model.state_dict(), shown


def main():
    if len(sys.argv) < 2:
        print(f"transformers {transformers.__version__}, torch {torch.__version__}")
        return 0
    with open(sys.argv[1], encoding="utf-8") as file:
        case = json.load(file)
    (before, one), (after, two) = (logits(case[key], case["ids"]) for key in ("before", "after"))
    differ = sorted(before.keys() ^ after.keys())
    differ += [name for name in before.keys() & after.keys() if not torch.equal(before[name], after[name])]
    worst = float((two[-1] - torch.tensor(case["logits"])).abs().max())
    for name in differ:
        print(f"{name} differs")
    print(f"{len(after)} parameters, logits differ from the reference's by {worst:.7f}")
    return 1 if differ or not torch.equal(one, two) or worst > 1e-3 else 0


if __name__ == "__main__":
    sys.exit(main())
