from ..tree import Node
from .language import Language

def node_language(node: Node) -> Language | None: ...
