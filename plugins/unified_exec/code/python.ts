/** The module `vtcode` for Python snippets. */
export const pythonModule = `import json
import os
import socket
import threading

class CallError(Exception):
    def __init__(self, code, message, hint):
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.hint = code, message, hint

os.set_inheritable(3, False)
_line = socket.socket(fileno=3)
_answers = _line.makefile("rb")
_turn = threading.Lock()

def _send(message):
    _line.sendall(json.dumps(message, allow_nan=False).encode() + b"\\n")

def call(tool, input=None):
    with _turn:
        _send({"id": 0, "tool": tool, "input": input or {}})
        answer = json.loads(_answers.readline())
    if "error" in answer:
        raise CallError(answer["error"]["code"], answer["error"]["message"], answer["error"]["hint"])
    return answer["output"]
`

/** The program that runs a Python snippet as `__main__` and reports its `result`. */
export const pythonStart = `import os
import sys
import traceback
import types

import vtcode

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "snippet.py")
module = types.ModuleType("__main__")
module.__file__ = path
sys.modules["__main__"] = module
sys.argv = [path]
sys.path.append(os.getcwd())
with open(path, encoding="utf-8") as file:
    source = file.read()
try:
    exec(compile(source, path, "exec"), module.__dict__)
except SystemExit:
    raise
except BaseException as error:
    # From the snippet on: the frame that runs it is left out.
    traceback.print_exception(type(error), error, error.__traceback__.tb_next)
    sys.exit(1)
finally:
    message = {"done": True}
    if "result" in module.__dict__:
        # Most snippets have no result, so they do not load this.
        from vtcode_result import describe
        message.update(describe(module.result))
    try:
        vtcode._send(message)
    except OSError:
        pass
`
