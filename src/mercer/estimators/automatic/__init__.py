"""Machines that find kernel, weights of columns, width and penalty of a table by themselves."""
