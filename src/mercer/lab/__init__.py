"""The lab: one page with an exact solver in it, in which the theory can be seen to move."""
