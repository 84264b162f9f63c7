"""The entry point of the command line: `gapless …`, or `python -m gapless.cli …`."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
# When Ctrl-C is raised once more, if it has not arrived by then.
AGAIN_SECONDS = 1.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str or None, default=None
        The words after `gapless`; those of the process if None.

    Returns
    -------
    int
        0 done, 1 findings (`check`, or `--strict`), 2 could not run, 130 interrupted by Ctrl-C, 143
        ended by SIGTERM.
    """
    words = sys.argv[1:] if argv is None else list(argv)
    _replace_closed_streams()
    written: list[str] = []
    with interrupts(is_process=argv is None) as came:
        try:
            return _main(words, came, written)
        except BrokenPipeError:
            _leave_pipes()
            return 0
        # An interrupted import may end in any error.
        except (Exception, KeyboardInterrupt):
            if "--debug" in words or not came():
                raise
            # A second one finds nothing to end.
            for number in SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            from .words import interrupted

            print(f"gapless: {interrupted(written)}", file=sys.stderr)
            # A shell's exit code for a process ended by a signal.
            return 128 + came()


def _main(words: Sequence[str], came: Callable[[], int], written: list[str]) -> int:
    """Run a command; Ctrl-C and a broken pipe are the caller's, other errors are reported here.

    The names of files are added to the list as they are written.
    """
    # Imported here, where Ctrl-C is already handled.
    import traceback

    from .args import UsageError, parse
    from .files import noting_files
    from .printer import COULD_NOT_RUN, Printer
    from .words import message_of

    for stream in (sys.stdout, sys.stderr):
        # What a terminal cannot show is replaced, not an error.
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    printer = Printer(sys.stdout, sys.stderr)
    try:
        args = parse(words)
    except UsageError as error:
        printer.error(str(error))
        return COULD_NOT_RUN
    printer = Printer(sys.stdout, sys.stderr, args.verbosity)
    try:
        with noting_files(written):
            return _run(args, printer)
    except BrokenPipeError:
        raise
    except Exception as error:
        if came():
            raise
        if args.debug:
            traceback.print_exc()
        else:
            printer.error(message_of(error, getattr(args, "model", None)))
        return COULD_NOT_RUN
    finally:
        printer.end_progress()


def _run(args: Any, printer: Any) -> int:
    """Run the command of parsed options; warnings of libraries are lines of the trace."""
    import warnings

    from .args import COMMANDS

    def show(message: Any, category: type[Warning], *where: Any) -> None:
        printer.detail(f"{category.__name__}: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show  # type: ignore[assignment]
        return COMMANDS[args.command].run(args, printer)


@contextlib.contextmanager
def interrupts(*, is_process: bool) -> Iterator[Callable[[], int]]:
    """Raise KeyboardInterrupt on Ctrl-C and SIGTERM, and record which one came; 0 is none.

    An exception raised while an object is being destroyed is lost, with a message that means
    nothing to a user; so it is raised a second time, without that message. A process that is about
    to end is no longer interrupted; otherwise the previous handler is restored.
    """
    came = 0

    def handle(number: int, frame: Any) -> None:
        nonlocal came
        if number != signal.SIGALRM:
            came = number
            signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield lambda: came
        return
    before = [signal.signal(number, handle) for number in SIGNALS]
    tell_of_lost = sys.unraisablehook
    sys.unraisablehook = lambda lost: None if came else tell_of_lost(lost)
    try:
        yield lambda: came
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        sys.unraisablehook = tell_of_lost
        for number, handler in zip(SIGNALS, before):
            signal.signal(number, signal.SIG_IGN if is_process else handler)


def _replace_closed_streams() -> None:
    """Give a process started without a stream, as by `>&-`, one that leads nowhere.

    Python has None in its place, and the next file to be opened, such as that of the model, would
    get its number, and then whatever a library prints.
    """
    for number, name in ((1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, "w", encoding="utf-8", closefd=False))


def _leave_pipes() -> None:
    """The reader of our output closed the pipe; stop writing."""
    from .printer import leave_pipe

    for stream in (sys.stdout, sys.stderr):
        leave_pipe(stream)


if __name__ == "__main__":
    sys.exit(main())
