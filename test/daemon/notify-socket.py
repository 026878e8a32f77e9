# A service manager's socket: prints each message as one line of JSON, and the notice that it is read.
import array, json, os, socket, sys

manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1])
print("listening", flush=True)
while True:
    data, ancillary, _, _ = manager.recvmsg(4096, socket.CMSG_SPACE(64))
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            # BARRIER=1: closing the descriptor is the answer.
            for descriptor in array.array("i", payload):
                os.close(descriptor)
    print(json.dumps(data.decode()), flush=True)
