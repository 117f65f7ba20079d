"""Prints the names that the modules declare, as CPython's parser reads them: one JSON line per file."""

import ast
import json
import sys

BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def list_targets(target):
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from list_targets(element)
    elif isinstance(target, ast.Starred):
        yield from list_targets(target.value)


def list_names(statements, prefix):
    for statement in statements:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield prefix + statement.name
        elif isinstance(statement, ast.ClassDef):
            yield prefix + statement.name
            yield from list_names(statement.body, f"{prefix}{statement.name}.")
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                for name in list_targets(target):
                    yield prefix + name
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield prefix + statement.target.id
        elif type(statement).__name__ == "TypeAlias":
            yield prefix + statement.name.id
        else:
            for block in BLOCKS:
                yield from list_names(getattr(statement, block, []), prefix)


for path in sys.argv[1:]:
    with open(path, "rb") as file:
        print(json.dumps({"path": path, "names": list(list_names(ast.parse(file.read()).body, ""))}))
