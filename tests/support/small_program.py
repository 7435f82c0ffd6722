"""A program for the reference `command`: one token per letter, and misbehavior on request.

Its arguments replace what it responds: `hello=JSON` is merged into its description, `OPERATION=JSON` is the response to
that operation. The texts in `MISBEHAVIOR` make it misbehave.
"""

import base64
import json
import os
import subprocess
import sys
import time

PIECES = ["<unk>", "<s>", "▁", "a", "b", "c", "<0x0A>"]
BYTES = [b"<unk>", b"<s>", b" ", b"a", b"b", b"c", b"\n"]
TYPES = ["unknown", "control", "normal", "normal", "normal", "normal", "byte"]
IDS = {" ": 2, "a": 3, "b": 4, "c": 5, "\n": 6}

HELLO = {
    "protocol": 1,
    "name": "small",
    "version": "1.0",
    "vocab_size": len(PIECES),
    "capabilities": ["add_special", "parse_special", "decode", "tokens", "stream", "extend"],
    "special_ids": {"bos": 1},
}


def hello(request):
    return HELLO


def encode(request):
    return {"ids": [encode_text(text, request) for text in request["texts"]]}


def encode_text(text, request):
    if text in MISBEHAVIOR:
        MISBEHAVIOR[text]()
    if "?" in text:
        return {"error": "a question"}
    if "!" in text:
        return {"unsupported": "an exclamation"}
    parts = text.split("<s>") if request["parse_special"] else [text]
    ids = [1] if request["add_special"] else []
    for number, part in enumerate(parts):
        ids += ([1] if number else []) + [IDS.get(letter, 0) for letter in part]
    return ids


def decode(request):
    return {"decoded": [to_json(b"".join(BYTES[id] for id in ids)) for ids in request["ids"]]}


def stream(request):
    return {"chunks": [[*(to_json(BYTES[id]) for id in ids), ""] for ids in request["ids"]]}


def extend(request):
    options = {"add_special": False, "parse_special": request["parse_special"]}
    texts = [["".join(pieces[: at + 1]) for at in range(len(pieces))] for pieces in request["texts"]]
    return {"ids": [[encode_text(text, options) for text in parts] for parts in texts]}


def tokens(request):
    every = zip(PIECES, BYTES, TYPES, strict=True)
    listed = [{"piece": piece, "bytes": to_json(data), "type": type} for piece, data, type in every]
    return {"tokens": [listed[id] for id in request["ids"]]}


def to_json(data):
    return {"base64": base64.b64encode(data).decode()}


def crash():
    sys.exit("it broke")


def crash_silently():
    os._exit(3)


def hang():
    time.sleep(60)


def hang_in_child():
    subprocess.run([sys.executable, "-c", "import time; time.sleep(60)"], check=False)


def start_daemon():
    """Start a process in a session of its own that keeps the pipes of this one."""
    if not os.fork():
        os.setsid()
        time.sleep(40)
        os._exit(0)


def hang_in_daemon():
    start_daemon()
    time.sleep(60)


def exit_with_daemon():
    start_daemon()
    os._exit(0)


def crash_beside_a_child():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    sys.stderr.write(f"{child.pid}\n")
    sys.stderr.flush()
    os._exit(3)


def stop_reading():
    """Answer this request, and no further one."""
    misbehavior.append(stop_reading)


misbehavior = []


def flood():
    sys.stderr.write("x" * 1_000_000 + "\nthe last line\n")
    os._exit(1)


def endless_line():
    while True:
        sys.stdout.write("x" * 65_536)


def no_json():
    print("Loading...", flush=True)


MISBEHAVIOR = {
    "crash": crash,
    "crash silently": crash_silently,
    "hang": hang,
    "hang in child": hang_in_child,
    "hang in daemon": hang_in_daemon,
    "exit with daemon": exit_with_daemon,
    "crash beside a child": crash_beside_a_child,
    "stop reading": stop_reading,
    "flood": flood,
    "endless line": endless_line,
    "no json": no_json,
}


def respond(request, replaced):
    operation = request["op"]
    if operation != "hello" and operation in replaced:
        return {"id": request["id"], **json.loads(replaced[operation])}
    response = {"id": request["id"], **globals()[operation](request)}
    return response | json.loads(replaced.get(operation, "{}")) if operation == "hello" else response


def main(arguments):
    replaced = dict(argument.split("=", 1) for argument in arguments)
    for line in sys.stdin:
        print(json.dumps(respond(json.loads(line), replaced)), flush=True)
        if misbehavior:
            time.sleep(60)


if __name__ == "__main__":
    main(sys.argv[1:])
