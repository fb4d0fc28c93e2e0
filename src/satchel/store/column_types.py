"""Column types that hold the same in both databases."""

import re
from typing import Any

from sqlalchemy import BigInteger, Integer, Text, TypeDecorator

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")

Number = BigInteger().with_variant(Integer, "sqlite")  # only an INTEGER counts up by itself there


class SafeText(TypeDecorator[str]):
    """Text of any origin. PostgreSQL takes no NUL, SQLite no lone surrogate: they become U+FFFD."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> str | None:
        return None if value is None else _UNSTORABLE.sub("\ufffd", value)

    def process_result_value(self, value: Any, dialect: Any) -> str | None:
        return value.decode(errors="replace") if isinstance(value, bytes) else value  # SQLite keeps any kind
