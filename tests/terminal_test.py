"""What a terminal shows: no line of fit's is wider than it is, from 60 columns on."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest
from built import program

QUESTIONS = (
    ("qwen3-4b", "4090", "--train"),
    ("llama2-7b", "4090", "--train", "--lora", "16", "--max-batch"),
    ("qwen3-0.6b", "3060", "--generate", "256", "--advise"),
)


def shown(columns: int, *words: str) -> list[str]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen([program("fit"), *words], stdout=theirs, stderr=subprocess.DEVNULL):
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 1 << 16):
                text += part
        except OSError:
            pass  # it ended
    os.close(ours)
    return re.sub(r"\x1b\[[\d;]*m", "", text.decode()).splitlines()


@pytest.mark.parametrize("columns", [60, 72, 100, 160])
@pytest.mark.parametrize("words", QUESTIONS, ids=lambda words: words[0])
def test_lines_are_no_wider(columns, words):
    lines = shown(columns, *words)
    assert len(lines) > 10
    assert [line for line in lines if len(line) > columns] == []
