"""The documents and the commands in them, for run-doc-commands and check-commands.

A command stands in a fenced block of language `sh`, and the block says after its language what the tests do with it:

    ```sh run                     executed by `make test`
    ```sh soak takes two minutes  executed by `make soak`; the words after it say why not always
    ```sh never needs a Lustre    executed by no test, for the reason given; its options are checked all the same

`needs=NAME,...` among the words leaves the block out where something is missing (run-doc-commands says what can be named).
Other languages take part if they name a file (```c file=NAME), which is written for the commands after them.
"""
import dataclasses
import pathlib
import re

SOURCE = pathlib.Path(__file__).resolve().parents[2]
MARKS = ("run", "soak", "never")
FENCE = re.compile(r"^( *)```(\S*) *(.*)$")


@dataclasses.dataclass
class Block:
    document: pathlib.Path
    line: int  # of its fence
    language: str
    words: list
    text: str = ""

    @property
    def mark(self):
        return self.words[0] if self.language == "sh" and self.words and self.words[0] in MARKS else None

    @property
    def options(self):
        return dict(word.split("=", 1) for word in self.words if re.match(r"(file|needs)=", word))

    @property
    def reason(self):
        return " ".join(word for word in self.words[1:] if not re.match(r"(file|needs)=", word))

    @property
    def needs(self):
        return [need for need in self.options.get("needs", "").split(",") if need]

    @property
    def where(self):
        return f"{self.document.relative_to(SOURCE)}:{self.line}"


def all_documents():
    return sorted([*SOURCE.glob("*.md"), *SOURCE.glob("docs/*.md"), *SOURCE.glob("examples/*/README.md")])


def blocks_of(document):
    """The fenced blocks of a document, in order. Blocks of a list item lose its indentation."""
    found, block, indent = [], None, ""
    for number, line in enumerate(document.read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if block is None and fence:
            indent = fence[1]
            block = Block(document, number, fence[2], fence[3].split())
        elif block is not None and line.rstrip() == indent + "```":
            found.append(block)
            block = None
        elif block is not None:
            block.text += line.removeprefix(indent) + "\n"
    if block is not None:
        raise SystemExit(f"{block.where}: a fenced block does not end")
    return found


def prose_of(document):
    """(line number, text) of everything outside fenced blocks."""
    inside = False
    for number, line in enumerate(document.read_text().splitlines(), 1):
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            yield number, line
