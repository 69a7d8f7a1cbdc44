# An opencode with a server, at the port `--port`: every prompt is a turn that ends at once. It keeps what it is given, tells whoever
# listens, and writes it down in the directory, as strings of JSON, and what it is asked beside it. A turn of somebody else's begins with
# a POST to /begin.
import http.server, json, os, queue, sys, threading

port, directory = int(sys.argv[2]), sys.argv[3]
session = {"id": "ses_1", "title": "A title"}
manner = {"agent": "build", "model": {"providerID": "p", "modelID": "m"}}
messages, statuses, listeners, lock = [], {}, [], threading.Lock()


def tell(kind, **properties):
    event = json.dumps({"type": kind, "properties": {"sessionID": "ses_1", **properties}})
    for listener in listeners:
        listener.put(event)


def note(file, line):
    with open(os.path.join(directory, file), "a") as notes:
        notes.write(line + "\n")


def turn(is_under_way):
    statuses.pop("ses_1", None)
    if is_under_way:
        statuses["ses_1"] = {"type": "busy"}
    tell("session.status", status={"type": "busy" if is_under_way else "idle"})


def prompt(text):
    message = {"id": "msg_%d" % len(messages), "role": "user", **manner}
    part = {"type": "text", "text": text, "messageID": message["id"]}
    messages.append({"info": message, "parts": [part]})
    note("submitted", json.dumps(text))
    turn(True)
    tell("message.updated", info=message)
    tell("message.part.updated", part=part)
    turn(False)


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, document):
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("connection", "close")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/event":
            return self.tell_all()
        with lock:
            documents = {
                "/session": [session],
                "/session/ses_1": session,
                "/session/ses_1/message": messages[-20:],
                "/session/status": statuses,
            }
            self.answer(documents.get(path, []))
            note("asked", path)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        with lock:
            if self.path == "/session/ses_1/prompt_async":
                prompt(json.loads(body)["parts"][0]["text"])
            else:
                turn(self.path == "/begin")
            self.answer(True)

    def tell_all(self):
        events = queue.Queue()
        with lock:
            listeners.append(events)
        try:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            while True:
                self.wfile.write(("data: %s\n\n" % events.get()).encode())
        finally:
            with lock:
                listeners.remove(events)


class Threads(http.server.ThreadingHTTPServer):
    # Whoever asks is killed all the time.
    def handle_error(self, *_):
        pass


server = Threads(("127.0.0.1", port), Server)
with lock:
    prompt("say hello")
server.serve_forever()
