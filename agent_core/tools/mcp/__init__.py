"""Tools of MCP servers that the user configured (`[mcp.NAME]`): other programs, whose word is checked and bounded.

settings.py    what the user says of a server
names.py       how a server's tools are called here
catalogue.py   what a server lists, made into tools of ours, within bounds
content.py     what a tool of a server answers, made into text, within bounds
process.py     a server that is a process: its lines, its end
sdk.py         the one module that knows the `mcp` SDK (extra `mcp`), loaded when a server is started
server.py      one server: started when first needed, ended with the session
servers.py     the servers of a session
"""
