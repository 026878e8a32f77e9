"""Reads a team, its tags and one user with Python's standard library: python3 client.py robin@example.com"""

import base64
import hashlib
import hmac
import json
import os
import ssl
import sys
import time
import urllib.error
import urllib.request

base_url = os.environ["MUSTERD_BASE_URL"]
secret_id = os.environ["MUSTERD_SECRET_ID"]
secret_key = os.environ["MUSTERD_SECRET_KEY"]
trust = ssl.create_default_context(cafile=os.environ.get("NODE_EXTRA_CA_CERTS"))


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token() -> str:
    """A token is good for five minutes."""
    header = {"alg": "HS256", "typ": "JWT"}
    payload = {"iss": secret_id, "iat": int(time.time())}
    signed = ".".join(base64url(json.dumps(part).encode()) for part in (header, payload))
    key = f"{secret_id}||{secret_key}".encode()
    return f"{signed}.{base64url(hmac.new(key, signed.encode(), hashlib.sha256).digest())}"


def call(method: str, path: str, body: object = None):
    """The answer; any status but 200 ends the program."""
    request = urllib.request.Request(
        base_url + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {token()}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, context=trust, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        why = [f"{name}: {value}" for name, value in error.headers.items() if name.lower().startswith("x-")]
        sys.exit("\n".join([f"{method} {path}: {error.code} {error.read().decode()}", *why]))


def pages(path: str):
    """All rows, each once. Pages end with an empty one: a short page proves nothing."""
    rows, page = {}, 0
    while found := call("POST", path, {"limit": 100, "page": page}):
        rows.update((row["id"], row) for row in found)
        page += 1
    return list(rows.values())


team = call("GET", "/v1/team")
print(f"team {team['id']} {team['name']}, {len(team['members'])} members")
print(f"{len(pages('/v1/tags'))} tags")
# A GET with a JSON body.
for user in call("GET", "/v1/users/get", {"email": [sys.argv[1]]})["memberships"]:
    print(f"user {user['id']} {user['name']}")
