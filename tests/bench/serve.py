# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A small service: "ready PORT PID", then ten rows of JSON for each GET, whose strings are too long for Python's own pools."""
import http.server
import json
import os


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # One segment for each answer.
    wbufsize = -1

    def do_GET(self):
        rows = [{"id": i, "name": f"{i}" * 600} for i in range(10)]
        body = json.dumps({"path": self.path, "rows": rows}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print("ready", server.server_port, os.getpid(), flush=True)
server.serve_forever()
