"""What all parts stand on: the compiled core, threads, LAPACK, interrupts, validation, progress.

Each file is a door of its own: `from .._ground.threads import single_blas`. Nothing here knows a
loss, a problem or a model.
"""
