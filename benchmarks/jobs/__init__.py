"""One module a job; each defines ``JOB``."""
