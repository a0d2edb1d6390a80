"use strict";
// One name holds everything: the files of this folder are joined into one script, in the order of
// `SCRIPTS` in assemble.py, and tests call the same functions that the pictures do.
const lab = { experiments: [] };
