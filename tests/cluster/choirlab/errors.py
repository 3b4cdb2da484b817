"""errors.py: the one exception the lab's commands end with, and its exit codes."""

FAILED = 1
USAGE = 2
SKIP = 77  # ctest's SKIP_RETURN_CODE: this machine or user cannot have a lab


class LabError(Exception):
    """A message for the user, and the exit code of the command."""

    def __init__(self, message, code=FAILED):
        super().__init__(message)
        self.code = code


def cannot_here(message):
    """The lab needs a right, a kernel feature or a program that is not there."""
    return LabError(message, SKIP)
