"""Reads a page strictly: every element closed in order, every id once."""

from html.parser import HTMLParser

_VOID = {"meta", "img", "br", "col", "link", "input"}


class Page(HTMLParser):
    """What a page consists of.

    Attributes:
      elements: Tag and attributes of each element.
      text: All text outside of styles, its white space collapsed.
    """

    def __init__(self, source: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self._open: list[str] = []
        self._words: list[str] = []
        self.feed(source)
        self.close()
        assert not self._open, f"not closed: {self._open}"
        ids = self.values("id")
        assert len(ids) == len(set(ids)), f"twice: {sorted(i for i in ids if ids.count(i) > 1)}"

    @property
    def text(self) -> str:
        return " ".join(" ".join(self._words).split())

    def values(self, attribute: str) -> list[str]:
        """The attribute's value in each element that has it."""
        return [attributes[attribute] for _, attributes in self.elements if attribute in attributes]

    def of(self, tag: str) -> list[dict[str, str]]:
        """The attributes of each element of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice: {names}"
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open and self._open[-1] == tag, f"</{tag}> ends <{self._open[-1:]}>"
        self._open.pop()

    def handle_data(self, data):
        if self._open[-1:] != ["style"]:
            self._words.append(data)
