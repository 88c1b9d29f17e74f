"""The local control socket: another process of the same user on this machine watches, starts turns,
answers, steers, cancels and undoes.

messages.py   what goes over the socket, one JSON object a line
sockets.py    where sockets lie, who may use them, what is stale
server.py     the hosting side; what a request does is handed in
client.py     the other side
lock.py       which process hosts a session
"""
