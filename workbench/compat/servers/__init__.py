"""Backends for inference servers, under a name of our own: this engine where the server asks for a grammar.

    from workbench.compat.servers import sglang, vllm

    sglang.register()                       # then --grammar-backend maskscope
    vllm.register(instead_of="xgrammar")    # vLLM's names are fixed, so ours takes the place of one

The modules import without the server; registering without it raises `ServerInterfaceError`, and so does a server whose
interface is not one of those that were read (docs/concepts/servers.md says which).
A server whose imports nobody wants to touch may have all of XGrammar served by this engine instead: `..stand_in`.

Code map, in reading order: `requests` (what a request asks for, and the text that follows it), `vllm`, `sglang`.
"""
