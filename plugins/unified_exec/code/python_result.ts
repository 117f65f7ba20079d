import { EXACT_INTEGER, RESULT_LIMITS } from './result_limits.js'

/** The module that turns the `result` of a Python snippet into JSON. Values that JSON lacks become text or lists. */
export const pythonResult = `import base64
import dataclasses
import inspect
import json
import math
import os

class Unshown(Exception):
    pass

class Encoder:
    def __init__(self):
        # How values that JSON lacks are shown.
        self.kinds = []
        self.count = 0

    def note(self, kind):
        if kind not in self.kinds and len(self.kinds) < 8:
            self.kinds.append(kind)

    def text(self, value, kind=None):
        self.note(f"{kind or type(value).__name__} as text")
        return str(value)

    def encode(self, value, above=()):
        self.count += 1
        if self.count > ${RESULT_LIMITS.values}:
            raise Unshown("it has more than ${RESULT_LIMITS.values} values")
        if value is None or isinstance(value, bool):
            return value
        # Subclasses, such as enumerations, count as their plain value.
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, int):
            number = int.__index__(value)
            return number if abs(number) <= ${EXACT_INTEGER} else self.text(number, "a large int")
        if isinstance(value, float):
            number = float.__float__(value)
            return number if math.isfinite(number) else self.text(number)
        if id(value) in above:
            self.note("a cycle as '<cycle>'")
            return "<cycle>"
        if len(above) >= ${RESULT_LIMITS.levels}:
            return self.text(value, "the deepest levels")
        return self.encode_object(value, type(value), (*above, id(value)))

    def encode_object(self, value, kind, above):
        if isinstance(value, dict):
            return self.encode_dict(value, above)
        if isinstance(value, (list, tuple)):
            return [self.encode(item, above) for item in value]
        if isinstance(value, (set, frozenset)):
            self.note(f"{kind.__name__} as a list")
            return [self.encode(item, above) for item in sorted(value, key=repr)]
        if isinstance(value, range):
            self.note("range as a list")
            return [self.encode(item, above) for item in value]
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self.encode_bytes(bytes(value), kind)
        if isinstance(value, BaseException):
            self.note(f"{kind.__name__} as text")
            return f"{kind.__name__}: {value}"
        if inspect.isawaitable(value):
            if inspect.iscoroutine(value):
                value.close()
            return self.text(value, "an awaitable that was not awaited")
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            self.note(f"{kind.__name__} as its fields")
            return {field.name: self.encode(getattr(value, field.name), above) for field in dataclasses.fields(value)}
        if isinstance(value, os.PathLike):
            self.note(f"{kind.__name__} as text")
            return self.encode(os.fspath(value), above)
        if callable(getattr(value, "isoformat", None)):
            self.note(f"{kind.__name__} as text")
            return value.isoformat()
        if callable(getattr(kind, "tolist", None)):
            self.note(f"{kind.__name__} as a list")
            return self.encode(value.tolist(), above)
        if kind.__repr__ is object.__repr__ and kind.__str__ is object.__str__ and getattr(value, "__dict__", None):
            self.note(f"{kind.__name__} as its attributes")
            return self.encode_dict(vars(value), above)
        return self.text(value)

    def encode_dict(self, value, above):
        names = [self.encode_key(key) for key in value]
        if len(set(names)) == len(names):
            return {name: self.encode(item, above) for name, item in zip(names, value.values())}
        self.note("dict as pairs, because keys look the same")
        return [[self.encode(key, above), self.encode(item, above)] for key, item in value.items()]

    def encode_key(self, key):
        if type(key) is str:
            return key
        if key is None or type(key) in (bool, int):
            return json.dumps(key)
        return self.text(key, f"{type(key).__name__} keys")

    def encode_bytes(self, value, kind):
        try:
            text = value.decode()
            self.note(f"{kind.__name__} as text")
            return text
        except UnicodeDecodeError:
            self.note(f"{kind.__name__} as base64")
            return base64.b64encode(value).decode()

def describe(value):
    encoder = Encoder()
    try:
        encoded = encoder.encode(value)
        size = len(json.dumps(encoded, allow_nan=False))
        if size > ${RESULT_LIMITS.bytes}:
            raise Unshown(f"it is {size} bytes of JSON; at most ${RESULT_LIMITS.bytes} are shown")
        return {"result": encoded, "kinds": encoder.kinds}
    except Unshown as error:
        return {"unshown": str(error)}
    except BaseException as error:
        return {"unshown": f"{type(error).__name__}: {error}"[:300]}
`
