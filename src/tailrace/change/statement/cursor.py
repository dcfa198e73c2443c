"""A cursor over the tokens of a statement: what is next, what is in parentheses, what is between commas."""

from __future__ import annotations

from collections.abc import Sequence

from tailrace.change.statement.lexer import Token
from tailrace.change.statement.values import TableName
from tailrace.errors import DecodeError


class Cursor:
    def __init__(self, found: Sequence[Token], text: str) -> None:
        self._tokens = list(found)
        self._text = text
        self._at = 0

    @property
    def left(self) -> bool:
        return self._at < len(self._tokens)

    @property
    def rest(self) -> Sequence[Token]:
        return self._tokens[self._at :]

    def peek(self, *words: str) -> bool:
        return self.left and self._tokens[self._at].says(*words)

    def ahead(self, *words: str) -> bool:
        """Whether these words follow, one after the other."""
        following = self._tokens[self._at : self._at + len(words)]
        return len(following) == len(words) and all(
            token.says(word) for token, word in zip(following, words, strict=True)
        )

    def take(self, *words: str) -> bool:
        """Step over these words, if they follow one after the other."""
        if self.ahead(*words):
            self._at += len(words)
            return True
        return False

    def next(self) -> Token:
        if not self.left:
            raise DecodeError(f"a statement that ends too early: {self._text!r}")
        self._at += 1
        return self._tokens[self._at - 1]

    def name(self) -> str:
        token = self.next()
        if token.kind not in ("name", "word", "string"):
            raise DecodeError(f"a name should stand at {self._text[token.begin :][:40]!r} of {self._text!r}")
        return token.text

    def table(self) -> TableName:
        first = self.name()
        return TableName(first, self.name()) if self.take(".") else TableName("", first)

    def inner(self) -> Cursor:
        """What stands between the parentheses that open here; steps over them."""
        if not self.take("("):
            raise DecodeError(f"a parenthesis should open at {self.here()!r} of {self._text!r}")
        begin, depth = self._at, 1
        while depth:
            token = self.next()
            depth += token.says("(") - token.says(")")
        return Cursor(self._tokens[begin : self._at - 1], self._text)

    def parts(self) -> list[Cursor]:
        """What is left, divided at the commas that stand in no parentheses."""
        found: list[list[Token]] = [[]]
        depth = 0
        while self.left:
            token = self.next()
            depth += token.says("(") - token.says(")")
            if token.says(",") and not depth:
                found.append([])
            else:
                found[-1].append(token)
        return [Cursor(part, self._text) for part in found if part]

    def until(self, *words: str) -> Cursor:
        """Everything before the first of these words that stands in no parentheses."""
        begin, depth = self._at, 0
        while self.left and (depth or not self.peek(*words)):
            token = self.next()
            depth += token.says("(") - token.says(")")
        return Cursor(self._tokens[begin : self._at], self._text)

    def source(self) -> str:
        """The text of what is left, as it was written."""
        return self._text[self._tokens[self._at].begin : self._tokens[-1].end] if self.left else ""

    def here(self) -> str:
        return self._text[self._tokens[self._at].begin :][:40] if self.left else ""
