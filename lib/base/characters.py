"""Characters that no encoding has, and bytes in an unknown one."""


def mend(sentence: str) -> str:
    """The sentence with each lone surrogate replaced by U+FFFD.

    No encoding can write a lone surrogate.
    """
    try:
        sentence.encode()
    except UnicodeEncodeError:
        return sentence.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return sentence


def decoded(word: bytes) -> str:
    """The text of bytes in UTF-8, or else in Latin-1."""
    try:
        return word.decode()
    except UnicodeDecodeError:
        return word.decode("latin-1")
