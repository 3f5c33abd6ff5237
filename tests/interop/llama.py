"""Runs a GGUF file of tensorgate's in llama.cpp, and compares with the reference.

Usage: llama.py [CASE.json]

CASE.json is {"model", "reference", "tolerance"}: paths, and the largest difference of a logit. The reference is
{"cases": [{"text", "ids", "last_logits"}]}. Without an argument: exit code 0 where the packages are there, else 3.
"""

import json
import sys

try:
    import llama_cpp
    import numpy
except ImportError as error:
    print(error)
    sys.exit(3)


def main():
    if len(sys.argv) < 2:
        print(f"llama_cpp {llama_cpp.__version__}")
        return 0
    with open(sys.argv[1], encoding="utf-8") as file:
        case = json.load(file)
    with open(case["reference"], encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    model = llama_cpp.Llama(case["model"], n_ctx=256, verbose=False, logits_all=True)
    wrong, worst = 0, 0.0
    for meant in cases:
        ids = model.tokenize(meant["text"].encode(), add_bos=False)
        if ids != meant["ids"]:
            print(f"{meant['text']!r}: tokens {ids}, meant {meant['ids']}")
            wrong += 1
        model.reset()
        model.eval(meant["ids"])
        logits = numpy.array(model.scores[len(meant["ids"]) - 1])
        worst = max(worst, float(abs(logits - numpy.array(meant["last_logits"])).max()))
    print(f"{len(cases)} texts, logits differ by {worst:.6f} at the most")
    return 1 if wrong or not cases or worst > case["tolerance"] else 0


if __name__ == "__main__":
    sys.exit(main())
