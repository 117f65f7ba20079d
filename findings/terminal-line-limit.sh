#!/usr/bin/env bash
# Linux, the line discipline of a terminal: of 5,000 letters typed on one line a program gets 4,095, and nothing says so.
#
# Expected: what is typed arrives, or the terminal stops taking letters; one ^D ends the input.
# Seen:  letters after the 4,095th are dropped and the end of line still counts; the write succeeds. On an unfinished line the first ^D only
#        hands the line over, the second ends the input. In raw mode all 5,000 arrive.
# Consequence here: long input for a program in a terminal goes through a file or a pipe.
set -euo pipefail
python3 - <<'EOF'
import os, pty, sys, termios, time, tty

def run(typed, raw=False):
    child, master = pty.fork()
    if child == 0:
        total, reads = 0, 0
        print('ready', flush=True)
        while True:
            part = os.read(0, 65536)
            if raw and total + len(part) >= 5000 or not part:
                print(f'{total + len(part)} bytes, {reads} reads', flush=True)
                os._exit(0)
            total, reads = total + len(part), reads + 1
    attributes = termios.tcgetattr(master)
    attributes[3] &= ~(termios.ECHO | (termios.ICANON if raw else 0))
    termios.tcsetattr(master, termios.TCSANOW, attributes)
    seen = b''
    while b'ready' not in seen: seen += os.read(master, 4096)
    for part in typed:
        sent = 0
        while sent < len(part): sent += os.write(master, part[sent:sent + 500]); time.sleep(0.02)
        time.sleep(0.2)
    seen = b''
    while b'reads' not in seen: seen += os.read(master, 4096)
    os.waitpid(child, 0)
    return seen.decode().strip()

line = b'x' * 5000
seen = [run([line + b'\n', b'\x04']), run([b'abc\x04', b'\x04']), run([line], raw=True)]
for one in seen: print(one)
sys.exit(0 if seen[0] == '4096 bytes, 1 reads' and seen[1].startswith('3 bytes, 1') and seen[2].startswith('5000 bytes') else 1)
EOF
