"""What holds for all tests."""

import signal

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    # Inherited from a shell that started the tests in the background, and handed on to all that
    # they start, which would then not end at a Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
