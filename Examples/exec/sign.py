#!/usr/bin/env python3
"""Signs each request: X-Signature is the HMAC-SHA-256 of its body.

The key is the variable that the option `key_variable` names.

    - exec: { command: [python3, sign.py], stage: http, options: { key_variable: SIGNING_KEY } }
"""

import hashlib
import hmac
import json
import os
import sys

key = b""

for line in sys.stdin:
    message = json.loads(line)
    if message["event"] == "start":
        # Comes once, has no id, and wants no answer.
        name = (message.get("options") or {}).get("key_variable", "SIGNING_KEY")
        key = os.environ.get(name, "").encode()
        if not key:
            print(f"{name} is not set, so nothing is signed", file=sys.stderr, flush=True)
        continue
    reply = {"id": message["id"], "action": "continue"}
    if key and message["event"] == "request":
        body = (message.get("body") or "").encode()
        reply["headers"] = {"X-Signature": hmac.new(key, body, hashlib.sha256).hexdigest()}
    # Answers are lines, and nobody sees them before they are flushed.
    print(json.dumps(reply), flush=True)
