"""Write tables as people write them, damage them, and see that nothing worse than an error happens.

A file is made of columns of known kinds in a style of its own: separators, quotes, ends of lines,
encodings, headers. One that was not damaged has to give its numbers back; one that was is read or
refused with a word, in little time and memory. Run by the hundred thousand with

    python -m tests.attack.csv_fuzz --files 100000

and repeat one of them with ``--only NUMBER`` and the same ``--seed``. A run goes on after a finding
and prints each.
"""

import argparse
import gzip
import os
import sys
import tempfile
import time
import traceback
import warnings

import numpy as np
import pyarrow

import mercer
from mercer.exceptions import MercerError
from tests.io.model_fuzz import MOST_FINDINGS, STEP, limit_memory, so_far

SECONDS = 2.0
"""CPU time that a small file may take; the size of all files is a few kilobytes."""
MEMORY = 200_000_000
"""Bytes of memory that reading may take besides those of the process."""

WORDS = ("red", "green", "blue", "a b", "Łódź", "x", "東京", "yes", "no", "=1+1", "@cmd", "O'Neill")
ODD = (
    *(
        "",
        "NA",
        "n/a",
        "?",
        "nan",
        "inf",
        "-inf",
        "1e999",
        "-1e999",
        "5e-324",
        "1,234.5",
        "1.234,5",
    ),
    *("0x1F", "1_000", "١٢٣", "½", "1e", "--1", "+", ".", "1/0", "2024-02-30", "24:61", "TRUE"),
    *("\x00", "\ufeff", "\u2028", "\x1a", "\x85", "'", '"', '""', '"a', 'a"b', "\\", "\\n", "\\N"),
    *("=cmd|' /C calc'!A0", "<script>", "{}", "[1]", "%s", "${x}", "a" * 4000, "9" * 400, " "),
)

ENCODINGS = (*["utf-8"] * 6, "utf-8-sig", "utf-16", "latin-1", "cp1252")


def column(random, rows):
    """Return cells of one kind, and their numbers where they are such."""
    kind = random.integers(5)
    if kind == 0:
        values = random.standard_normal(rows) * 10.0 ** random.integers(-8, 9)
        return [repr(float(value)) for value in values], values
    if kind == 1:
        values = random.integers(-1000, 1000, rows)
        return [str(value) for value in values], values.astype(float)
    if kind == 2:
        days = random.integers(1, 28, rows)
        return [f"2024-{1 + day % 12:02d}-{day:02d}" for day in days], None
    if kind == 3:
        return [str(flag).lower() for flag in random.random(rows) < 0.5], None
    return [str(word) for word in random.choice(WORDS, rows)], None


def written(cells, style):
    """Return one line, with quotes where a cell needs them or the style has them everywhere."""
    separator, everywhere = style["separator"], style["quoted"]
    line = []
    for cell in cells:
        needs = everywhere or separator in cell or '"' in cell or "\n" in cell
        line.append('"' + cell.replace('"', '""') + '"' if needs else cell)
    return separator.join(line)


# ---- damage ----------------------------------------------------------------------------------


def odd_cell(random, lines, style):
    at = int(random.integers(len(lines)))
    cells = lines[at].split(style["separator"])
    cells[random.integers(len(cells))] = str(random.choice(ODD))
    lines[at] = style["separator"].join(cells)


def more_or_fewer_cells(random, lines, style):
    at, cells = int(random.integers(len(lines))), None
    cells = lines[at].split(style["separator"])
    if random.random() < 0.5:
        cells += ["1"] * int(random.integers(1, 4))
    else:
        cells = cells[: max(1, len(cells) - int(random.integers(1, 3)))]
    lines[at] = style["separator"].join(cells)


def other_separator(random, lines, style):
    for at in random.integers(0, len(lines), 3):
        lines[at] = lines[at].replace(style["separator"], str(random.choice([",", ";", "\t", " "])))


def loose_quote(random, lines, style):
    at = int(random.integers(len(lines)))
    place = int(random.integers(len(lines[at]) + 1))
    lines[at] = lines[at][:place] + '"' + lines[at][place:]


def blank_lines(random, lines, style):
    for _ in range(int(random.integers(1, 4))):
        lines.insert(
            int(random.integers(len(lines) + 1)), str(random.choice(["", " ", "\t", ",,"]))
        )


def shuffled(random, lines, style):
    random.shuffle(lines)


def header_again(random, lines, style):
    lines.insert(int(random.integers(len(lines) + 1)), lines[0])


def twin_names(random, lines, style):
    names = lines[0].split(style["separator"])
    names[random.integers(len(names))] = names[random.integers(len(names))]
    lines[0] = style["separator"].join(names)


def no_names(random, lines, style):
    lines[0] = style["separator"] * lines[0].count(style["separator"])


def comment(random, lines, style):
    lines.insert(0, str(random.choice(["# made by hand", "sep=;", "%", "//", "3,2,a,b", "-----"])))


def only_some(random, lines, style):
    del lines[int(random.integers(len(lines))) :]
    lines += [""] if not lines else []


def one_column(random, lines, style):
    lines[:] = [line.split(style["separator"])[0] for line in lines]


def trailing(random, lines, style):
    lines[:] = [line + style["separator"] for line in lines]


DAMAGE = (
    *(odd_cell, odd_cell, odd_cell, more_or_fewer_cells, other_separator, loose_quote, blank_lines),
    *(shuffled, header_again, twin_names, no_names, comment, only_some, one_column, trailing),
)


def raw_damage(random, data):
    """Change bytes behind the back of the text."""
    kind = random.integers(5)
    data = bytearray(data)
    if kind == 0 and data:
        data[random.integers(len(data))] = int(random.integers(256))
    elif kind == 1:
        del data[int(random.integers(len(data) + 1)) :]
    elif kind == 2:
        at = int(random.integers(len(data) + 1))
        data[at:at] = random.bytes(int(random.integers(1, 20)))
    elif kind == 3:
        data[:0] = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"PAR1", b"\x1f\x8b", b"{")[
            random.integers(6)
        ]
    else:
        data += b"\x00" * int(random.integers(1, 50))
    return bytes(data)


# ---- the run ---------------------------------------------------------------------------------


class Fuzzer:
    """A folder for files, and what was seen of them."""

    def __init__(self, folder):
        self.folder = folder
        self.seen = {"whole": 0, "read": 0, "refused": 0}

    def attack(self, number, seed=0):
        """Write a file, damage it or not, and read it."""
        random = np.random.default_rng((seed, number))
        rows, width = int(random.integers(3, 40)), int(random.integers(2, 7))
        columns = [column(random, rows) for _ in range(width)]
        names = [f"c{j}" for j in range(width)]
        style = {
            "separator": str(random.choice([",", ";", "\t", "|"])),
            "quoted": bool(random.random() < 0.3),
        }
        lines = [written(names, style)]
        lines += [written([cells[i] for cells, _ in columns], style) for i in range(rows)]
        whole = random.random() < 0.1
        for _ in range(0 if whole else int(random.choice([1, 1, 2, 4]))):
            DAMAGE[random.integers(len(DAMAGE))](random, lines, style)
        end = str(random.choice(["\n", "\r\n", "\r"]))
        text = end.join(lines) + (end if random.random() < 0.8 else "")
        encoding = str(random.choice(ENCODINGS))
        data = text.encode("utf-8" if whole else encoding, errors="replace")
        if not whole and random.random() < 0.3:
            data = raw_damage(random, data)
        name = str(random.choice(["a.csv", "a.tsv", "a.txt", "a", "a.data"]))
        if random.random() < 0.1:
            name, data = name + ".gz", gzip.compress(data, mtime=0)
        path = os.path.join(self.folder, name)
        self.data = data
        with open(path, "wb") as file:
            file.write(data)
        target = (None, False, False, False, "c0", 0, -1, "c99")[random.integers(8)]
        if whole:
            self._check_whole(path, columns)
            return
        started = time.process_time()
        try:
            table = mercer.read_table(path, target)
            assert len(table) >= 1
            assert repr(table)
            assert all(len(part) == len(table) for part in table.frame.itercolumns())
            assert table.target is None or len(table.target) == len(table)
            table.prepare()
            self.seen["read"] += 1
        except MercerError as error:
            if not 0 < len(str(error).strip()) < 2000:
                raise ValueError("an error without a word, or as long as the file") from error
            self.seen["refused"] += 1
        finally:
            passed = time.process_time() - started
            assert passed < SECONDS, f"reading took {passed:.1f} s"

    def _check_whole(self, path, columns):
        """What was written is what is read."""
        table = mercer.read_table(path, False, header=True)
        assert len(table) == len(columns[0][0])
        for j, (_, numbers) in enumerate(columns):
            if numbers is not None:
                found = np.array(table.frame[f"c{j}"].to_pylist(), dtype=float)
                assert np.array_equal(found, numbers), f"column c{j} came back changed"
        self.seen["whole"] += 1


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at most")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    numbers = range(options.first, options.files) if options.only is None else [options.only]
    # Files in memory where the system has them: a disk would take most of the time.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        fuzzer = Fuzzer(folder)
        # What is loaded with the first files is not theirs, nor are stacks and arenas of threads.
        pyarrow.set_io_thread_count(1)
        pyarrow.set_cpu_count(1)
        for number in range(20):
            fuzzer.attack(number, options.seed)
        fuzzer.seen = dict.fromkeys(fuzzer.seen, 0)
        if os.path.exists("/proc/self/statm"):
            limit_memory(MEMORY)
        ends, findings = time.monotonic() + options.seconds, 0
        for number in numbers:
            try:
                fuzzer.attack(number, options.seed)
            except BaseException:
                traceback.print_exc()
                print(f"file {number} of seed {options.seed}: {fuzzer.seen}", flush=True)
                findings += 1
            if (number + 1) % STEP == 0:
                print(so_far(fuzzer.seen, findings), file=sys.stderr, flush=True)
            if findings == MOST_FINDINGS or time.monotonic() > ends:
                break
    print(so_far(fuzzer.seen, findings))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
