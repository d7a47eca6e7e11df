# SPDX-License-Identifier: ISC
"""Asks transmission-daemon for its settings, as soon as it answers. Argument: its port."""
import json
import sys
import time
import urllib.error
import urllib.request

url = f"http://127.0.0.1:{sys.argv[1]}/transmission/rpc"
# Not through the user's proxy.
urllib.request.install_opener(urllib.request.build_opener(urllib.request.ProxyHandler({})))
key = None
for _ in range(600):
    try:
        urllib.request.urlopen(url, timeout=60)
    except urllib.error.HTTPError as error:
        assert error.code == 409, error
        key = error.headers["X-Transmission-Session-Id"]
        break
    except OSError:
        time.sleep(0.1)
request = urllib.request.Request(url, b'{"method": "session-get"}', {"X-Transmission-Session-Id": key})
assert json.load(urllib.request.urlopen(request, timeout=60))["result"] == "success"
