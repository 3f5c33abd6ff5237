"""Holds documents against JSON schemas: a list of {"schema": path, "documents": [path, ...]}.

Without an argument: says whether the package is there, with exit code 0, or 3 and the reason.
"""

import json
import sys
import xml.etree.ElementTree

try:
    import jsonschema
except ImportError as error:
    print(error)
    sys.exit(3)

if len(sys.argv) == 1:
    from importlib.metadata import version

    print(f"jsonschema {version('jsonschema')}")
    sys.exit(0)


def read(path):
    with open(path, "rb") as file:
        return json.load(file)


count = 0
for case in read(sys.argv[1]):
    if "xml" in case:
        for path in case["xml"]:
            root = xml.etree.ElementTree.parse(path).getroot()
            suites = root.findall("testsuite")
            cases = [one for suite in suites for one in suite.findall("testcase")]
            assert root.tag == "testsuites" and len(cases) == int(root.get("tests")), path
            assert sum(one.find("failure") is not None for one in cases) == int(root.get("failures")), path
            assert [one.get("name") for one in cases] == case["names"], [one.get("name") for one in cases]
            count += 1
        continue
    schema = read(case["schema"])
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    for path in case["documents"]:
        errors = list(kind(schema).iter_errors(read(path)))
        assert not errors, f"{path}: {errors[0].json_path}: {errors[0].message}"
        count += 1
print(count, "documents")
