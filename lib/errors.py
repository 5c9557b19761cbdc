"""The one exception that is meant for the user's eyes."""


class InputError(ValueError):
    """Something the user gave cannot be used.

    The message is one sentence: which parameter or file, what was wrong, what would be right.
    """
