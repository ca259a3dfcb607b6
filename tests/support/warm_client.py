# SPDX-License-Identifier: Apache-2.0
"""The client of support.warm: requests a run of ReFrame with its arguments, and exits with the status of the run."""

import json
import os
import socket
import sys

with socket.socket(socket.AF_UNIX) as server:
    server.connect(sys.argv[1])
    request = {"arguments": sys.argv[2:], "environment": dict(os.environ), "directory": os.getcwd()}
    data = json.dumps(request).encode() + b"\n"
    sent = socket.send_fds(server, [data], [1, 2])
    server.sendall(data[sent:])
    answer = server.recv(16).decode()
status = int(answer or 1)
if status < 0:
    os.kill(os.getpid(), -status)
sys.exit(status)
